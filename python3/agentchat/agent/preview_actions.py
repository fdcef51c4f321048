"""Carries out the user's commands about previews: apply, discard, edit the proposed text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agentchat.agent.execution.previews import Previews
from agentchat.agent.jobs import BackgroundJobs, Job
from agentchat.agent.permissions.approvals import Approvals
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.text_file import has_surrogates, why_not_text
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.frozen import frozen
from agentchat.core.turn.effects import Action, ApprovalResponse, Choice
from agentchat.core.turn.hunk_decisions import (
    HunkDecision,
    ProposedText,
    apply_decisions,
    change_hash,
    kept_extent,
    left_out,
    rejection_reason,
    replace_proposed_texts,
)
from agentchat.core.turn.preview_stack import NO_REASON, Preview, PreviewStack, resolution_line
from agentchat.core.turn.view import Observer, View

log = logging.getLogger(__name__)

LEAVE_OUT = "Leave that file out with x, or discard the preview."
ALL_LEFT_OUT = "All of it is left out: take it in with x, or discard the preview."
NOTHING = "Nothing to resolve: no preview is pending in this chat."
NOT_PENDING = "This preview is no longer pending."
CHANGED = "{} changed: the preview is shown again, look at it first."
NOT_SHOWN = "There is a newer preview than the one you saw: look at it first."


@frozen
class ShownPreview:
    """The preview that the user saw; ``stamp`` is the hash of the change it showed."""

    preview: str
    stamp: str


@frozen
class ResolveCommand:
    """The user's command about the newest preview."""

    action: Action
    reason: str = ""
    hunks: tuple[HunkDecision, ...] = ()
    seen: ShownPreview | None = None


class PreviewActions:
    """Carries out the user's commands about the previews of one chat."""

    def __init__(
        self,
        stack: PreviewStack,
        *,
        approvals: Approvals,
        previews: Previews,
        view: View,
        background: BackgroundJobs,
        add_command: Callable[[Job], None],
        observer: Observer,
    ) -> None:
        self._stack = stack
        self._approvals = approvals
        self._previews = previews
        self._view = view
        self._background = background
        self._add_command = add_command
        self._observer = observer

    def resolve(self, command: ResolveCommand) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        pending = self._stack.newest()
        choice: Choice = "accept" if command.action == "apply" else "reject"
        response = ApprovalResponse(choice, command.reason, hunk_decisions=command.hunks)
        if pending is not None and self._approvals.answer_about(pending, response):
            return
        if len(self._stack) == 0 or pending is None:
            self._view.notify("warn", NOTHING)
        elif command.action == "apply" and not _is_shown(pending, command.seen):
            self._view.notify("warn", NOT_SHOWN)
        elif pending.outside_turns:
            work = partial(self._resolve, pending, command)
            self._add_command(Job("resolve", work, is_command=True))
        else:
            self._background.start(self._resolve(pending, command))

    def show_proposal(self, subject: str, path: str) -> None:
        """Show the proposed text of a file for the user to edit.

        Args:
            subject: the id of a preview or of the open approval request.
        """
        change = self._find_change(subject)
        files = change.files if change is not None else ()
        file = next((file for file in files if file.path == path), None)
        if file is None:
            self._view.notify("warn", NOT_PENDING)
        elif file.after is None:
            self._view.notify("warn", f"{file.name} would be deleted: there is no text to edit.")
        elif why_not_text(file.after) or has_surrogates(file.after.decode("utf-8", "replace")):
            self._view.notify("warn", f"{file.name} is not a text file: it cannot be edited here.")
        else:
            self._view.show_proposed_text(subject, file)

    def replace_proposal(self, preview: str, text: ProposedText) -> None:
        """Replace the proposed text of a file with the user's, and show the preview with it."""
        pending = self._find_preview(preview)
        change = pending.preview.change if pending is not None else None
        if pending is None or change is None or pending.make is None:
            self._view.notify("warn", NOT_PENDING)
            return
        fresh = replace(pending.preview, change=replace_proposed_texts(change, [text]))
        self._previews.replace(
            replace(pending, preview=fresh, original_change=pending.original_change or change)
        )

    def _find_preview(self, id: str) -> Preview | None:
        return next((preview for preview in self._stack if preview.id == id), None)

    def _find_change(self, subject: str) -> ChangeSet | None:
        request = self._approvals.request
        if request is not None and self._approvals.is_open(subject) and request.preview:
            return request.change
        pending = self._find_preview(subject)
        return pending.preview.change if pending is not None else None

    async def _resolve(self, pending: Preview, command: ResolveCommand) -> None:
        failed = resolution_line(pending.label, command.action, failed=True)
        if self._find_preview(pending.id) is None and not pending.is_standing:
            self._view.notify("warn", NOT_PENDING)
            return
        try:
            if command.action == "apply":
                await self._apply(pending, command)
            else:
                await self._discard(pending, command)
        except ToolError as error:
            self._view.add_note("error", f"{failed}\n{error}")
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            self._view.add_note("error", f"{failed}\n{error!r}. See the log.")

    async def _apply(self, pending: Preview, command: ResolveCommand) -> None:
        change = pending.preview.change
        unwanted = left_out(change, pending.preview, command.hunks)
        try:
            fresh = await self._previews.refresh(pending, unwanted)
        except StalePreview as stale:
            raise ToolError(f"{stale} {LEAVE_OUT}") from stale
        if fresh is not pending:
            self._view.notify("warn", CHANGED.format(_changed_files(pending, fresh)))
            return
        kept = apply_decisions(pending.preview, command.hunks, pending.original_change)
        if kept is None and not command.hunks and _leaves_out_files(change):
            raise ToolError(ALL_LEFT_OUT)
        if kept is None:
            await self._discard(pending, command)
        else:
            extent = kept_extent(pending.preview.change, kept.change)
            if pending.confirm is not None:
                await pending.confirm(kept)
            await self._finish(replace(pending, preview=kept), command, extent)

    async def _discard(self, pending: Preview, command: ResolveCommand) -> None:
        reason = rejection_reason(command.reason, pending.preview, command.hunks)
        await self._finish(pending, replace(command, action="discard", reason=reason))

    async def _finish(self, pending: Preview, command: ResolveCommand, kept: str = "") -> None:
        reason = command.reason or NO_REASON
        self._previews.record_command(pending, command.action, command.reason)
        result = await self._previews.resolve(pending, command.action, reason)
        line = resolution_line(pending.label, command.action, result.is_error, kept)
        given = f"Reason: {reason}" if command.reason else ""
        lines = [line, result.text if result.is_error else given]
        self._view.add_note("error" if result.is_error else "info", "\n".join(filter(None, lines)))
        note = f"The user ran :AgentResolve {command.action} on the preview {pending.label!r}."
        self._observer.add_note(f"{note} Reason: {reason}\n{result.text}")


def _leaves_out_files(change: ChangeSet | None) -> bool:
    """Whether files are left out that the user did not look at: an apply must not drop them."""
    return change is not None and any(file.left_out and not file.members for file in change.files)


def _is_shown(pending: Preview, seen: ShownPreview | None) -> bool:
    if seen is None:
        return True
    change = pending.preview.change
    return pending.id == seen.preview and seen.stamp in ("", change_hash(change) if change else "")


def _changed_files(before: Preview, after: Preview) -> str:
    """Return the names of the files that differ."""
    old = before.preview.change.files if before.preview.change else ()
    new = after.preview.change.files if after.preview.change else ()
    return ", ".join(a.name for a, b in zip(old, new, strict=True) if a != b)
