// acpx as a library: one turn in which it answers the form, and the way the turn ended as JSON.
//   node acpx_runtime.mjs ENTRY_OF_THE_RUNTIME FOLDER STATE COMMAND...
const [entry, cwd, stateDir, ...command] = process.argv.slice(2);
const acpx = await import(entry);
const forms = [];
const runtime = acpx.createAcpRuntime({
  cwd,
  sessionStore: acpx.createFileSessionStore({ stateDir }),
  agentRegistry: acpx.createAgentRegistry({ overrides: { desk: command.join(" ") } }),
  permissionMode: "approve-all",
  elicitationModes: ["form"],
});
const handle = await runtime.ensureSession({ sessionKey: "test", agent: "desk", mode: "oneshot", cwd });
const turn = runtime.startTurn({
  handle,
  text: "go",
  mode: "prompt",
  requestId: "1",
  onElicitation: async (request) => {
    forms.push(request);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return { action: "accept", content: { question_0: "Postgres" } };
  },
});
const events = [];
for await (const event of turn.events) events.push(event);
const result = await turn.result;
await runtime.shutdown?.();
console.log(JSON.stringify({ forms, events, result }));
process.exit(0);
