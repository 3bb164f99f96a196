// A host on the TypeScript client of the Model Context Protocol, for tests: it does what each line on standard input
// says, and tells on standard output what happens. Several conversations at once; each has a name.
//
//   node host.mjs NODE_MODULES

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(`${process.argv[2]}/`);
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const conversations = new Map();
const dialogs = new Map();
const calls = new Map();
const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

function transport({ command, env, url, headers }) {
  if (url) return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return new StdioClientTransport({ command: command[0], args: command.slice(1), env, stderr: 'pipe' });
}

const deeds = {
  async connect({ as, server, era, elicitation, name }) {
    const capabilities = elicitation ? { elicitation } : {};
    const versionNegotiation = era ? { mode: { pin: era } } : undefined;
    const client = new Client({ name, version: '1' }, { capabilities, versionNegotiation });
    if (elicitation) client.setRequestHandler('elicitation/create', (request, context) => shown(as, request, context));
    const wire = transport(server);
    let complaints = '';
    wire.stderr?.on('data', (data) => { complaints += data; });
    client.onclose = () => tell({ as, event: 'closed', complaints });
    await client.connect(wire);
    conversations.set(as, { client, wire });
    tell({ as, event: 'connected', pid: wire.pid ?? null, era: client.getNegotiatedProtocolVersion?.() ?? null });
  },

  async tools({ as }) {
    tell({ as, event: 'tools', tools: (await conversations.get(as).client.listTools()).tools });
  },

  async call({ as, call, name, arguments: given, options = {} }) {
    const stop = new AbortController();
    calls.set(call, stop);
    const onprogress = options.progress ? (progress) => tell({ as, event: 'progress', call, ...progress }) : undefined;
    const limits = { timeout: options.timeout, resetTimeoutOnProgress: options.resetTimeoutOnProgress };
    try {
      const { inputResponses, requestState, manual } = options;
      const result = await conversations.get(as).client.callTool(
        { name, arguments: given, ...(requestState ? { inputResponses, requestState } : {}) },
        { ...limits, onprogress, signal: stop.signal, allowInputRequired: manual },
      );
      if (result.resultType === 'input_required') return tell({ as, event: 'wanted', call, ...result });
      const text = result.content.map((block) => block.text).join('');
      tell({ as, event: 'result', call, text, isError: result.isError ?? false });
    } catch (error) {
      const event = stop.signal.aborted ? 'stopped' : 'failed';
      tell({ as, event, call, code: error.code ?? null, why: error.message });
    }
  },

  stop({ call }) {
    calls.get(call).abort('the host stops it');
  },

  answer({ dialog, result }) {
    dialogs.get(dialog)(result);
  },

  async close({ as }) {
    await conversations.get(as).client.close();
  },
};

// What a person is shown; it stays until `answer` says what came of it, or until it is taken back.
function shown(as, request, context) {
  const dialog = dialogs.size + 1;
  return new Promise((resolve) => {
    dialogs.set(dialog, resolve);
    context?.mcpReq?.signal?.addEventListener('abort', () => {
      tell({ as, event: 'taken back', dialog });
      resolve({ action: 'cancel' });
    });
    tell({ as, event: 'dialog', dialog, ...request.params });
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: deed, ...rest } = JSON.parse(line);
  Promise.resolve(deeds[deed](rest)).catch((error) => tell({ as: rest.as, event: 'failed', why: `${error.message}` }));
}
process.exit(0);
