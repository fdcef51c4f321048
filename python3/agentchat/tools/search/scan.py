"""Searching without ripgrep, file by file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

from agentchat.core.errors import ToolError
from agentchat.tools.search.matches import MatchCollector, MatchedLine
from agentchat.tools.search.rg_search import Query

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
