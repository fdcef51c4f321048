"""The user's tools: of the files that were loaded, and of each chat.

Tools that functions of a file registered while they ran (see ``registration``) belong to the worker
that ran these, and are there as long as that worker.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import CheckpointHandler, ResultProcessor, Tool, ToolContext
from agentchat.core.tools.toolset import TOOL_SEARCH, Toolset, server_group
from agentchat.rpc.frames import RemoteError
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS
from agentchat.tools.custom.declaration.files import FileProblem
from agentchat.tools.custom.declaration.spec import CheckpointSpec, ToolSpec
from agentchat.tools.custom.handlers import make_handler, make_processor
from agentchat.tools.custom.process.pool import WorkerPool
from agentchat.tools.custom.process.worker import CallServices, Worker, WorkerEnded, refuse_previews
from agentchat.tools.custom.remote_tool import RemoteTool
from agentchat.tools.trust import Source

RESERVED = frozenset(
    {TOOL_SEARCH, "resolve"}
    | {group.name for group in BUILTIN_GROUPS}
    | {name for group in BUILTIN_GROUPS for name in group.tools}
)
"""Names of the plugin, whether or not a tool has them now."""


class ToolSource(Protocol):
    """Where tools come from; ``path`` and a line for each tool name the place for people."""

    @property
    def path(self) -> Path: ...

    @property
    def lines(self) -> tuple[int, ...]: ...

    @property
    def groups(self) -> tuple[Group, ...]: ...

    def tools(self, cwd: str, chat: str = "") -> list[Tool]:
        """Return its tools for a chat (a uuid) in this workspace."""


@frozen
class LoadedFile:
    """The contents of one file."""

    pool: WorkerPool
    source: Source
    specs: tuple[ToolSpec, ...] = ()
    groups: tuple[Group, ...] = ()
    checkpoints: tuple[CheckpointSpec, ...] = ()
    processors: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of each tool."""
        return tuple(spec.line for spec in self.specs)

    def tools(self, cwd: str, chat: str = "") -> list[Tool]:
        """Return its tools for a chat (a uuid) in this workspace."""
        source = self.source
        tools = (RemoteTool(self.pool, source.key, spec, cwd) for spec in self.specs)
        return [tool.tool(source.digest) for tool in tools]

    def handlers(self, cwd: str) -> list[CheckpointHandler]:
        """Return its handlers of checkpoints for a chat in this workspace."""
        request = self._requester("checkpoint", cwd)
        return [make_handler(spec, request) for spec in self.checkpoints]

    def result_processors(self, cwd: str) -> list[ResultProcessor]:
        """Return its processors of large results for a chat in this workspace."""
        request = self._requester("process_result", cwd)
        return [make_processor(name, request) for name in self.processors]

    def _requester(
        self, method: str, cwd: str
    ) -> Callable[[Mapping[str, Any], ToolContext], Awaitable[Any]]:
        """Return a function that calls a method of the file's worker."""

        async def request(params: Mapping[str, Any], context: ToolContext) -> Any:
            call = {"cwd": cwd, "call_id": context.call_id, "flags": {}, "linked": True}
            services = CallServices(context, refuse_previews)
            return await self.pool.call(self.source.key, method, {**call, **params}, services)

        return request


