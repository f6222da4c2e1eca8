#!/usr/bin/env python3
"""Plays a session with the PyPI `mcp` client: the requests of a plan, one after the other.

usage: session.py PLAN.json

The plan: {"command": [PROGRAM, ARGUMENT…], "prefix": TEXT, "requests": [[METHOD, PARAMS]…]}. `prefix` goes
before the names of tools and prompts. With `"capabilities"` that are not empty the client has roots, a model and a
human. A call with `"progress": true` asks for progress. An error of the server
is an answer like any other. What was said on the wire is for others to record.
"""
import asyncio
import json
import os
import sys

import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client


class Answers:
    """What the client answers a server, as session.mjs does."""

    def __init__(self):
        self.roots_asked = 0

    async def roots(self, context):
        self.roots_asked += 1
        return types.ListRootsResult(roots=[types.Root(uri="file:///srv/project", name="project")])

    async def sample(self, context, params):
        content = types.TextContent(type="text", text="hi th\u00e9re")
        return types.CreateMessageResult(role="assistant", model="m", content=content)

    async def elicit(self, context, params):
        if params.message.startswith("Let server"):
            return types.ElicitResult(action="accept", content={"decision": "allow_once"})
        if params.mode == "url":
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content={"name": "Ana", "check": True})

    async def told(self, times):
        while self.roots_asked < times:
            await asyncio.sleep(0.01)
        # What the server does with the answer comes after it.
        await asyncio.sleep(0.2)


async def ask(session, prefix, method, params, answers):
    async def ignore(progress, total, message):
        pass

    if method == "tools/list":
        await session.list_tools()
    elif method == "tools/call":
        progress = ignore if params.get("progress") else None
        await session.call_tool(prefix + params["name"], params.get("arguments"), progress_callback=progress)
    elif method == "resources/list":
        await session.list_resources()
    elif method == "resources/templates/list":
        await session.list_resource_templates()
    elif method == "resources/read":
        await session.read_resource(params["uri"])
    elif method == "resources/subscribe":
        await session.subscribe_resource(params["uri"])
    elif method == "resources/unsubscribe":
        await session.unsubscribe_resource(params["uri"])
    elif method == "prompts/list":
        await session.list_prompts()
    elif method == "prompts/get":
        await session.get_prompt(prefix + params["name"], params.get("arguments"))
    elif method == "completion/complete":
        of = params["ref"]
        if of["type"] == "ref/prompt":
            reference = types.PromptReference(type="ref/prompt", name=prefix + of["name"])
        else:
            reference = types.ResourceTemplateReference(type="ref/resource", uri=of["uri"])
        await session.complete(reference, params["argument"], params.get("context"))
    elif method == "logging/setLevel":
        await session.set_logging_level(params["level"])
    elif method == "roots told":
        await answers.told(params["times"])
    elif method == "roots changed":
        await session.send_roots_list_changed()
    elif method == "ping":
        await session.send_ping()
    else:
        raise ValueError(method)


async def main():
    plan = json.load(open(sys.argv[1], encoding="utf-8"))
    program, *arguments = plan["command"]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        answers = Answers()
        has_all = {
            "list_roots_callback": answers.roots,
            "sampling_callback": answers.sample,
            "elicitation_callback": answers.elicit,
        }
        async with ClientSession(read, write, **(has_all if plan.get("capabilities") else {})) as session:
            await session.initialize()
            for method, params in plan["requests"]:
                try:
                    await ask(session, plan["prefix"], method, params, answers)
                except MCPError:
                    pass
    print("done")


asyncio.run(main())
