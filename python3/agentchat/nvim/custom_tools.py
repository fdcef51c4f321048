"""The user's own tools in this process: where their files are, and when they are loaded."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentchat.nvim.lua_api import LuaApi
from agentchat.rpc.background import BackgroundTasks, run_in_thread
from agentchat.tools.custom.files import (
    PROJECT_FOLDER,
    FileProblem,
    Location,
    Source,
    is_trusted,
    read_source,
    read_trust,
    stamp,
)
from agentchat.tools.custom.pool import WorkerPool
from agentchat.tools.custom.registry import CustomRegistry, FileRegistry
from agentchat.tools.custom.worker import start_worker
from agentchat.tools.format import count_summary
from agentchat.workspace.process.run import KEEPER

log = logging.getLogger(__name__)

Stamp = tuple[tuple[str, int, int], ...]


@dataclass
class ChatFiles:
    """The files of tools of one chat; ``loaded`` is their stamp when they were last loaded."""

    registry: CustomRegistry
    locations: tuple[Location, ...]
    changed: Callable[[], None]
    problems: list[FileProblem] = field(default_factory=list)
    loaded: Stamp | None = None

    @property
    def root(self) -> Path:
        """The workspace."""
        return Path(self.registry.cwd)

    def files(self) -> list[Path]:
        """Return the files there are, each once, the user's before the project's."""
        return list(dict.fromkeys(path for one in self.locations for path in one.files()))


class CustomTools:
    """Keeps the tools of every open chat as their files are.

    Args:
        config: Neovim's folder of the user's configuration.
        trust: the file in which Neovim keeps what the user trusts.
    """

    def __init__(self, bridge: LuaApi, config: Path, trust: Path) -> None:
        self._bridge = bridge
        self._config = config
        self._trust = trust
        self._files = FileRegistry(WorkerPool(lambda: start_worker(KEEPER)))
        self._chats: dict[str, ChatFiles] = {}
        self._notified: set[str] = set()
        self._loading = asyncio.Lock()
        self._tasks = BackgroundTasks()

    def join(
        self, chat: str, registry: CustomRegistry, paths: Iterable[str], changed: Callable[[], None]
    ) -> None:
        """Take in a chat that was opened; ``changed`` is called when it has other tools."""
        locations = tuple(self._locations(registry.cwd, paths))
        self._chats[chat] = ChatFiles(registry, locations, changed)
        watched = {str(one.path) for files in self._chats.values() for one in files.locations}
        self._bridge.call("trust.watch_tools", sorted(watched))
        self._tasks.start(self._reported(self._load_all()))

    def leave(self, chat: str) -> None:
        """Forget a chat that is closed."""
        self._chats.pop(chat, None)

    async def ready(self, chat: str) -> None:
        """Return when the chat has the tools of its files as they are on disk now.

        What is wrong with them is notified; it never fails.
        """
        files = self._chats.get(chat)
        if files is not None and files.loaded != self._stamp(files):
            await self._reported(self._load_all())

    def reload(self, *, anew: bool) -> None:
        """Load the files that changed; with ``anew`` all files, and report how many."""
        self._tasks.start(self._reported(self._load_all(again=anew)))

    def lines(self, chat: str) -> list[str]:
        """Return what a list of the chat's tools says about files."""
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

    async def _reported(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            log.exception("files with tools could not be loaded")
            self._notify("error", f"files with tools could not be loaded: {error!r}")

    async def _load_all(self, again: bool = False) -> None:
        async with self._loading:
            if again:
                self._notified.clear()
                self._files.clear()
            counts = [await self._load(files, again) for files in tuple(self._chats.values())]
            if again:
                names = {name for files in self._chats.values() for name in files.registry.names}
                tools, paths = (
                    count_summary(len(names), "tool"),
                    count_summary(max(counts, default=0), "file"),
                )
                self._notify("info", f"{tools} of your own from {paths}")

    async def _load(self, files: ChatFiles, again: bool) -> int:
        """Bring one chat up to date; return how many files it has tools from."""
        now = self._stamp(files)
        if now == files.loaded and not again:
            return 0
        sources, problems = await run_in_thread(lambda: self._sources(files))
        loaded, broken = await self._files.load(sources)
        files.problems = [*problems, *broken, *files.registry.replace_all(loaded)]
        files.loaded = now
        files.changed()
        for problem in files.problems:
            self._notify_once(_short(str(problem), files))
        return len(loaded)

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
        self._bridge.notify(level, text)


def _short(text: str, files: ChatFiles) -> str:
    """Return a line with short names of files: a notification has little room."""
    folders = sorted((one.path for one in files.locations), key=lambda path: -len(str(path)))
    for folder in folders:
        name = PROJECT_FOLDER if folder == files.root / PROJECT_FOLDER else folder.name
        text = text.replace(str(folder), str(name))
    return text


def _untrusted(folder: Path, files: Sequence[Path]) -> FileProblem:
    names = ", ".join(path.name for path in files)
    return FileProblem(folder, 0, f"not trusted, so not loaded: {names}. Run :AgentTools trust")
