"""List and search files with ripgrep, from the PATH or installed beside this Python."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.limits import GREP_LINE_CHARACTERS
from agentchat.core.permissions.sensitive_paths import SECRET_GLOBS
from agentchat.core.text import escape_line
from agentchat.core.workspace import Command, ProcessResult, Workspace
from agentchat.tools.format import path_sort_key

CUT = "…"


@frozen
class MatchedLine:
    """One line of a file: ``number`` is 1-based, ``start`` where the match begins in ``text``.

    ``start`` is ``None`` for a line of context.
    """

    path: str
    number: int
    text: str
    start: int | None


class MatchCollector:
    """Collects lines until ``limit`` of them are matches; then ``full``, which ends the search."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.matches = 0
        self.full = False
        self._lines: list[MatchedLine] = []
        self._found: set[tuple[str, int]] = set()

    def add(self, line: MatchedLine) -> None:
        """Add a line, unless it is full."""
        if self.full or (known := (line.path, line.number)) in self._found:
            return
        if line.start is not None:
            if self.matches == self.limit:
                self.full = True
                return
            self.matches += 1
            self._found.add(known)
        self._lines.append(line)

    def lines(self) -> list[MatchedLine]:
        """Return the lines, file by file, each once."""
        best: dict[tuple[str, int], MatchedLine] = {}
        for line in self._lines:
            key = (line.path, line.number)
            if key not in best or line.start is not None:
                best[key] = line
        return sorted(best.values(), key=lambda line: (path_sort_key(line.path), line.number))


def format_line(line: MatchedLine, name: str) -> tuple[str, bool]:
    """Return a line as the model reads it, and whether it was cut."""
    mark = "-" if line.start is None else ":"
    text, cut = shorten_line(line.text, line.start or 0)
    return f"{escape_line(name)}{mark}{line.number}{mark} {text}", cut


def shorten_line(text: str, start: int) -> tuple[str, bool]:
    """Return the part of a long line around ``start``, with marks where it was cut."""
    if len(text) <= GREP_LINE_CHARACTERS:
        return text, False
    first = 0 if start < GREP_LINE_CHARACTERS else start - GREP_LINE_CHARACTERS // 5
    last = first + GREP_LINE_CHARACTERS
    before = CUT if first else ""
    after = f"{CUT} [cut]" if last < len(text) else ""
    return f"{before}{text[first:last]}{after}", True


SEARCH_SECONDS = 60
"""Seconds after which a search is stopped."""

PIPE_SECONDS = 1.0
"""Seconds after which a search that has not ended is suspected to wait for a pipe."""

IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})

