// Drives an MCP server with the npm `@modelcontextprotocol/sdk` client, as a plan says, and prints
// what came of it. The plan and the output are those of drive.py beside this file.
//
// usage: node drive.mjs PLAN.json FOLDER-WITH-node_modules

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [planFile, folder] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const load = async (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { AjvJsonSchemaValidator } = await load("validation/ajv");
const { ElicitRequestSchema, McpError, ToolListChangedNotificationSchema } = await load("types.js");

const plan = JSON.parse(readFileSync(planFile, "utf8"));
const questions = [];
let changed, wake;
const arm = () => { changed = new Promise((resolve) => { wake = resolve; }); };
arm();

const client = new Client({ name: "drive", version: "1" }, { capabilities: { elicitation: {} } });
client.setNotificationHandler(ToolListChangedNotificationSchema, () => wake());
client.setRequestHandler(ElicitRequestSchema, (request) => {
  questions.push(request.params.message);
  return { action: "accept", content: { decision: "allow_once" } };
});

const [command, ...args] = plan.command;
const env = { ...process.env, ...plan.env };
await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
const validators = new AjvJsonSchemaValidator();
const fits = (schema, content) => {
  if (schema === undefined || content === undefined) return null;
  const validate = validators.getValidator(schema);
  return [content, {}, { ...content, another: 1 }].map((value) => validate(value).valid);
};

let names, schemas;
for (;;) {
  arm();
  names = [];
  schemas = {};
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    names.push(...page.tools.map((tool) => tool.name));
    for (const tool of page.tools) schemas[tool.name] = tool.outputSchema;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (plan.wanted.every((name) => names.includes(name))) break;
  await changed;
}
const results = [];
for (const call of plan.calls) {
  try {
    const result = await client.callTool({ name: call.tool, arguments: call.arguments });
    const text = result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
    const structured = result.structuredContent;
    results.push({
      tool: call.tool, isError: Boolean(result.isError), text, structured, fits: fits(schemas[call.tool], structured),
    });
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    results.push({ tool: call.tool, error: error.code });
  }
}
const lists = {
  prompts: () => client.listPrompts(),
  resources: () => client.listResources(),
  resource_templates: () => client.listResourceTemplates(),
};
const answers = [];
for (const ask of plan.asks ?? []) {
  try {
    let result;
    if ("prompt" in ask) result = await client.getPrompt({ name: ask.prompt, arguments: ask.arguments });
    else if ("resource" in ask) result = await client.readResource({ uri: ask.resource });
    else result = await lists[ask.list]();
    answers.push({ result });
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    answers.push({ error: error.code });
  }
}
await client.close();
console.log(JSON.stringify({ tools: names, results, answers, questions }));
