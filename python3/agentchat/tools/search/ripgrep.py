"""ripgrep, from the PATH or installed beside this Python: lists files and searches them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.permissions.sensitive_paths import SECRET_FILES, SECRET_FOLDERS, SECRET_PATHS
from agentchat.core.tools.ports import Command, ProcessResult, Workspace
from agentchat.tools.search.matches import MatchCollector, MatchedLine

SEARCH_SECONDS = 60
"""A search that takes longer is given up."""

FILE_OPTIONS = ("--no-config", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git")
"""Which files: hidden ones too, ignore files obeyed, whatever the user's own settings."""


def program_paths() -> tuple[str, str]:
    """Return where it may be, in the order they are tried."""
    return "rg", os.path.join(os.path.dirname(sys.executable), "rg")


async def run(
    arguments: tuple[str, ...],
    folder: str,
    workspace: Workspace,
    stdin: bytes | None = None,
    on_output: Callable[[bytes], None] | None = None,
    capture: int = 64 * 1024 * 1024,
) -> ProcessResult | None:
    """Run ripgrep in a folder; return ``None`` if there is none.

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
            own=program != "rg",
        )
        try:
            finished = await workspace.run(command, on_output)
        except ToolError:
            continue
        if finished.code is None:
            raise ToolError(
                f"The search took more than {SEARCH_SECONDS} s. Narrow path or pattern."
            )
        return finished
    return None


async def list_files(
    folder: str, workspace: Workspace, options: tuple[str, ...] = ()
) -> list[str] | None:
    """Return the files below a folder, relative to it; ``None`` if there is no ripgrep."""
    finished = await run(
        ("--files", "--null", *FILE_OPTIONS, *options, "--", "./"), folder, workspace
    )
    if finished is None:
        return None
    names = finished.head.split(b"\0")[:-1]
    return [os.fsdecode(name).removeprefix("./") for name in names]


SECRETS = (*SECRET_FILES, *SECRET_FOLDERS, *("**/" + "/".join(path) for path in SECRET_PATHS))


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched: ``wanted`` says which paths, relative to the folder searched, count."""

    pattern: str
    ignore_case: bool
    literal: bool
    context: int
    wanted: Callable[[str], bool]


async def search(
    query: Query, folder: str, name: str, found: MatchCollector, workspace: Workspace
) -> bool:
    """Search a folder, or one file of it; whether there is a ripgrep to do it.

    Args:
        name: the file; empty for all files that are not ignored.
    """
    options = (*FILE_OPTIONS, "--sort=path", "--", f"./{name}")
    return await _run(query, folder, options, found, workspace)


async def search_text(
    query: Query, folder: str, name: str, text: bytes, found: MatchCollector, workspace: Workspace
) -> bool:
    """Search a text that stands for the file ``name``; whether there is a ripgrep to do it."""
    arguments = ("--no-config", "--", "-")
    return await _run(query, folder, arguments, found, workspace, name=name, stdin=text)


async def list_secrets(folder: str, workspace: Workspace) -> list[str]:
    """Return the secrets files below a folder that a search leaves out."""
    options = tuple(f"--iglob={pattern}" for pattern in SECRETS)
    return sorted(await list_files(folder, workspace, options) or [])


async def _run(
    query: Query,
    folder: str,
    arguments: tuple[str, ...],
    found: MatchCollector,
    workspace: Workspace,
    name: str | None = None,
    stdin: bytes | None = None,
) -> bool:
    reader = _Reader(query, found, name)
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
        _check(finished, found)
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


def _check(finished: ProcessResult, found: MatchCollector) -> None:
    """Raise ToolError if ripgrep refused the pattern."""
    said = finished.stderr.decode("utf-8", "replace").strip()
    if finished.code == 2 and said and not found.matches:
        raise ToolError(
            f"Invalid pattern: {said.removeprefix('rg: ')}\nSet literal for plain text."
        )


class _Reader:
    """Turns ripgrep's JSON into lines, as it arrives."""

    def __init__(self, query: Query, found: MatchCollector, name: str | None) -> None:
        self.on_full: Callable[[], object] = lambda: None
        self._query = query
        self._found = found
        self._name = name
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        self._rest += data
        if b"\n" not in data:
            return
        *whole, self._rest = self._rest.split(b"\n")
        for message in whole:
            self._take(json.loads(message))
        if self._found.full:
            self.on_full()

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] not in ("match", "context"):
            return
        data = message["data"]
        path = self._name or os.fsdecode(_bytes(data["path"])).removeprefix("./")
        if not self._query.wanted(path):
            return
        raw = _bytes(data["lines"]).rstrip(b"\r\n")
        start = None
        if message["type"] == "match":
            at = data["submatches"][0]["start"] if data["submatches"] else 0
            start = len(raw[:at].decode("utf-8", "replace"))
        self._found.add(
            MatchedLine(path, data["line_number"], raw.decode("utf-8", "replace"), start)
        )


def _bytes(value: dict[str, str]) -> bytes:
    """Return what ripgrep gives as text, or as base64 where it is no UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
