"""A small MCP server written with the official SDK: `python mcp_server.py [http|sse PORT]`.

It speaks both generations of the protocol. Its tools show each kind of result, and ways to fail.
"""

from __future__ import annotations

import os
import signal
import sys

import anyio
import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from pydantic import BaseModel


def say(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


server = MCPServer("sample", version="1.2", instructions="Add numbers with add.")


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Report progress and wait."""
    await ctx.report_progress(1, 2, "half way")
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        say("slow was cancelled")
        raise
    return "slept"


@server.tool()
def pid() -> int:
    """Return the process id."""
    return os.getpid()


@server.tool()
async def grow(name: str, description: str, ctx: Context) -> str:
    """Add a tool, or define one again."""

    def added(text: str = "") -> str:
        return f"{name}: {text}"

    if any(tool.name == name for tool in await server.list_tools()):
        server.remove_tool(name)
    server.add_tool(added, name=name, description=description)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


ORDER = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"]},
        "count": {"type": "integer", "minimum": 1},
    },
    "required": ["size", "count"],
}


@server.tool()
async def order(ctx: Context) -> types.InputRequiredResult | str:
    """Ask the user what to order."""
    if not ctx.input_responses:
        asked = types.ElicitRequestFormParams(
            message="What do you want?",
            requested_schema=ORDER,
        )
        return types.InputRequiredResult(input_requests={"o": types.ElicitRequest(params=asked)})
    answer = ctx.input_responses["o"]
    assert isinstance(answer, types.ElicitResult)
    return f"{answer.action}: {answer.content}"


class Size(BaseModel):
    """What the user is asked for."""

    size: str


@server.tool()
async def interview(ctx: Context) -> str:
    """Ask for everything that a server of the older protocol may ask for."""
    answer = await ctx.elicit("Which size?", Size)
    roots = await ctx.session.list_roots()
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="hi"))
    try:
        sampled = str(await ctx.session.create_message(messages=[message], max_tokens=9))
    except MCPError as error:
        sampled = str(error)
    return f"{answer.action}, {roots.roots[0].name}, {sampled}"


@server.tool()
def open_page() -> str:
    """Want the user to open a page first."""
    page = types.ElicitRequestURLParams(
        message="Pay", url="https://pay.example/1", elicitation_id="1"
    )
    raise UrlElicitationRequiredError([page])


@server.tool()
def big(kilobytes: int) -> str:
    """Return a long text."""
    return "0123456789abcde\n" * (64 * kilobytes)


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"the note {name}"


@server.resource("note://fixed")
def fixed() -> str:
    """A note that is listed."""
    return "the fixed note"


@server.prompt()
def review(language: str) -> str:
    """Review code."""
    return f"Review this {language} code."


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say("sample server started")
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    elif sys.argv[1:2] == ["sse"]:
        server.run("sse", port=int(sys.argv[2]))
    else:
        server.run()
