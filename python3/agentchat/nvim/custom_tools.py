"""The user's own tools in this process: where their files are, when they are read, who is told."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentchat.nvim.lua_api import Bridge
from agentchat.tools.custom.files import (
    PROJECT_FOLDER,
    Place,
    Source,
    is_trusted,
    read_source,
    read_trust,
    stamp,
)
from agentchat.tools.custom.importing import Problem
from agentchat.tools.custom.library import Library
from agentchat.tools.custom.process import spawn
from agentchat.tools.custom.shelf import Shelf
from agentchat.tools.custom.thread import run
from agentchat.tools.custom.workshop import Workshop
from agentchat.workspace.process.run import KEEPER

log = logging.getLogger(__name__)

Stamp = tuple[tuple[str, int, int], ...]


@dataclass
class ChatTools:
    """What one chat has to do with files of tools.

    ``seen`` is how they were when they were last read.
    """

    shelf: Shelf
    places: tuple[Place, ...]
    changed: Callable[[], None]
    problems: list[Problem] = field(default_factory=list)
    seen: Stamp | None = None

    @property
    def root(self) -> Path:
        """The workspace."""
        return Path(self.shelf.cwd)

    def files(self) -> list[Path]:
        """Return the files there are, each once, the user's before the project's."""
        return list(dict.fromkeys(path for place in self.places for path in place.files()))


class CustomTools:
    """Keeps the tools of every open chat as their files are.

    Args:
        config: Neovim's folder of the user's configuration.
        trust: the file in which Neovim keeps what the user trusts.
    """

    def __init__(self, bridge: Bridge, config: Path, trust: Path) -> None:
        self._bridge = bridge
        self._config = config
        self._trust = trust
        self._library = Library(Workshop(lambda: spawn(KEEPER)))
        self._chats: dict[str, ChatTools] = {}
        self._told: set[str] = set()
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Future[None]] = set()

    def join(
        self, chat: str, shelf: Shelf, paths: Iterable[str], changed: Callable[[], None]
    ) -> None:
        """Take in a chat that was opened; ``changed`` is called when it has other tools."""
        places = tuple(self._places(shelf.cwd, paths))
        self._chats[chat] = ChatTools(shelf, places, changed)
        watched = sorted({str(p.path) for tools in self._chats.values() for p in tools.places})
        self._bridge.call("agentchat.toolfiles", "watch", watched)
        self._begin(self._refresh())

    def leave(self, chat: str) -> None:
        """Forget a chat that is closed."""
        self._chats.pop(chat, None)

    async def ready(self, chat: str) -> None:
        """Return when the files of a chat are loaded as they are now."""
        tools = self._chats.get(chat)
        if tools is not None and tools.seen != self._stamp(tools):
            await self._refresh()

    def reload(self, *, anew: bool) -> None:
        """Read files again: what changed, or everything ``anew``, and then say what came of it."""
        self._begin(self._refresh(anew=anew))

    def lines(self, chat: str) -> list[str]:
        """Return what a list of the chat's tools says about files."""
        tools = self._chats.get(chat)
        files = tools.files() if tools is not None else []
        if tools is None or not files:
            return []
        wrong = [f"  {problem}" for problem in tools.problems]
        return ["", "Files with tools", "", *(f"  {path}" for path in files), *wrong]

    def _places(self, cwd: str, paths: Iterable[str]) -> Iterator[Place]:
        if self._config.is_absolute():
            yield Place(self._config / "agentchat" / "tools")
        for text in paths:
            path = Path(os.path.expanduser(text))
            if path.is_absolute() and path.exists():
                yield Place(path)
            else:
                what = "does not exist" if path.is_absolute() else "is not an absolute path"
                self._tell_once(f"g:agentchat.tools.paths: {text} {what}")
        yield Place(Path(cwd) / PROJECT_FOLDER, needs_trust=True)

    def _stamp(self, tools: ChatTools) -> Stamp:
        return stamp([*tools.files(), self._trust])

    async def _refresh(self, anew: bool = False) -> None:
        async with self._turn:
            if anew:
                self._told.clear()
                self._library.clear()
            counts = [await self._read(tools, anew) for tools in tuple(self._chats.values())]
            if anew:
                names = {name for tools in self._chats.values() for name in tools.shelf.names}
                files = max(counts, default=0)
                self._say(
                    "info", f"{_count(len(names), 'tool')} of your own from {_count(files, 'file')}"
                )

    async def _read(self, tools: ChatTools, anew: bool) -> int:
        """Bring one chat up to date; return how many files it has tools from."""
        seen = self._stamp(tools)
        if seen == tools.seen and not anew:
            return 0
        # Not in the threads of the loop: nobody waits for this one when Neovim quits.
        sources, problems = await run(lambda: self._sources(tools), printed=_nowhere)
        await self._library.load(sources)
        loaded, broken = self._library.contents(sources)
        tools.problems = [*problems, *broken, *tools.shelf.fill(loaded)]
        tools.seen = seen
        tools.changed()
        for problem in tools.problems:
            self._tell_once(_short(str(problem), tools))
        return len(loaded)

    def _sources(self, tools: ChatTools) -> tuple[list[Source], list[Problem]]:
        trust = read_trust(self._trust)
        sources, problems, strange = [], [], []
        for place in tools.places:
            for path in place.files():
                try:
                    source = read_source(path)
                except OSError as error:
                    problems.append(Problem(path, 0, error.strerror or str(error)))
                    continue
                if place.needs_trust and not is_trusted(source, tools.root, trust):
                    strange.append(path)
                else:
                    sources.append(source)
        if strange:
            problems.append(_untrusted(tools.root / PROJECT_FOLDER, strange))
        return list({source.path: source for source in sources}.values()), problems

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say("warn", text)

    def _say(self, level: str, text: str) -> None:
        self._bridge.call("agentchat.notice", level, text)

    def _begin(self, work: Any) -> None:
        task: asyncio.Future[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("files with tools could not be read", exc_info=task.exception())
            self._say("error", f"files with tools could not be read: {task.exception()!r}")


def _nowhere(text: str) -> None:
    """Drop what is printed."""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _short(text: str, tools: ChatTools) -> str:
    """Return a line in which files are named shortly, for a message has little room."""
    folders = sorted((place.path for place in tools.places), key=lambda path: -len(str(path)))
    for folder in folders:
        name = PROJECT_FOLDER if folder == tools.root / PROJECT_FOLDER else folder.name
        text = text.replace(str(folder), str(name))
    return text


def _untrusted(folder: Path, files: Sequence[Path]) -> Problem:
    names = ", ".join(path.name for path in files)
    return Problem(folder, 0, f"not trusted, so not loaded: {names}. Run :AgentTools trust")
