"""Calls tools of an MCP server with the package `mcp`, and follows handles to their ends.

Standard input: {"command", "mode", "calls": [[tool, arguments], ...]}. Standard output: {"server",
"tools", "answers"}; an answer is {"pages": [text, ...], "is_error"} or {"protocol_error"}.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def pages(client, tool, arguments):
    """The pages of an answer."""
    texts = []
    while True:
        try:
            result = await client.call_tool(tool, arguments)
        except MCPError as error:
            return {"protocol_error": str(error)}
        [content] = result.content
        texts.append(content.text)
        if result.is_error:
            return {"pages": texts, "is_error": True}
        handle = json.loads(content.text)["more"]
        if handle is None:
            return {"pages": texts, "is_error": False}
        tool, arguments = "more", {"handle": handle}


async def main(asked):
    """Runs all calls in one session, one after the other."""
    command, *args = asked["command"]
    server = StdioServerParameters(command=command, args=args)
    async with Client(server, mode=asked["mode"]) as client:
        listed = await client.list_tools()
        answers = [await pages(client, tool, arguments) for tool, arguments in asked["calls"]]
        name = client.server_info.name
    tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]
    json.dump({"server": name, "tools": tools, "answers": answers}, sys.stdout)


asyncio.run(main(json.load(sys.stdin)))
