"""The MCP server on standard input and output, made with the official SDK.

Only the process of ``python -m agentchat mcp`` imports this module. It offers the built-in tools to
one agent; ``runners`` runs the calls.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import agentchat
from agentchat.agent.external.agent import CallAnswer
from agentchat.app.state import State
from agentchat.core.errors import AgentError
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.turn.chat import RESOLVE
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.mcp_server.runners import ToolRunners
from agentchat.tools.builtin.catalogue import FILES, builtin_tools

PROGRESS_SECONDS = 5.0
"""How often an agent that waits is told so: many give up a call that is silent for a minute."""

OFFERED = (*FILES, "bash", "ast_edit", RESOLVE, "diagnostics", "ask")

INSTRUCTIONS = (
    "These tools work in the user's Neovim. Read and change files and run commands with them "
    "instead of your own tools: they see unsaved text, the user reviews each change hunk by hunk "
    "before it is written, and can undo it. A result says which hunks were kept and why others "
    "were not. A call may wait minutes for the user's answer: do not repeat it."
)

Context = Any
"""``mcp.server.context.ServerRequestContext``"""


class AgentServer:
    """Serves one agent; its name is the one in its introduction."""

    def __init__(self, runners: ToolRunners, root: str) -> None:
        self._runners = runners
        self._environment = Environment(root)

    async def run(self) -> None:
        """Serve until standard input ends."""
        server = Server(
            "agentchat.nvim",
            version=agentchat.__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )
        async with stdio_server() as (source, sink):
            await server.run(source, sink, server.create_initialization_options())

    async def list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        """Return the tools."""
        tools = Registry(builtin_tools()).filter(OFFERED)
        return types.ListToolsResult(tools=[self._definition(tool) for tool in tools])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run a call; an error is a result, so that the model of the agent reads it."""
        try:
            async with reporting(context):
                answer = await self._runners.call(
                    agent_name(context), params.name, params.arguments or {}
                )
        except AgentError as error:
            answer = CallAnswer(str(error), is_error=True)
        return types.CallToolResult(content=contents(answer), is_error=answer.is_error)

    def _definition(self, tool: Tool) -> types.Tool:
        if tool.describe is not None:
            tool = replace(tool, description=tool.describe(self._environment))
        reads = tool.metadata.read_only
        return types.Tool(
            name=tool.name,
            description=model_description(tool),
            input_schema=model_schema(tool),
            annotations=types.ToolAnnotations(
                read_only_hint=reads,
                destructive_hint=None if reads else tool.metadata.destructive,
                open_world_hint=tool.name == "bash",
            ),
        )


def agent_name(context: Context) -> str:
    """Return what the agent calls itself, with its version."""
    params = context.session.client_params
    if params is None:
        return "agent"
    info = params.client_info
    return " ".join(filter(None, (info.title or info.name, info.version)))


def contents(answer: CallAnswer) -> list[types.ContentBlock]:
    """Return an answer as the blocks of a result."""
    images = [
        types.ImageContent(data=base64.b64encode(image.data).decode(), mime_type=image.mime)
        for image in answer.images
    ]
    return [types.TextContent(text=answer.text), *images]


@asynccontextmanager
async def reporting(context: Context) -> AsyncIterator[None]:
    """Send progress while a call runs, if the agent asked for it."""
    task = asyncio.ensure_future(_report(context))
    try:
        yield
    finally:
        task.cancel()


async def _report(context: Context) -> None:
    seconds = 0.0
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        seconds += PROGRESS_SECONDS
        message = "Running, or waiting for the user in Neovim"
        await context.session.report_progress(seconds, message=message)


def serve(state: State, root: str) -> int:
    """Serve an agent that works in the directory ``root`` until it leaves; return the exit code."""
    state.prepare()

    async def run() -> None:
        runners = ToolRunners(state, root)
        try:
            await AgentServer(runners, root).run()
        finally:
            await runners.close()

    with suppress(KeyboardInterrupt):
        asyncio.run(run())
    return 0
