#!/usr/bin/env python3
"""Drives an MCP server with the PyPI `mcp` client, as a plan says, and prints what came of it.

usage: drive.py PLAN.json

The plan: {"command": [PROGRAM, ARGUMENT…], "env": {NAME: VALUE}, "wanted": [TOOL…],
"calls": [{"tool", "arguments"}…], "asks": [{"prompt", "arguments"} | {"resource"} | {"list"}…]}.
It connects, lists until every wanted tool is there (a change is announced), makes the calls one
after the other, and accepts every question with `allow_once`; then it asks for prompts, resources
and lists of them. One JSON object is printed: {"tools": [NAME…], "results": [{"tool", "isError",
"text", "structured", "fits"}…], "answers": [{"result"} | {"error": CODE}…], "questions": [TEXT…]}. A call that is
answered with an error of the protocol has {"tool", "error": CODE} for a result. `fits` says what the client's own
library for JSON Schema finds by the tool's output schema: [whether the structured content fits, whether an empty
object and one with a member more do]; null where there is no schema or no structured content.
"""
import asyncio
import json
import os
import sys

import mcp_types as types
from jsonschema import Draft202012Validator
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError


def fits(schema, content):
    if schema is None or content is None:
        return None
    validator = Draft202012Validator(schema)
    return [validator.is_valid(value) for value in (content, {}, {**content, "another": 1})]


async def main():
    plan = json.load(open(sys.argv[1], encoding="utf-8"))
    changed, questions = asyncio.Event(), []

    async def hear(message):
        if isinstance(message, Exception):
            raise message
        changed.set()

    async def decide(context, params):
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "allow_once"})

    program, *arguments = plan["command"]
    server = StdioServerParameters(command=program, args=arguments, env={**os.environ, **plan.get("env", {})})
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, elicitation_callback=decide, message_handler=hear) as session:
            await session.initialize()
            while True:
                changed.clear()
                names, schemas, cursor = [], {}, None
                while True:
                    page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                    names += [tool.name for tool in page.tools]
                    schemas.update({tool.name: tool.output_schema for tool in page.tools})
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                if set(plan["wanted"]) <= set(names):
                    break
                await asyncio.wait_for(changed.wait(), 60)
            results = []
            for call in plan["calls"]:
                try:
                    result = await session.call_tool(call["tool"], call["arguments"])
                except MCPError as error:
                    results.append({"tool": call["tool"], "error": error.error.code})
                    continue
                text = "\n".join(block.text for block in result.content if block.type == "text")
                results.append({"tool": call["tool"], "isError": bool(result.is_error), "text": text,
                                "structured": result.structured_content,
                                "fits": fits(schemas.get(call["tool"]), result.structured_content)})
            answers = []
            for ask in plan.get("asks", []):
                try:
                    if "prompt" in ask:
                        result = await session.get_prompt(ask["prompt"], ask["arguments"])
                    elif "resource" in ask:
                        result = await session.read_resource(ask["resource"])
                    else:
                        result = await getattr(session, f"list_{ask['list']}")()
                except MCPError as error:
                    answers.append({"error": error.error.code})
                    continue
                answers.append({"result": result.model_dump(by_alias=True, mode="json", exclude_none=True)})
    print(json.dumps({"tools": names, "results": results, "answers": answers, "questions": questions}))


asyncio.run(main())
