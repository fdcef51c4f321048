"""What the planner reads in the results of tools."""

from __future__ import annotations

import re

from agentchat.core.messages import Status, ToolResult
from agentchat.models.offline.acts import Outcome

_CAPPED = re.compile(r"^\[\d+ \w+ limit reached", re.M)
_NONE = ("No files found matching", "(empty directory)")

SHOWN = 10
"""How many names or lines a summary repeats."""


def refused(result: ToolResult, what: str) -> Outcome | None:
    """Return the end of a wish whose call the user, a rule or the mode did not let run."""
    if result.status is Status.REJECTED:
        reason = result.text.partition("Reason:")[2].partition("\nDiscarded:")[0].strip()
        said = f": {reason.rstrip('.')}" if reason else " without a reason"
        return Outcome(
            f"You rejected {what}{said}. I stopped there and do not try it again.", False
        )
    if result.status in (Status.DENIED, Status.CANCELLED):
        return Outcome(f"I did not get to {what}: {result.text}", False)
    return None


def failed(result: ToolResult, what: str) -> Outcome:
    """Return the end of a wish whose call failed."""
    return refused(result, what) or Outcome(f"{sentence(what)} failed: {result.text}", False)


def is_staged(text: str) -> bool:
    """Whether a result says that a preview waits."""
    return text.startswith("Staged as a preview")


def listed(text: str) -> list[str]:
    """Return the names of a listing, without what stands for none and without notices."""
    lines = [line for line in text.splitlines() if line.strip() and not _CAPPED.match(line)]
    return [] if lines and lines[0].startswith(_NONE) else lines


def matches(text: str) -> list[tuple[str, int]]:
    """Return file and line of each match that ``grep`` printed."""
    found = (re.match(r"(.+?):(\d+): ?", line) for line in text.splitlines())
    return [(match[1], int(match[2])) for match in found if match]


def at_least(text: str) -> str:
    """Return ``at least `` if a result was capped."""
    return "At least " if _CAPPED.search(text) else ""


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def first_line(text: str) -> str:
    """Return the first line of a result."""
    return text.strip().partition("\n")[0]


def sentence(text: str) -> str:
    """Return text with its first letter large."""
    return text[:1].upper() + text[1:]
