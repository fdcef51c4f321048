"""``@name`` and ``@{name}`` in what the user typed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentchat.core.toolbox import Toolbox

MENTION = re.compile(r"(?<![\w@])@(?:\{(?P<braced>[\w.-]+)\}|(?P<bare>\w(?:[\w.-]*\w)?))")


@dataclass(frozen=True, slots=True)
class Mentioned:
    """What the model reads, and the tools and groups that were named."""

    text: str
    names: tuple[str, ...]


def read_mentions(text: str, toolbox: Toolbox) -> Mentioned:
    """Replace mentions of known tools and groups by words; unknown ones stay plain text."""
    names: list[str] = []

    def words(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        if not toolbox.mentionable(name):
            return match[0]
        names.append(name)
        group = toolbox.group(name)
        if group is None:
            return f"the {name} tool"
        return group.prompt or f"the {name} tools"

    return Mentioned(MENTION.sub(words, text), tuple(dict.fromkeys(names)))
