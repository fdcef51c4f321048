"""Search the text of files, with ripgrep where there is one, unsaved buffers included."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.globs import matcher
from agentchat.core.limits import GREP_LINE_CHARACTERS, GREP_MATCHES
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.tools.ports import FileTarget, Workspace
from agentchat.core.tools.tool import Access, Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.builtin import grep
from agentchat.tools.files import locate_existing
from agentchat.tools.format import argument_text, escape_name, limit_reached, with_notices
from agentchat.tools.schema import PydanticArguments, ToolArguments, WholeNumber
from agentchat.tools.search import ripgrep
from agentchat.tools.search.matches import MatchCollector, MatchedLine, format_line
from agentchat.tools.search.ripgrep import Query
from agentchat.tools.search.walk import AT_ONCE, list_files

LARGEST = 16 * 1024 * 1024
"""Bytes of a file that is still searched."""


def compile_pattern(query: Query) -> re.Pattern[str]:
    """Return the pattern; raises ToolError."""
    text = re.escape(query.pattern) if query.literal else query.pattern
    try:
        return re.compile(text, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"Invalid pattern: {error}.\nSet literal for plain text.") from error


async def scan_text(query: Query, name: str, text: bytes, found: MatchCollector) -> None:
    """Search the text of one file; binary and very large ones are left out."""
    pattern = compile_pattern(query)
    if len(text) > LARGEST or b"\0" in text[:8192]:
        return
    for line in await asyncio.to_thread(_lines, pattern, query.context, name, text):
        found.add(line)


def _lines(pattern: re.Pattern[str], context: int, name: str, data: bytes) -> list[MatchedLine]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    return [
        MatchedLine(name, number + 1, lines[number], start)
        for number, start in _wanted(pattern, context, lines)
    ]


def _wanted(
    pattern: re.Pattern[str], context: int, lines: list[str]
) -> Iterator[tuple[int, int | None]]:
    """Yield 0-based numbers of matches and their context, and where each match begins."""
    done = -1
    for number, line in enumerate(lines):
        match = pattern.search(line)
        if match is None:
            continue
        yield from ((n, None) for n in range(max(done + 1, number - context), number))
        yield number, match.start()
        done = number
        for after in range(number + 1, min(number + context + 1, len(lines))):
            if pattern.search(lines[after]):
                break
            yield after, None
            done = after


NAMED = 5
"""Secrets files that the notice names."""


class GrepArguments(ToolArguments):
    """What ``grep`` takes."""

    pattern: str = Field(min_length=1, description="Regular expression, or text if literal")
    path: str | None = Field(None, description="File or directory; the workspace by default")
    glob: str | None = Field(None, description="Only files that fit, like *.py or src/**/*.ts")
    ignore_case: bool = Field(False, description="Ignore case")
    literal: bool = Field(False, description="Take pattern as plain text")
    context: WholeNumber = Field(0, ge=0, description="Lines shown before and after each match")
    limit: WholeNumber | None = Field(
        None, ge=1, description=f"The most matches to return; {GREP_MATCHES} by default"
    )


async def run(arguments: GrepArguments, context: ToolContext) -> ToolOutput:
    """Return the matching lines, ``FILE:LINE: TEXT``."""
    target, kind = await locate_existing(arguments.path or ".", context)
    if kind == "other":
        raise ToolError(f"Path is a device, socket or pipe: {target.display_path}")
    search = GrepSearch(arguments, target, kind == "file", context.workspace)
    await search.run()
    return search.result()


class GrepSearch:
    """One search: the unsaved texts first, then the disk, then what was left out."""

    def __init__(
        self, arguments: GrepArguments, target: FileTarget, single: bool, workspace: Workspace
    ) -> None:
        self._workspace = workspace
        self._target = target
        self._folder = os.path.dirname(target.path) if single else target.path
        self._name = os.path.basename(target.path) if single else ""
        self._below = "" if target.display_path == "." else target.display_path
        self._fits = matcher(arguments.glob or "*", self._below)
        self._found = MatchCollector(arguments.limit or GREP_MATCHES)
        self._secrets: list[str] = []
        self._unsaved: dict[str, bytes] = {}
        self._query = Query(
            arguments.pattern,
            arguments.ignore_case,
            arguments.literal,
            arguments.context,
            lambda path: path not in self._unsaved and self._wanted(path),
        )

    async def run(self) -> None:
        """Search."""
        unsaved = await self._unsaved_below()
        for name, text in sorted(unsaved.items()):
            await self._search_text(name, text)
        self._unsaved = unsaved
        searched = await ripgrep.search(
            self._query, self._folder, self._name, self._found, self._workspace
        )
        if not searched:
            await self._scan()
        elif not self._name:
            listed = await ripgrep.secrets(self._folder, self._workspace)
            self._secrets = [name for name in listed if self._fits(name) and self._secret(name)]

    async def _unsaved_below(self) -> dict[str, bytes]:
        """Return the unsaved texts that are searched instead of their files."""
        texts = await self._workspace.unsaved()
        prefix = self._folder.rstrip("/") + "/"
        below = {
            path[len(prefix) :]: text for path, text in texts.items() if path.startswith(prefix)
        }
        return {name: text for name, text in below.items() if self._wanted(name)}

    async def _search_text(self, name: str, text: bytes) -> None:
        searched = await ripgrep.search_text(
            self._query, self._folder, name, text, self._found, self._workspace
        )
        if not searched:
            await grep.scan_text(self._query, name, text, self._found)

    async def _scan(self) -> None:
        grep.compile_pattern(self._query)
        names = [self._name] if self._name else await list_files(self._folder, self._workspace)
        if not self._name:
            self._secrets = [name for name in names if self._secret(name) and self._fits(name)]
        wanted = [name for name in names if self._query.wanted(name)]
        # Where the workspace is far away, most of a search is waiting.
        for first in range(0, len(wanted), AT_ONCE):
            lot = wanted[first : first + AT_ONCE]
            texts = await asyncio.gather(*[self._text(name) for name in lot])
            for name, text in zip(lot, texts, strict=True):
                if not self._found.full:
                    await grep.scan_text(self._query, name, text, self._found)
            if self._found.full:
                return

    async def _text(self, name: str) -> bytes:
        """Return the text of a file that is searched; nothing of one that cannot be."""
        path = os.path.join(self._folder, name)
        try:
            if (await self._workspace.locate(path)).path != path:
                return b""
            return await self._workspace.read(path, grep.LARGEST + 1)
        except Unreachable:
            raise
        except (OSError, ToolError):
            return b""

    def _wanted(self, name: str) -> bool:
        if self._name:
            return name == self._name
        return self._fits(name) and not self._secret(name) and ".git" not in name.split("/")

    def _secret(self, name: str) -> bool:
        root = self._workspace.root.rstrip("/") + "/"
        return is_secret(os.path.join(self._folder, name).removeprefix(root).split("/"))

    def result(self) -> ToolOutput:
        """Return what the model reads."""
        lines = [format_line(line, self._shown(line.path)) for line in self._found.lines()]
        notices = []
        if self._found.full:
            notices.append(limit_reached(self._found.limit, "matches"))
        if any(cut for _, cut in lines):
            notices.append(
                f"[Some lines were cut to {GREP_LINE_CHARACTERS} characters; read shows them whole]"
            )
        if self._secrets:
            notices.append(skipped([self._shown(name) for name in self._secrets]))
        text = "\n".join(text for text, _ in lines) or "No matches found"
        return ToolOutput(with_notices(text, notices), details={"matches": self._found.matches})

    def _shown(self, name: str) -> str:
        if self._name:
            return self._target.display_path
        return os.path.join(self._below, name)


def skipped(names: list[str]) -> str:
    """Return the notice about secrets files that were not searched."""
    count = "1 secrets file" if len(names) == 1 else f"{len(names)} secrets files"
    named = ", ".join(escape_name(name) for name in names[:NAMED])
    more = ", ..." if len(names) > NAMED else ""
    return f"[Skipped {count}: {named}{more}. Name one as path to search it; that asks the user]"


def touches(arguments: GrepArguments) -> Access:
    """Return what a call reads."""
    return Access(reads=(arguments.path or ".",))


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``grep "def main" in src (*.py)``."""
    where = f" in {argument_text(given['path'])}" if given.get("path") else ""
    which = f" ({argument_text(given['glob'])})" if given.get("glob") else ""
    pattern = argument_text(given.get("pattern"))
    return f'grep "{pattern}"{where}{which}'


TOOL = Tool(
    name="grep",
    description=(
        "Search file contents with a regular expression (or plain text with literal). Returns "
        f"FILE:LINE: TEXT, at most {GREP_MATCHES} matches; hidden files included, ignored and "
        "binary files left out. Unsaved changes in the editor are included."
    ),
    arguments=PydanticArguments(GrepArguments),
    steps=(run,),
    metadata=Metadata(
        concurrency_safe=True,
        read_only=True,
        aliases=("grep_search",),
        search_hint="search text in files with a regular expression",
        permission_class="read",
        audit_operation="search",
    ),
    touches=touches,
    render_call=render_call,
    snippet="Search file contents for patterns",
)
