"""Search the text of files, with ripgrep where there is one, unsaved buffers included."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.frozen import frozen
from agentchat.core.globs import matcher
from agentchat.core.limits import GREP_LINE_CHARACTERS, GREP_MATCHES
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.text import escape_line
from agentchat.core.tools.call import asks_to_read
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import FileTarget
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import locate_existing, reads_path
from agentchat.tools.format import (
    add_notices,
    argument_text,
    limit_notice,
    truncation_details,
)
from agentchat.tools.search import ripgrep
from agentchat.tools.search.ripgrep import MatchCollector, MatchedLine, Query, format_line
from agentchat.tools.search.walk import PARALLEL, list_files

LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a file that is searched."""


def compile_pattern(query: Query) -> re.Pattern[str]:
    """Return the pattern; raises ToolError."""
    text = re.escape(query.pattern) if query.literal else query.pattern
    try:
        return re.compile(text, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"Invalid pattern: {error}.\nSet literal for plain text.") from error


async def scan_text(query: Query, name: str, text: bytes, collector: MatchCollector) -> None:
    """Search the text of one file, unless it is binary or very large."""
    pattern = compile_pattern(query)
    if len(text) > LARGEST_FILE or b"\0" in text[:8192]:
        return
    for line in await asyncio.to_thread(_matching_lines, pattern, query.context, name, text):
        collector.add(line)


def _matching_lines(
    pattern: re.Pattern[str], context: int, name: str, data: bytes
) -> list[MatchedLine]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    return [
        MatchedLine(name, number + 1, lines[number], start)
        for number, start in _search_lines(pattern, context, lines)
    ]


def _search_lines(
    pattern: re.Pattern[str], context: int, lines: list[str]
) -> Iterator[tuple[int, int | None]]:
    """Yield the 0-based number of each match and line of context, and where the match starts."""
    last = -1
    for number, line in enumerate(lines):
        match = pattern.search(line)
        if match is None:
            continue
        yield from ((n, None) for n in range(max(last + 1, number - context), number))
        yield number, match.start()
        last = number
        for after in range(number + 1, min(number + context + 1, len(lines))):
            if pattern.search(lines[after]):
                break
            yield after, None
            last = after


RESTRICTED = "[Files that a rule of the user is about were skipped]"
NAMED = 5
"""Secrets files that the notice names."""


@frozen
class GrepArguments(ToolArguments):
    """What ``grep`` takes."""

    pattern: Annotated[str, "Regular expression, or text if literal", {"minLength": 1}]
    path: Annotated[str | None, "File or directory; the workspace by default"] = None
    glob: Annotated[str | None, "Only files that match, like *.py or src/**/*.ts"] = None
    ignore_case: Annotated[bool, "Ignore case"] = False
    literal: Annotated[bool, "Take pattern as plain text"] = False
    context: Annotated[int, "Lines shown before and after each match", {"minimum": 0}] = 0
    limit: Annotated[
        int | None, f"The most matches to return; {GREP_MATCHES} by default", {"minimum": 1}
    ] = None


async def run(arguments: GrepArguments, context: ToolContext) -> ToolOutput:
    """Return the matching lines, ``FILE:LINE: TEXT``."""
    target, kind = await locate_existing(arguments.path or ".", context)
    if kind == "other":
        raise ToolError(f"Path is a device, socket or pipe: {target.display_path}")
    search = GrepSearch(arguments, target, kind == "file", context)
    await search.run()
    return search.result()