FILE_OPTIONS = ("--no-config", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git")
"""Hidden files too, without ignored ones, and independent of the user's configuration."""


def program_paths() -> tuple[str, str]:
    """Return where it may be, in the order to try."""
    return "rg", os.path.join(os.path.dirname(sys.executable), "rg")


async def run(
    arguments: tuple[str, ...],
    folder: str,
    workspace: Workspace,
    stdin: bytes | None = None,
    on_output: Callable[[bytes], None] | None = None,
    capture: int = 64 * 1024 * 1024,
) -> ProcessResult | None:
    """Run ripgrep in a folder; return ``None`` if it is not installed, or would wait for a pipe.

    Raises:
        ToolError: it took too long.
    """
    for program in program_paths():
        command = Command(
            (program, *arguments),
            folder,
            stdin=stdin,
            timeout=SEARCH_SECONDS,
            capture=capture,
            own=True,
        )
        try:
            finished = await _run_unless_stuck(command, folder, workspace, on_output)
        except ToolError:
            continue
        if finished is None:
            return None
        if finished.code is None:
            raise ToolError(
                f"The search took more than {SEARCH_SECONDS} s. Narrow path or pattern."
            )
        return finished
    return None


async def _run_unless_stuck(
    command: Command,
    folder: str,
    workspace: Workspace,
    on_output: Callable[[bytes], None] | None,
) -> ProcessResult | None:
    """Run a command; return ``None`` if it would wait for an ignore file that is a pipe."""
    running = asyncio.ensure_future(workspace.run(command, on_output))
    looking = asyncio.ensure_future(_find_pipe(folder, workspace))
    try:
        await asyncio.wait({running, looking}, return_when=asyncio.FIRST_COMPLETED)
        if running.done() or not await looking:
            return await running
        return None
    finally:
        for task in (running, looking):
            task.cancel()
        await asyncio.gather(running, looking, return_exceptions=True)


async def _find_pipe(folder: str, workspace: Workspace) -> bool:
    """Return whether an ignore file in, below or above a folder is none; slow searches only."""
    await asyncio.sleep(PIPE_SECONDS)
    above = folder
    while True:
        for name in (*IGNORE_FILES, ".git/info/exclude"):
            if await workspace.kind(os.path.join(above, name)) == "other":
                return True
        if above == os.path.dirname(above):
            break
        above = os.path.dirname(above)
    return await _has_pipe_below(folder, workspace)


async def _has_pipe_below(folder: str, workspace: Workspace) -> bool:
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        try:
            entries = await workspace.list(path)
        except OSError:
            continue
        if any(entry.kind == "other" and entry.name in IGNORE_FILES for entry in entries):
            return True
        inner = (os.path.join(path, entry.name) for entry in entries if entry.kind == "directory")
        waiting += [path for path in inner if (await workspace.locate(path)).path == path]
    return False


async def list_files(
    folder: str, workspace: Workspace, options: tuple[str, ...] = ()
) -> list[str] | None:
    """Return the files below a folder, relative to it; ``None`` without ripgrep."""
    finished = await run(
        ("--files", "--null", *FILE_OPTIONS, *options, "--", "./"), folder, workspace
    )
    if finished is None:
        return None
    names = finished.head.split(b"\0")[:-1]
    return [os.fsdecode(name).removeprefix("./") for name in names]


@frozen
class Query:
    """A search; ``is_searched`` filters paths relative to the folder."""

    pattern: str
    ignore_case: bool
    literal: bool
    context: int
    is_searched: Callable[[str], bool]


async def search(
    query: Query, folder: str, name: str, collector: MatchCollector, workspace: Workspace
) -> bool:
    """Search a folder, or one file of it; return false without ripgrep.

    Args:
        name: the file; empty for all files that are not ignored.
    """
    options = (*FILE_OPTIONS, "--sort=path", "--", f"./{name}")
    return await _run(query, folder, options, collector, workspace)


async def search_text(
    query: Query,
    folder: str,
    name: str,
    text: bytes,
    collector: MatchCollector,
    workspace: Workspace,
) -> bool:
    """Search a text in place of the file ``name``; return false without ripgrep."""
    arguments = ("--no-config", "--", "-")
    return await _run(query, folder, arguments, collector, workspace, name=name, stdin=text)


async def list_secrets(folder: str, workspace: Workspace) -> list[str]:
    """Return the secrets files below a folder, which a search skips."""
    options = tuple(f"--iglob={pattern}" for pattern in SECRET_GLOBS)
    return sorted(await list_files(folder, workspace, options) or [])


async def _run(
    query: Query,
    folder: str,
    arguments: tuple[str, ...],
    collector: MatchCollector,
    workspace: Workspace,
    name: str | None = None,
    stdin: bytes | None = None,
) -> bool:
    reader = _Reader(query, collector, name)
    options = (*_options(query), *arguments)
    running = asyncio.ensure_future(run(options, folder, workspace, stdin, reader.feed, capture=2))
    reader.on_full = running.cancel
    try:
        await asyncio.wait({running})
    except asyncio.CancelledError:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raise
    if running.cancelled():
        return True
    finished = running.result()
    if finished is not None:
        _check(finished, collector)
    return finished is not None


def _options(query: Query) -> tuple[str, ...]:
    return (
        "--json",
        "--crlf",
        *(("--ignore-case",) if query.ignore_case else ()),
        *(("--fixed-strings",) if query.literal else ()),
        *((f"--context={query.context}",) if query.context else ()),
        f"--regexp={query.pattern}",
    )


def _check(finished: ProcessResult, collector: MatchCollector) -> None:
    """Raise ToolError if ripgrep refused the pattern."""
    message = finished.stderr.decode("utf-8", "replace").strip().removeprefix("rg: ")
    if finished.code == 2 and message and not collector.matches:
        raise ToolError(f"Invalid pattern: {message}\nSet literal for plain text.")


class _Reader:
    """Parses ripgrep's JSON as it arrives."""

    def __init__(self, query: Query, collector: MatchCollector, name: str | None) -> None:
        self.on_full: Callable[[], object] = lambda: None
        self._query = query
        self._collector = collector
        self._name = name
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        self._rest += data
        if b"\n" not in data:
            return
        *whole, self._rest = self._rest.split(b"\n")
        for message in whole:
            self._add(json.loads(message))
        if self._collector.full:
            self.on_full()

    def _add(self, message: dict[str, Any]) -> None:
        if message["type"] not in ("match", "context"):
            return
        data = message["data"]
        path = self._name or os.fsdecode(_bytes(data["path"])).removeprefix("./")
        if not self._query.is_searched(path):
            return
        raw = _bytes(data["lines"]).rstrip(b"\r\n")
        start = None
        if message["type"] == "match":
            offset = data["submatches"][0]["start"] if data["submatches"] else 0
            start = len(raw[:offset].decode("utf-8", "replace"))
        self._collector.add(
            MatchedLine(path, data["line_number"], raw.decode("utf-8", "replace"), start)
        )


def _bytes(value: dict[str, str]) -> bytes:
    """Return the bytes of a value: text, or base64 if it is not valid UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
