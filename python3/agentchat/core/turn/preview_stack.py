"""Previews waiting to be applied or discarded: newest first, and a mode's standing handler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.permissions.grants import Scope
from agentchat.core.tools.ports import FileTarget
from agentchat.core.tools.tool import Extra, StagedChange, ToolOutput

NOTHING_PENDING = "No pending action to resolve. Nothing to apply or discard."
NO_REASON = "No reason provided"


@dataclass(frozen=True, slots=True)
class Preview(StagedChange):
    """A staged preview that waits to be resolved.

    ``targets`` is what applying would write, ``scope`` what an *always* for it would cover.
    ``original_change`` is the change before the user edited its text, if they did.
    """

    id: str = ""
    targets: tuple[FileTarget, ...] = ()
    scope: Scope | None = None
    original_change: ChangeSet | None = None
    is_standing: bool = False
    """Whether it is a mode's own, resolved again and again, and no preview of a change."""

    @property
    def ordinary(self) -> bool:
        """Whether it writes known files only, all ordinary ones of the workspace."""
        return bool(self.targets) and all(target.ordinary for target in self.targets)

    @property
    def destructive(self) -> bool:
        """Whether applying it deletes a file."""
        files = self.preview.change.files if self.preview.change is not None else ()
        return any(file.letter == "D" for file in files)


def make_preview(
    staged: StagedChange, id: str, targets: tuple[FileTarget, ...], scope: Scope | None
) -> Preview:
    """Return what a tool staged with what the runtime found out about it."""
    given = {one.name: getattr(staged, one.name) for one in fields(StagedChange)}
    return Preview(**given, id=id, targets=targets, scope=scope)


class PreviewStack:
    """The previews of one chat, last in first out."""

    def __init__(self) -> None:
        self._stack: list[Preview] = []
        self.standing: Preview | None = None

    def __len__(self) -> int:
        return len(self._stack)

    def __iter__(self) -> Iterator[Preview]:
        return reversed(self._stack)

    def push(self, pending: Preview) -> None:
        """Put a preview on top; refuses an id that is there already."""
        if any(pending.id == other.id for other in self._stack):
            raise ValueError(f"a preview with the id {pending.id} is pending already")
        self._stack.append(pending)

    def newest(self) -> Preview | None:
        """Return what ``resolve`` would act on: the newest preview, else the standing handler."""
        return self._stack[-1] if self._stack else self.standing

    def replace(self, pending: Preview) -> None:
        """Put a preview in the place of the one with its id; one that is gone stays gone."""
        self._stack = [pending if pending.id == other.id else other for other in self._stack]

    def remove(self, pending: Preview) -> None:
        """Take a resolved preview out; the standing handler stays set."""
        self._stack = [other for other in self._stack if other.id != pending.id]


def resolution_details(
    pending: Preview, action: str, reason: str, extra: Extra, result: ToolOutput | None
) -> dict[str, Any]:
    """Return the details of a ``resolve`` result."""
    details: dict[str, Any] = {
        "action": action,
        "reason": reason,
        "sourceToolName": pending.source,
        "label": pending.label,
    }
    if extra is not None:
        details["extra"] = dict(extra)
    if result is not None and result.details is not None:
        details["sourceResultDetails"] = result.details
    return details


def resolution_line(label: str, action: str, failed: bool, kept: str = "") -> str:
    """Return how a resolution is shown: ``Accept: 2 replacements in 1 file [AST Edit]``.

    What stands before the label's first ``": "`` is its badge; a label without one has none.
    ``kept`` says how much is applied, where that is not all of the preview.
    """
    verb = "Failed" if failed else {"apply": "Accept", "discard": "Discard"}[action]
    badge, separator, summary = label.partition(": ")
    summary = kept or summary
    return f"{verb}: {summary} [{badge}]" if separator else f"{verb}: {kept or label}"


def discard_message(pending: Preview, reason: str) -> str:
    """Return what is said of a discard whose producer says nothing."""
    return f"Discarded: {pending.label}. Reason: {reason}"