@dataclass
class FileRegistry:
    """The files that were loaded, each once for all chats of this process."""

    pool: WorkerPool
    _known: dict[Path, tuple[str, LoadedFile | FileProblem]] = field(default_factory=dict)

    async def load(self, sources: Sequence[Source]) -> tuple[list[LoadedFile], list[FileProblem]]:
        """Return the contents of these files, and problems of the others; import what changed."""
        for source in sources:
            if self._known.get(source.path, ("", None))[0] != source.digest:
                self._known[source.path] = (source.digest, await self._load(source))
        contents = [self._known[source.path][1] for source in sources]
        loaded = [file for file in contents if isinstance(file, LoadedFile)]
        return loaded, [problem for problem in contents if isinstance(problem, FileProblem)]

    def clear(self) -> None:
        """Forget every file, so that each is imported again, in a new process."""
        self._known.clear()
        self.pool.close()

    async def _load(self, source: Source) -> LoadedFile | FileProblem:
        try:
            data = await self.pool.load(source)
        except WorkerEnded:
            return FileProblem(source.path, 0, "it ends the process that imports it")
        except TimeoutError:
            limit = f"{self.pool.import_seconds:g} s"
            reason = f"it is not imported within {limit}; is there an endless loop?"
            return FileProblem(source.path, 0, reason)
        except RemoteError as error:
            return FileProblem(source.path, 0, str(error))
        if "problem" in data:
            line, text = data["problem"]
            return FileProblem(source.path, int(line), str(text))
        return self._loaded(source, data)

    def _loaded(self, source: Source, data: dict[str, Any]) -> LoadedFile:
        specs = tuple(ToolSpec.from_data(spec) for spec in data["tools"])
        groups = ({**group, "tools": tuple(group["tools"])} for group in data["groups"])
        handlers = (
            (spec["name"], tuple(spec["tools"]), spec["only_confirms"])
            for spec in data["checkpoints"]
        )
        return LoadedFile(
            pool=self.pool,
            source=source,
            specs=specs,
            groups=tuple(Group(**group) for group in groups),
            checkpoints=tuple(CheckpointSpec(*handler) for handler in handlers),
            processors=tuple(data["processors"]),
        )


@frozen
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


@frozen
class RuntimeTool:
    """A registered tool; ``number`` tells apart those of the same name."""

    number: int
    worker: Worker
    spec: ToolSpec


@frozen
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


class CustomRegistry:
    """Registers the user's tools in a chat, and unregisters those that no longer exist."""

    def __init__(self, registry: Registry, toolbox: Toolset, cwd: str, chat: str = "") -> None:
        self.cwd = cwd
        self._chat = chat
        self._registry = registry
        self._toolbox = toolbox
        self._origins: dict[str, tuple[Path, int]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that are registered now."""
        return tuple(self._origins)

    def replace_all(self, sources: Sequence[ToolSource]) -> list[FileProblem]:
        """Replace all tools by those of these sources; return what could not be registered."""
        for name in self._origins:
            self._registry.unregister(name)
        self._origins.clear()
        problems: list[FileProblem] = []
        groups: dict[str, Group] = {}
        for source in sources:
            problems += self._add_tools(source)
            problems += self._add_groups(source, groups)
        self._toolbox.add_groups(groups.values())
        files = [source for source in sources if isinstance(source, LoadedFile)]
        self._toolbox.set_checkpoint_handlers(
            handler for file in files for handler in file.handlers(self.cwd)
        )
        processors = (found for file in files for found in file.result_processors(self.cwd))
        self._toolbox.set_result_processor(next(processors, None))
        return problems

    def _add_tools(self, source: ToolSource) -> list[FileProblem]:
        tools = zip(source.tools(self.cwd, self._chat), source.lines, strict=True)
        problems = [self._add(source.path, tool, line) for tool, line in tools]
        return [problem for problem in problems if problem is not None]

    def _add(self, path: Path, tool: Tool, line: int) -> FileProblem | None:
        for name in (tool.name, *tool.metadata.aliases):
            owner = self.owner(name)
            if owner:
                return FileProblem(path, line, f'the tool name "{name}" is taken by {owner}')
        try:
            self._registry.register(tool)
        except UserError as error:
            return FileProblem(path, line, str(error))
        self._origins[tool.name] = (path, line)
        return None

    def owner(self, name: str) -> str:
        """Return who uses a name already; empty if it is free."""
        owner = self._registry.get(name)
        if owner is None:
            return "the plugin" if name in RESERVED else ""
        if owner.name not in self._origins:
            return f"the built-in tool {owner.name}"
        path, line = self._origins[owner.name]
        return f"{path}:{line}" if line else str(path)

    def _add_groups(self, source: ToolSource, groups: dict[str, Group]) -> list[FileProblem]:
        problems = []
        for group in source.groups:
            is_taken = group.name in RESERVED or group.name in groups
            if group.searchable and (is_taken or self._toolbox.owns(group.name)):
                name = server_group(group.name)
                groups[name] = replace(group, name=name)
            elif is_taken:
                problem = f'the group name "{group.name}" is taken'
                problems.append(FileProblem(source.path, 0, problem))
            else:
                groups[group.name] = group
        return problems
