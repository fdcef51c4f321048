"""A server's tool as a tool of a chat."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.messages import Image
from agentchat.core.text import clip
from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.builtin.read import UndecodableImage, image_type, scale_down
from agentchat.tools.json_schema import JsonSchemaArguments
from agentchat.tools.mcp.definition import ToolDefinition, differences
from agentchat.tools.mcp.servers import McpServer

LONGEST_INSTRUCTIONS = 4_000
CHANGED = (
    "The MCP server {} changed the definition of this tool while the question was open. Nothing "
    "was run. Call it again."
)
NOTHING = "(no output)"

Approved = dict[str, ToolDefinition]
"""The definitions that ran in one chat, by name: what the user has seen."""


@frozen
class McpTool:
    """One tool of a server in one chat."""

    server: McpServer
    definition: ToolDefinition
    approved: Approved

    def tool(self) -> Tool:
        """Return it; a changed definition or server makes it another tool."""
        definition, server = self.definition, self.server
        return Tool(
            name=definition.name,
            description=definition.description or definition.tool,
            arguments=JsonSchemaArguments(definition.schema),
            steps=(self._run,),
            metadata=Metadata(
                destructive=definition.is_destructive,
                claims_read_only=definition.claims_read_only,
                search_hint=server.name,
                permission_class="custom",
                server=server.name,
            ),
            always_load=False,
            source=f"mcp {server.fingerprint} {definition.digest}",
            facts=self._facts,
            is_withdrawn=self._is_withdrawn,
        )

    def _facts(self) -> tuple[tuple[str, str], ...]:
        """Return what a question shows beside the arguments."""
        facts = [
            ("server", f"{self.server.name}: {self.server.config.identity}"),
            ("claims", self.definition.claims),
        ]
        if self.definition.name != f"{self.server.name}__{self.definition.tool}":
            facts.insert(1, ("its name", self.definition.tool))
        seen = self.approved.get(self.definition.name)
        if seen is not None and seen.digest != self.definition.digest:
            facts.append(("changed", differences(seen, self.definition)))
        return tuple(facts)

    def _is_withdrawn(self) -> str:
        """Return why the tool may not run any more; empty if its definition is current."""
        current = any(tool.digest == self.definition.digest for tool in self.server.tools)
        return "" if current else CHANGED.format(self.server.name)

    async def _run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        await self.server.start()  # its tools may be others now
        if problem := self._is_withdrawn():
            raise ToolError(problem)
        self.approved[self.definition.name] = self.definition
        result = await self.server.call(
            self.definition.tool,
            arguments,
            lambda data: context.progress(_progress_line(data)),
            context.frontend,
        )
        return await make_output(result)


def _progress_line(data: Mapping[str, Any]) -> str:
    done, total, message = data["done"], data["total"], data["message"]
    part = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{part}: {message}\n" if message else f"{part}\n"


async def make_output(result: Mapping[str, Any]) -> ToolOutput:
    """Return the result of a server as that of a tool."""
    texts: list[str] = []
    images: list[Image] = []
    for part in result["parts"]:
        text, image = await read_part(part)
        texts += [text] if text else []
        images += [image] if image is not None else []
    text = "\n".join(texts) or NOTHING
    return ToolOutput(text, is_error=bool(result["is_error"]), images=tuple(images))


async def read_part(part: Mapping[str, Any]) -> tuple[str, Image | None]:
    """Return a part of a result as text, with the image if it is one."""
    uri = part.get("uri") or ""
    if "text" in part:
        return (f"Resource {uri}:\n{part['text']}" if uri else part["text"]), None
    data, mime = part["data"], part.get("mime") or "application/octet-stream"
    what = f"{uri or mime.partition('/')[0]}, {mime}, {len(data)} bytes"
    kind = image_type(data)
    if kind is None:
        return f"[{what}: it cannot be shown to you]", None
    try:
        image, note = await asyncio.to_thread(scale_down, data, kind)
    except UndecodableImage:
        return f"[{what}: a damaged image]", None
    return "\n".join(filter(None, [f"[{what}]", note])), image


@dataclass
class ServerTools:
    """The tools of one server in one chat; a ``tools.custom.registry.ToolSource``."""

    server: McpServer
    approved: Approved = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    """Names that tools of other servers have, too, see ``ambiguous_names``."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools of the server that can be told from those of others."""
        return tuple(each for each in self.server.tools if each.name not in self.ambiguous)

    @property
    def path(self) -> Path:
        """Where the tools come from, for people."""
        return Path(f"MCP server {self.server.name}")

    @property
    def lines(self) -> tuple[int, ...]:
        """A place for each tool, which none has."""
        return (0,) * len(self.definitions)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The group of the server."""
        names = tuple(definition.name for definition in self.definitions)
        instructions = self.server.about.get("instructions") or ""
        prompt = f"The MCP server {self.server.name} says of its tools:\n{instructions}"
        return (
            Group(
                self.server.name,
                names,
                system_prompt=clip(prompt, LONGEST_INSTRUCTIONS) if instructions else "",
                searchable=True,
            ),
        )

    def tools(self, cwd: str, chat: str = "") -> list[Tool]:
        """Return the tools for a chat."""
        return [McpTool(self.server, each, self.approved).tool() for each in self.definitions]
