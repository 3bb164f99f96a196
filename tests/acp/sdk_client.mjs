// A client on the TypeScript SDK: answers the form, allows the call, and prints what it saw as JSON.
//   node sdk_client.mjs ENTRY_OF_THE_SDK FOLDER COMMAND...
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [entry, cwd, ...command] = process.argv.slice(2);
const acp = await import(entry);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const seen = { forms: [], permissions: [], updates: [] };
const aPersonsPace = () => new Promise((resolve) => setTimeout(resolve, 500));

const app = acp
  .client({ name: "askdesk-tests" })
  .onRequest(acp.methods.client.elicitation.create, async ({ params }) => {
    seen.forms.push(params);
    await aPersonsPace();
    return { action: "accept", content: { question_0: "Postgres" } };
  })
  .onRequest(acp.methods.client.session.requestPermission, async ({ params }) => {
    seen.permissions.push(params);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  });

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
seen.stopReason = await app.connectWith(stream, async (context) => {
  await context.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { elicitation: { form: {} } },
  });
  const { sessionId } = await context.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "go" }];
  const { stopReason } = await context.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  return stopReason;
});
agent.stdin.end();
seen.code = await new Promise((resolve) => agent.on("exit", resolve));
console.log(JSON.stringify(seen));
