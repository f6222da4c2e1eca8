// Plays a session with the npm `@modelcontextprotocol/sdk` client, as session.py beside this file does.
//
// usage: node session.mjs PLAN.json FOLDER-WITH-node_modules

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [planFile, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const load = async (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const {
  CallToolResultSchema, CancelTaskResultSchema, CreateMessageRequestSchema, CreateTaskResultSchema,
  ElicitRequestSchema, GetTaskResultSchema, ListRootsRequestSchema, ListTasksResultSchema, McpError,
} = await load("types.js");

const plan = JSON.parse(readFileSync(planFile, "utf8"));
const capabilities = plan.capabilities ?? {};
const client = new Client({ name: "session", version: "1" }, { capabilities });
let rootsAsked = 0, wake = () => {};
if (capabilities.roots) client.setRequestHandler(ListRootsRequestSchema, () => {
  rootsAsked += 1;
  // What the server does with the answer comes after it.
  setTimeout(() => wake(), 200);
  return { roots: [{ uri: "file:///srv/project", name: "project" }] };
});
if (capabilities.sampling) client.setRequestHandler(CreateMessageRequestSchema, () => (
  { role: "assistant", model: "m", content: { type: "text", text: "hi th\u00e9re" } }));
if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  // The questions of a proxy are answered so that what follows can be compared.
  if (params.message.startsWith("Let server")) return { action: "accept", content: { decision: "allow_once" } };
  if (params.mode === "url") return { action: "accept" };
  const { interpretation } = params.requestedSchema.properties;
  return interpretation
    ? { action: "accept", content: { interpretation: interpretation.oneOf[0].const } }
    : { action: "accept", content: { name: "Ana", check: true } };
});
const rootsTold = async (times) => {
  while (rootsAsked < times) await new Promise((resolve) => { wake = resolve; });
};
const [command, ...args] = plan.command;
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const named = (params) => ({ ...params, name: plan.prefix + params.name });
const asks = {
  "tools/list": (params) => client.listTools(params),
  "tools/call": ({ progress, ...params }) =>
    client.callTool(named(params), undefined, progress ? { onprogress: () => {} } : undefined),
  "resources/list": (params) => client.listResources(params),
  "resources/templates/list": (params) => client.listResourceTemplates(params),
  "resources/read": (params) => client.readResource(params),
  "resources/subscribe": (params) => client.subscribeResource(params),
  "resources/unsubscribe": (params) => client.unsubscribeResource(params),
  "prompts/list": (params) => client.listPrompts(params),
  "prompts/get": (params) => client.getPrompt(named(params)),
  "completion/complete": ({ context, ...params }) => client.complete({
    ...params,
    ...(context ? { context: { arguments: context } } : {}),
    ref: params.ref.type === "ref/prompt" ? named(params.ref) : params.ref,
  }),
  "logging/setLevel": (params) => client.setLoggingLevel(params.level),
  ping: () => client.ping(),
  "roots told": ({ times }) => rootsTold(times),
  "roots changed": () => client.sendRootsListChanged(),
  // Each request about a task once: how often a client looks at one in between is a matter of time.
  task: async (params) => {
    const call = { ...named(params), task: { ttl: 60000 } };
    const { task: { taskId } } = await client.request({ method: "tools/call", params: call }, CreateTaskResultSchema);
    const about = (method, schema) => client.request({ method, params: { taskId } }, schema);
    await about("tasks/result", CallToolResultSchema);
    await about("tasks/get", GetTaskResultSchema);
    await client.request({ method: "tasks/list", params: {} }, ListTasksResultSchema);
    await about("tasks/cancel", CancelTaskResultSchema);
  },
};
for (const [method, params] of plan.requests) {
  try {
    await asks[method](params);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
  }
}
await client.close();
console.log("done");
