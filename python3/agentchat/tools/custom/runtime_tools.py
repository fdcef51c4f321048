"""Tools that functions of a file registered while they ran, see ``registration``.

Each belongs to the worker that registered it and is there as long as that worker.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.definition import ToolSpec
from agentchat.tools.custom.pool import WorkerPool
from agentchat.tools.custom.registry import LoadedFile
from agentchat.tools.custom.remote_tool import RemoteTool
from agentchat.tools.custom.worker import CallServices, Worker


@dataclass(frozen=True, slots=True)
class OneWorker:
    """Runs requests about a file in the one worker that can."""

    pool: WorkerPool
    worker: Worker

    async def call(
        self,
        file: str,
        method: str,
        params: Mapping[str, Any],
        services: CallServices | None = None,
    ) -> Any:
        """Return the answer to a request."""
        return await self.pool.call_in(self.worker, method, {"file": file, **params}, services)

    async def call_in(self, worker: Worker, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer of this very worker."""
        return await self.pool.call_in(worker, method, params)

    def call_now(self, file: str, method: str, params: Mapping[str, Any], seconds: float) -> Any:
        """Block until the worker answers, if it is idle."""
        return self.pool.call_now(file, method, params, seconds, self.worker)


@dataclass(frozen=True, slots=True)
class RuntimeTool:
    """A registered tool; ``number`` tells apart those of the same name."""

    number: int
    worker: Worker
    spec: ToolSpec


@dataclass(frozen=True, slots=True)
class RuntimeSource:
    """The registered tools of one loaded file."""

    pool: WorkerPool
    file: LoadedFile
    registered: tuple[RuntimeTool, ...]
    groups: tuple[Group, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each tool."""
        return tuple(tool.spec.line for tool in self.registered)

    def tools(self, cwd: str, chat: str = "") -> list[Tool]:
        """Return the tools for a chat (a uuid) in this workspace."""
        key, digest = self.file.source.key, self.file.source.digest
        return [
            RemoteTool(OneWorker(self.pool, tool.worker), key, tool.spec, cwd).tool(
                f"{digest} {tool.number}"
            )
            for tool in self.registered
        ]


class RuntimeTools:
    """All registered tools, by file and name."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._tools: dict[tuple[str, str], RuntimeTool] = {}
        self._numbers = itertools.count(1)

    @property
    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """A value that differs if a tool was added, or its worker has ended."""
        return tuple((name, tool.number, 0) for (_, name), tool in self._living().items())

    def has(self, file: str, name: str) -> bool:
        """Whether this file has registered a tool of this name."""
        return (file, name) in self._living()

    def add(self, worker: Worker, file: str, spec: ToolSpec) -> None:
        """Add a tool, or replace the one of this name."""
        worker.tools.add(spec.name)
        self._tools[file, spec.name] = RuntimeTool(next(self._numbers), worker, spec)

    def remove(self, file: str, name: str) -> bool:
        """Remove a tool; return whether it existed."""
        tool = self._tools.pop((file, name), None)
        if tool is not None:
            tool.worker.tools.discard(name)
        return tool is not None

    def sources(self, loaded: Iterable[LoadedFile]) -> list[RuntimeSource]:
        """Return the tools that these files have registered."""
        living = self._living()
        return [
            RuntimeSource(self._pool, file, registered)
            for file in loaded
            if (registered := tuple(t for (key, _), t in living.items() if key == file.source.key))
        ]

    def _living(self) -> dict[tuple[str, str], RuntimeTool]:
        self._tools = {key: tool for key, tool in self._tools.items() if tool.worker.alive}
        return self._tools
