"""Rules files for agents: ``AGENTS.md`` and ``CLAUDE.md`` of the workspace and of its folders.

Those of the root are in the system prompt. Those of other folders are sent as notes once a call or
an attachment has to do with a file in them, and again when their text changes or a summary replaced
the note: so what was sent before stays the same, and a server reads it from its cache.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterable, Iterator

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.limits import KIB
from agentchat.core.workspace import Workspace, Zone

NAMES = ("AGENTS.md", "CLAUDE.md")
LARGEST = 32 * KIB
MOST_FOLDERS = 200
"""Folders whose rules are sent."""

NOTE = "Project rules for {folder}/, from {name}:\n{text}"
REMOVED = "The project rules in {name} were removed: they no longer apply."


@frozen
class RulesFile:
    """One file: ``name`` is relative to the workspace, ``path`` has no symlinks."""

    name: str
    path: str
    text: str


class RulesFiles:
    """The rules files of one chat."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root: tuple[RulesFile, ...] = ()
        self._folders: dict[str, bool] = {}
        """The folders that were touched; whether their files must be read again."""
        self._sent: dict[str, str] = {}
        self._start = 0

    async def begin_turn(self) -> str:
        """Read the files again; return the text of the root's for the system prompt."""
        self._root = await self._read_folder("")
        self._folders = dict.fromkeys(self._folders, True)
        return "\n\n".join(f"# {file.name}\n{file.text}" for file in self._root)

    def touch(self, paths: Iterable[str]) -> None:
        """Remember the folders, from the root down, of files that the chat has to do with."""
        for path in paths:
            for folder in _folders(path, self._workspace.root):
                if len(self._folders) < MOST_FOLDERS:
                    self._folders.setdefault(folder, True)

    async def take_notes(self, start: int) -> list[tuple[str, str]]:
        """Return the name and a note for the model of each file that it does not know.

        Args:
            start: index of the first message that no summary replaces.
        """
        if start != self._start:  # the notes may be among the messages that were replaced
            self._start, self._sent = start, {}
            self._folders = dict.fromkeys(self._folders, True)
        unread = sorted(folder for folder, must_read in self._folders.items() if must_read)
        self._folders.update(dict.fromkeys(unread, False))
        found = await asyncio.gather(*map(self._read_folder, unread))
        return [
            note
            for folder, files in zip(unread, found, strict=True)
            for note in self._compare(folder, files)
        ]

    def names(self) -> list[str]:
        """Return the names of the files that count now."""
        return [*(file.name for file in self._root), *sorted(self._sent)]

    def _compare(self, folder: str, files: tuple[RulesFile, ...]) -> Iterator[tuple[str, str]]:
        texts = {file.name: file.text for file in files}
        for name in [name for name in self._sent if posixpath.dirname(name) == folder]:
            if name not in texts:
                del self._sent[name]
                yield name, REMOVED.format(name=name)
        for name, text in texts.items():
            if self._sent.get(name) != text:
                self._sent[name] = text
                yield name, NOTE.format(folder=folder, name=name, text=text)

    async def _read_folder(self, folder: str) -> tuple[RulesFile, ...]:
        """Return the files of a folder, each text once."""
        read = await asyncio.gather(*(self._read(posixpath.join(folder, name)) for name in NAMES))
        files = {file.path: file for file in reversed(read) if file is not None}
        texts = {file.text: file for file in files.values()}
        return tuple(sorted(texts.values(), key=lambda file: file.name))

    async def _read(self, name: str) -> RulesFile | None:
        try:
            target = await self._workspace.locate(name)
            if not target.exists or target.zone in (Zone.OUTSIDE, Zone.SECRET):
                return None
            data = await self._workspace.read(target.path, LARGEST)
        except (OSError, ToolError):
            return None
        text = data.decode("utf-8", "replace").strip()
        # A file that only names the other one says nothing itself.
        is_import = text.removeprefix("@") in NAMES
        return None if not text or is_import else RulesFile(name, target.path, text)


def _folders(path: str, root: str) -> Iterator[str]:
    """Yield the folders below the root that a path is in."""
    if not path.startswith(f"{root}/"):
        return
    parts = path.removeprefix(f"{root}/").split("/")
    for number in range(1, len(parts)):
        yield "/".join(parts[:number])
