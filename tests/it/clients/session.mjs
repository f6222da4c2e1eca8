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
const { McpError } = await load("types.js");

const plan = JSON.parse(readFileSync(planFile, "utf8"));
const client = new Client({ name: "session", version: "1" }, { capabilities: {} });
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