class GrepSearch:
    """One search: unsaved texts first, then the disk, then the list of skipped secrets files."""

    def __init__(
        self, arguments: GrepArguments, target: FileTarget, is_file: bool, context: ToolContext
    ) -> None:
        self._workspace = context.workspace
        self._is_restricted = context.is_restricted
        self._target = target
        self._folder = os.path.dirname(target.path) if is_file else target.path
        self._name = os.path.basename(target.path) if is_file else ""
        self._prefix = "" if target.display_path == "." else target.display_path
        self._matches_glob = matcher(arguments.glob or "*", self._prefix)
        self._collector = MatchCollector(arguments.limit or GREP_MATCHES)
        self._secrets: list[str] = []
        self._lines: list[MatchedLine] = []
        self._restricted = 0
        self._unsaved: dict[str, bytes] = {}
        self._query = Query(
            pattern=arguments.pattern,
            ignore_case=arguments.ignore_case,
            literal=arguments.literal,
            context=arguments.context,
            is_searched=lambda path: path not in self._unsaved and self._is_searched(path),
        )

    async def run(self) -> None:
        """Search."""
        unsaved = await self._unsaved_below()
        for name, text in sorted(unsaved.items()):
            await self._search_text(name, text)
        self._unsaved = unsaved
        searched = await ripgrep.search(
            self._query, self._folder, self._name, self._collector, self._workspace
        )
        if not searched:
            await self._scan()
        elif not self._name:
            listed = await ripgrep.list_secrets(self._folder, self._workspace)
            self._note_secrets(listed)
        self._lines = self._collector.lines()
        if not self._name:
            await self._leave_out_asking()

    async def _leave_out_asking(self) -> None:
        """Leave out files that ask when they are read, like a second hard link to a secret."""
        names = list(dict.fromkeys(line.path for line in self._lines))
        paths = (os.path.join(self._folder, name) for name in names)
        targets = await asyncio.gather(*map(self._workspace.locate, paths))
        asking = {n for n, target in zip(names, targets, strict=True) if asks_to_read(target)}
        self._lines = [line for line in self._lines if line.path not in asking]
        self._secrets += sorted(asking - {*self._secrets})

    def _note_secrets(self, names: list[str]) -> None:
        self._secrets = [n for n in names if self._is_secret(n) and self._matches_glob(n)]

    async def _unsaved_below(self) -> dict[str, bytes]:
        """Return the unsaved texts by name; they are searched instead of their files."""
        texts = await self._workspace.unsaved()
        prefix = self._folder.rstrip("/") + "/"
        below = {
            path[len(prefix) :]: text for path, text in texts.items() if path.startswith(prefix)
        }
        return {name: text for name, text in below.items() if self._is_searched(name)}

    async def _search_text(self, name: str, text: bytes) -> None:
        searched = await ripgrep.search_text(
            self._query, self._folder, name, text, self._collector, self._workspace
        )
        if not searched:
            await scan_text(self._query, name, text, self._collector)

    async def _scan(self) -> None:
        compile_pattern(self._query)
        names = [self._name] if self._name else await list_files(self._folder, self._workspace)
        if not self._name:
            self._note_secrets(names)
        searched = [name for name in names if self._query.is_searched(name)]
        # In a remote workspace, most of a search is waiting.
        for first in range(0, len(searched), PARALLEL):
            batch = searched[first : first + PARALLEL]
            texts = await asyncio.gather(*[self._text(name) for name in batch])
            for name, text in zip(batch, texts, strict=True):
                if not self._collector.full:
                    await scan_text(self._query, name, text, self._collector)
            if self._collector.full:
                return

    async def _text(self, name: str) -> bytes:
        """Return the text of a file, or an empty one if it cannot be searched."""
        path = os.path.join(self._folder, name)
        try:
            if (await self._workspace.locate(path)).path != path:
                return b""
            return await self._workspace.read(path, LARGEST_FILE + 1)
        except Unreachable:
            raise
        except (OSError, ToolError):
            return b""

    def _is_searched(self, name: str) -> bool:
        if self._name:
            return name == self._name
        is_plain = not self._is_secret(name) and ".git" not in name.split("/")
        if not is_plain or not self._matches_glob(name):
            return False
        is_restricted = self._is_restricted(self._display_path(name))
        self._restricted += is_restricted
        return not is_restricted

    def _is_secret(self, name: str) -> bool:
        root = self._workspace.root.rstrip("/") + "/"
        return is_secret(os.path.join(self._folder, name).removeprefix(root).split("/"))

    def result(self) -> ToolOutput:
        """Return what the model reads."""
        lines = [format_line(line, self._display_path(line.path)) for line in self._lines]
        notices = []
        if self._collector.full:
            notices.append(limit_notice(self._collector.limit, "matches"))
        if any(cut for _, cut in lines):
            notices.append(
                f"[Some lines were cut to {GREP_LINE_CHARACTERS} characters; read shows them whole]"
            )
        if self._secrets:
            notices.append(skipped_notice([self._display_path(name) for name in self._secrets]))
        if self._restricted:
            notices.append(RESTRICTED)
        text = "\n".join(text for text, _ in lines) or "No matches found"
        details: dict[str, Any] = {"matches": sum(line.start is not None for line in self._lines)}
        if self._collector.full:
            details |= truncation_details("matches", text, limit=self._collector.limit)
        cut = sum(cut for _, cut in lines)
        if cut:
            details["lines_cut"] = cut
        return ToolOutput(add_notices(text, notices), details=details)

    def _display_path(self, name: str) -> str:
        if self._name:
            return self._target.display_path
        return os.path.join(self._prefix, name)


def skipped_notice(names: list[str]) -> str:
    """Return the notice about secrets files that were not searched."""
    count = "1 secrets file" if len(names) == 1 else f"{len(names)} secrets files"
    named = ", ".join(escape_line(name) for name in names[:NAMED])
    more = ", ..." if len(names) > NAMED else ""
    return f"[Skipped {count}: {named}{more}. Name one as path to search it; that asks the user]"


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
    arguments=ValueArguments(GrepArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        concurrency_safe=True,
        read_only=True,
        aliases=("grep_search",),
        search_hint="search text in files with a regular expression",
        permission_class="read",
        audit_operation="search",
    ),
    touches=reads_path,
    render_call=render_call,
    snippet="Search file contents for patterns",
)
