"""The tools of a chat that are not built in: of the user's files, of MCP servers, of the editor.

Files are loaded again when they change.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agentchat.agent.chat_tools import ChatTools
from agentchat.app.settings import Settings
from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import ToolOutput
from agentchat.rpc.background import BackgroundTasks, run_in_thread
from agentchat.tools.custom.declaration.files import PROJECT_FOLDER, FileProblem, Location
from agentchat.tools.custom.declaration.spec import ToolSpec
from agentchat.tools.custom.process.pool import WorkerPool
from agentchat.tools.custom.process.worker import Worker, start_worker
from agentchat.tools.custom.registry import (
    CustomRegistry,
    FileRegistry,
    LoadedFile,
    RuntimeTools,
    ToolSource,
)
from agentchat.tools.format import count_summary
from agentchat.tools.mcp.definition import ambiguous_names
from agentchat.tools.mcp.prompts import ServerPrompts
from agentchat.tools.mcp.registry import ServerRegistry
from agentchat.tools.mcp.servers import McpServer
from agentchat.tools.mcp.tool import ServerTools, make_output
from agentchat.tools.trust import Source, is_trusted, read_source, read_trust, stamp
from agentchat.workspace.process.run import WATCHDOG

log = logging.getLogger(__name__)

Stamp = tuple[tuple[str, int, int], ...]


@dataclass
class ChatFiles:
    """The tool files of one chat.

    ``loaded`` is their stamp when they were last loaded, ``registered`` that of the tools that were
    registered at run time.
    """

    registry: CustomRegistry
    locations: tuple[Location, ...]
    tools: ChatTools
    sources: list[LoadedFile] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)
    loaded: Stamp | None = None
    registered: Stamp = ()
    servers: dict[str, ServerTools] = field(default_factory=dict)
    """The tools of MCP servers, by the name of the server."""
    judge_again: Callable[[], None] = lambda: None
    """Decides again about the open question, if one is open."""

    @property
    def root(self) -> Path:
        """The workspace."""
        return Path(self.registry.cwd)

    def files(self) -> list[Path]:
        """Return the files there are, each once, the user's before the project's."""
        return list(dict.fromkeys(path for location in self.locations for path in location.files()))


class ToolsView(Protocol):
    """Shows what becomes of the tools."""

    def notify(self, level: str, text: str) -> None:
        """Show one line: level is ``info``, ``warn`` or ``error``."""

    def warn_once(self, text: str) -> None:
        """Show a warning, unless it was shown before."""

    def watch_trust(self, folders: Sequence[str]) -> None:
        """Offer to trust files with tools in these folders when they are opened."""

    def offer_servers(self, root: Path, servers: Collection[McpServer]) -> None:
        """Let the user complete the MCP servers of a project and their resources."""

    def show_login(self, server: str, url: str) -> None:
        """Show the address at which the user logs in to an MCP server."""


class EditorTools(ToolSource, Protocol):
    """The tools that are registered with the editor."""

    @property
    def stamp(self) -> Stamp:
        """A value that differs if a tool was registered or unregistered."""


class ToolSources:
    """The custom tools of all open chats.

    Args:
        config: the folder of the user's Neovim configuration.
        trust: the file of Neovim's trust database.
        editor_tools: the tools that are registered with the editor, if there is one.
    """

    def __init__(
        self, view: ToolsView, config: Path, trust: Path, editor_tools: EditorTools | None = None
    ) -> None:
        self._view = view
        self._editor_tools = editor_tools
        self._config = config
        self._trust = trust
        pool = WorkerPool(lambda: start_worker(WATCHDOG))
        pool.registrar = self._take_registration
        self._files = FileRegistry(pool)
        self._runtime_tools = RuntimeTools(pool)
        self.servers = ServerRegistry(
            WATCHDOG,
            config=config,
            trust=trust,
            tokens=trust.parent / "agentchat" / "mcp",
            on_change=self._show_servers,
            on_login=view.show_login,
        )
        self._chats: dict[str, ChatFiles] = {}
        self._notified: set[str] = set()
        self._loading = asyncio.Lock()
        self._tasks = BackgroundTasks()

    def join(
        self,
        chat: str,
        registry: CustomRegistry,
        settings: Settings,
        tools: ChatTools,
        judge_again: Callable[[], None],
    ) -> None:
        """Add a chat that was opened; ``tools`` are shown again when they change."""
        locations = tuple(self._locations(registry.cwd, settings.tool_paths))
        files = ChatFiles(registry, locations, tools, judge_again=judge_again)
        self._chats[chat] = files
        self.configure(chat, settings)
        opened = self._chats.values()
        folders = {str(location.path) for files in opened for location in files.locations}
        self._view.watch_trust(sorted(folders))
        self._tasks.start(self._report_errors(self._load_all()))

    def leave(self, chat: str) -> None:
        """Remove a chat that is closed."""
        self._chats.pop(chat, None)

    async def ready(self, chat: str) -> None:
        """Return when the tools of a chat are loaded from the current files.

        Errors in the files are shown, never raised.
        """
        files = self._chats.get(chat)
        if files is not None and not self._is_current(files):
            await self._report_errors(self._load_all())

    def configure(self, chat: str, settings: Settings) -> None:
        """Update the MCP servers of a chat."""
        files = self._chats.get(chat)
        if files is not None:
            self.servers.update(files.root, settings.mcp_servers)

    async def connect(self, chat: str, names: Collection[str]) -> None:
        """Return when the MCP servers of these names are connected, or cannot be."""
        files = self._chats.get(chat)
        if files is None:
            return
        project = self.servers.refresh(files.root)
        wanted = [server for name, server in project.servers.items() if name in names]
        starting = (server.start() for server in wanted if server.state != "running")
        for problem in await asyncio.gather(*starting, return_exceptions=True):
            if problem is not None:
                self._notify_once(str(problem))
        for line in files.tools.unknown_names():
            self._view.warn_once(line)

    def _show_servers(self, root: Path) -> None:
        """Register the tools of a project's servers again: they changed."""
        project = self.servers.project(root)
        if project is not None:
            self._view.offer_servers(root, project.servers.values())
        for files in self._chats.values():
            if files.root == root and files.loaded is not None:
                self._register_all(files)
                files.judge_again()

    async def read_resource(self, chat: str, server: str, uri: str) -> ToolOutput | None:
        """Return a resource of an MCP server, ``None`` if there is none; raises ToolError."""
        found = next((each for each in self._servers_of(chat) if each.name == server), None)
        if found is None:
            return None
        return await make_output({"parts": await found.read_resource(uri), "is_error": False})

    def prompts(self, chat: str) -> ServerPrompts:
        """Return the slash commands of the MCP servers of a chat."""
        return ServerPrompts(lambda: self._servers_of(chat))

    def _servers_of(self, chat: str) -> Collection[McpServer]:
        files = self._chats.get(chat)
        return self.servers.refresh(files.root).servers.values() if files is not None else ()

    def _server_tools(self, files: ChatFiles) -> list[ServerTools]:
        """Return the tools of the servers of a chat, whether or not they run."""
        project = self.servers.refresh(files.root)
        for name, server in project.servers.items():
            if name not in files.servers or files.servers[name].server is not server:
                seen = files.servers[name].approved if name in files.servers else {}
                files.servers[name] = ServerTools(server, seen)
        found = [files.servers[name] for name in project.servers]
        ambiguous = ambiguous_names(tools.server.tools for tools in found)
        for name in sorted(ambiguous):
            self._notify_once(f"several MCP servers have a tool {name}: none of them is used")
        for tools in found:
            tools.ambiguous = ambiguous
        return found

    def reload(self, *, all_files: bool) -> None:
        """Load the files that changed, or all of them and report how many."""
        self._tasks.start(self._report_errors(self._load_all(all_files=all_files)))

    def lines(self, chat: str) -> list[str]:
        """Return the tool files of a chat and their problems, for the list of its tools."""
        files = self._chats.get(chat)
        paths = files.files() if files is not None else []
        if files is None or not paths:
            return []
        problems = [f"  {problem}" for problem in files.problems]
        return ["", "Files with tools", "", *(f"  {path}" for path in paths), *problems]

    def _locations(self, cwd: str, paths: Iterable[str]) -> Iterator[Location]:
        if self._config.is_absolute():
            yield Location(self._config / "agentchat" / "tools")
        for text in paths:
            path = Path(os.path.expanduser(text))
            if path.is_absolute() and path.exists():
                yield Location(path)
            else:
                problem = "does not exist" if path.is_absolute() else "is not an absolute path"
                self._notify_once(f"g:agentchat.tools.paths: {text} {problem}")
        yield Location(Path(cwd) / PROJECT_FOLDER, needs_trust=True)

    def _stamp(self, files: ChatFiles) -> Stamp:
        return stamp([*files.files(), self._trust])

    @property
    def _registered_stamp(self) -> Stamp:
        editor = self._editor_tools.stamp if self._editor_tools is not None else ()
        return (*self._runtime_tools.stamp, *editor)

    def _is_current(self, files: ChatFiles) -> bool:
        is_same = files.registered == self._registered_stamp
        return is_same and files.loaded == self._stamp(files)

    async def _report_errors(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            log.exception("files with tools could not be loaded")
            self._notify("error", f"files with tools could not be loaded: {error!r}")

    async def _load_all(self, all_files: bool = False) -> None:
        async with self._loading:
            if all_files:
                self._notified.clear()
                self._files.clear()
            counts = [await self._load(files, all_files) for files in tuple(self._chats.values())]
            if all_files:
                names = {name for files in self._chats.values() for name in files.registry.names}
                tools, paths = (
                    count_summary(len(names), "tool"),
                    count_summary(max(counts, default=0), "file"),
                )
                self._notify("info", f"{tools} of your own from {paths}")

    async def _load(self, files: ChatFiles, all_files: bool) -> int:
        """Load the tools of one chat if needed; return the number of its files with tools."""
        if self._is_current(files) and not all_files:
            return 0
        current = self._stamp(files)
        sources, problems = await run_in_thread(lambda: self._sources(files))
        loaded, broken = await self._files.load(sources)
        files.sources = loaded
        files.problems = [*problems, *broken, *self._register_all(files)]
        files.loaded = current
        for problem in files.problems:
            self._notify_once(_short(str(problem), files))
        return len(loaded)

    def _register_all(self, files: ChatFiles) -> list[FileProblem]:
        """Register the tools of the loaded files, and those that were registered since."""
        files.registered = self._registered_stamp
        runtime = self._runtime_tools.sources(files.sources)
        servers = self._server_tools(files)
        editor = [self._editor_tools] if self._editor_tools is not None else []
        sources: list[ToolSource] = [*files.sources, *runtime, *editor, *servers]
        problems = files.registry.replace_all(sources)
        files.tools.show()
        return problems

    def _take_registration(self, worker: Worker, method: str, params: Mapping[str, Any]) -> bool:
        """Register or unregister a tool at the request of a function; raises ToolError."""
        file = params["file"]
        chats = [c for c in self._chats.values() if file in [s.source.key for s in c.sources]]
        if method == "unregister":
            existed = self._runtime_tools.remove(file, params["name"])
        else:
            spec = ToolSpec.from_data(params["spec"])
            if not self._runtime_tools.has(file, spec.name):
                _refuse_taken_names(spec, chats)
            self._runtime_tools.add(worker, file, spec)
            existed = True
        for files in chats:
            self._register_all(files)
        return existed

    def _sources(self, files: ChatFiles) -> tuple[list[Source], list[FileProblem]]:
        trust = read_trust(self._trust)
        sources, problems, untrusted = [], [], []
        for location in files.locations:
            for path in location.files():
                try:
                    source = read_source(path)
                except OSError as error:
                    problems.append(FileProblem(path, 0, error.strerror or str(error)))
                    continue
                if location.needs_trust and not is_trusted(source, files.root, trust):
                    untrusted.append(path)
                else:
                    sources.append(source)
        if untrusted:
            problems.append(_untrusted(files.root / PROJECT_FOLDER, untrusted))
        return list({source.path: source for source in sources}.values()), problems

    def _notify_once(self, text: str) -> None:
        if text not in self._notified:
            self._notified.add(text)
            self._notify("warn", text)

    def _notify(self, level: str, text: str) -> None:
        self._view.notify(level, text)


def _short(text: str, files: ChatFiles) -> str:
    """Return a line with short file names: a notification has little room."""
    folders = sorted(
        (location.path for location in files.locations), key=lambda path: -len(str(path))
    )
    for folder in folders:
        name = PROJECT_FOLDER if folder == files.root / PROJECT_FOLDER else folder.name
        text = text.replace(str(folder), str(name))
    return text


def _refuse_taken_names(spec: ToolSpec, chats: Iterable[ChatFiles]) -> None:
    for name in (spec.name, *spec.aliases):
        owner = next((o for files in chats if (o := files.registry.owner(name))), "")
        if owner:
            raise ToolError(f'The tool name "{name}" is taken by {owner}.')


def _untrusted(folder: Path, files: Sequence[Path]) -> FileProblem:
    names = ", ".join(path.name for path in files)
    return FileProblem(folder, 0, f"not trusted, so not loaded: {names}. Run :AgentTools trust")
