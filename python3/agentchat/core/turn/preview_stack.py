"""The pending previews of a chat, newest first, and the standing handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields
from typing import Any

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.frozen import frozen
from agentchat.core.permissions.grants import Scope
from agentchat.core.tools.tool import DryRunResult, Extra, StagedPreview, ToolOutput
from agentchat.core.workspace import FileTarget

Confirm = Callable[[DryRunResult], Awaitable[None]]
"""Asks the user what applying needs beyond their command; raises ToolError if that is refused."""

NOTHING_PENDING = "No pending action to resolve. Nothing to apply or discard."
NO_REASON = "No reason provided"


@frozen
class Preview(StagedPreview):
    """A staged preview that waits to be applied or discarded.

    ``targets`` is what applying would write, ``scope`` what an *always* for it would cover.
    ``original_change`` is the change before the user edited its text, if they did.
    """

    id: str = ""
    targets: tuple[FileTarget, ...] = ()
    scope: Scope | None = None
    original_change: ChangeSet | None = None
    calls: tuple[str, ...] = ()
    """The ids of the calls that staged it."""
    has_effect: bool = True
    """Whether applying it may change anything; approving a plan does not."""
    in_overlay: bool = False
    """Whether it changes the overlay of the workspace instead of the workspace."""
    outside_turns: bool = False
    """Whether it can only be resolved while no turn runs: a turn works on top of it."""
    confirm: Confirm | None = None
    from_destructive: bool = False
    """Whether the tool that staged it is marked destructive."""

    @property
    def ordinary(self) -> bool:
        """Whether it writes only known files, all of them ordinary ones of the workspace."""
        return bool(self.targets) and all(target.ordinary for target in self.targets)

    @property
    def is_callback(self) -> bool:
        """Whether applying it runs a function of its tool: no file of it is known."""
        return self.make is None and not self.targets

    @property
    def shows_effect(self) -> bool:
        """Whether the user sees what applying it would do, beyond its label."""
        return self.preview.change is not None or bool(self.preview.text.strip())

    @property
    def destructive(self) -> bool:
        """Whether applying it deletes a file, or its tool is marked destructive."""
        files = self.preview.change.files if self.preview.change is not None else ()
        return self.from_destructive or any(file.letter == "D" for file in files)


def make_preview(
    staged: StagedPreview, id: str, targets: tuple[FileTarget, ...], *, in_overlay: bool = False
) -> Preview:
    """Return the preview of what a tool staged."""
    values = {field.name: getattr(staged, field.name) for field in fields(StagedPreview)}
    return Preview(**values, id=id, targets=targets, in_overlay=in_overlay)


class PreviewStack:
    """The previews of one chat, last in first out."""

    def __init__(self) -> None:
        self._stack: list[Preview] = []
        self.standing: Preview | None = None
        """The handler of the mode."""
        self.tool_handler: Preview | None = None
        """The standing handler that a tool has set."""

    def __len__(self) -> int:
        return len(self._stack)

    def __iter__(self) -> Iterator[Preview]:
        return reversed(self._stack)

    def push(self, preview: Preview) -> None:
        """Put a preview on top; raises ValueError if its id is pending already."""
        if any(preview.id == other.id for other in self._stack):
            raise ValueError(f"a preview with the id {preview.id} is pending already")
        self._stack.append(preview)

    @property
    def must_be_resolved(self) -> bool:
        """Whether the model must resolve one before it goes on."""
        return any(not preview.for_user for preview in self._stack)

    def newest(self) -> Preview | None:
        """Return what the user's command acts on: the newest preview, else a standing handler."""
        return self._stack[-1] if self._stack else self._standing

    def newest_for_model(self) -> Preview | None:
        """Return what ``resolve`` acts on: the newest that the model may resolve."""
        return next((preview for preview in self if not preview.for_user), self._standing)

    @property
    def _standing(self) -> Preview | None:
        if self.tool_handler is not None and self.tool_handler.is_gone():
            self.tool_handler = None
        return self.standing or self.tool_handler

    def replace(self, preview: Preview) -> None:
        """Replace the preview with the same id, if it is still pending."""
        self._stack = [preview if preview.id == other.id else other for other in self._stack]

    def remove(self, preview: Preview) -> None:
        """Remove a resolved preview; the standing handlers stay set."""
        self._stack = [other for other in self._stack if other.id != preview.id]


def resolution_details(
    preview: Preview, action: str, reason: str, extra: Extra, result: ToolOutput | None
) -> dict[str, Any]:
    """Return the details of a ``resolve`` result."""
    details: dict[str, Any] = {
        "action": action,
        "reason": reason,
        "sourceToolName": preview.source,
        "label": preview.label,
    }
    if extra is not None:
        details["extra"] = dict(extra)
    if preview.details is not None:
        details["details"] = preview.details
    if result is not None and result.details is not None:
        details["sourceResultDetails"] = result.details
    return details


def resolution_line(
    label: str, action: str, failed: bool, extent: str = "", cancelled: bool = False
) -> str:
    """Return the line of a resolution, like ``Accept: 2 replacements in 1 file [AST Edit]``.

    The text before the label's first ``": "`` is its badge; a label without one has none.
    ``extent`` says how much is applied, if that is not all of the preview.
    """
    done = {"apply": "Accept", "discard": "Discard"}[action]
    verb = "Cancelled" if cancelled else "Failed" if failed else done
    badge, separator, summary = label.partition(": ")
    summary = extent or summary
    return f"{verb}: {summary} [{badge}]" if separator else f"{verb}: {extent or label}"


def discard_message(preview: Preview, reason: str) -> str:
    """Return the message of a discard whose producer returns none."""
    return f"Discarded: {preview.label}. Reason: {reason}"
