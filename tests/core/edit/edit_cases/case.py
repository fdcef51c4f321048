"""The shape of one case."""

from __future__ import annotations

from dataclasses import dataclass

from agentchat.core.edit.match import Edit


@dataclass(frozen=True)
class Case:
    """``gives`` is the whole text afterwards, ``refuses`` a part of the message instead."""

    name: str
    text: str
    edits: tuple[Edit, ...]
    gives: str | None = None
    refuses: str | None = None
    tolerantly: bool = False
    count: int | None = None


def exactly(name: str, text: str, *edits: tuple[str, str], gives: str) -> Case:
    """Edits that are made to the letter."""
    return Case(name, text, _edits(edits), gives)


def tolerantly(name: str, text: str, *edits: tuple[str, str], gives: str) -> Case:
    """Edits of which at least one place only fits."""
    return Case(name, text, _edits(edits), gives, tolerantly=True)


def everywhere(name: str, text: str, old: str, new: str, *, gives: str, count: int) -> Case:
    """One edit with ``replace_all``."""
    return Case(name, text, (Edit(old, new, replace_all=True),), gives, count=count)


def refused(name: str, text: str, *edits: tuple[str, str], says: str) -> Case:
    """Edits that cannot be made."""
    return Case(name, text, _edits(edits), refuses=says)


def _edits(pairs: tuple[tuple[str, str], ...]) -> tuple[Edit, ...]:
    return tuple(Edit(old, new) for old, new in pairs)
