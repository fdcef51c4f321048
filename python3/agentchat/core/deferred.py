"""Loading tools on demand: with many of them, the model finds the rest by searching."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentchat.core.limits import DEFERRED_THRESHOLD
from agentchat.core.tool import Tool

NAME, HINT, DESCRIPTION = 10, 5, 2
"""How much a word counts that is found in the name, the search hint, the description."""


def threshold(wanted: int) -> int:
    """Return how many tools a chat may have before some are deferred; 0 means the usual."""
    return wanted if wanted > 0 else DEFERRED_THRESHOLD


def deferred(
    given: Iterable[Tool], activated: Iterable[str], always: Iterable[str], limit: int
) -> tuple[Tool, ...]:
    """Return the tools that are not sent: none as long as there are at most ``limit``."""
    tools = tuple(given)
    if len(tools) <= limit:
        return ()
    kept = {*activated, *always}
    return tuple(
        tool for tool in tools
        if not tool.always_load and kept.isdisjoint({tool.name, *tool.metadata.aliases})
    )  # fmt: skip


def search(tools: Iterable[Tool], query: str) -> tuple[Tool, ...]:
    """Return the tools that a query's words are about, best first."""
    words = re.findall(r"\w+", query.lower())
    scored = [(_score(tool, words), tool) for tool in tools]
    found = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    return tuple(tool for _, tool in found)


def _score(tool: Tool, words: list[str]) -> int:
    weights = (
        (tool.name.lower(), NAME),
        (tool.metadata.search_hint.lower(), HINT),
        (tool.description.lower(), DESCRIPTION),
    )
    found = sum(weight for word in words for text, weight in weights if word in text)
    exact = len(words) > 0 and tool.name.lower() == "_".join(words)
    return found + 100 * exact
