"""What the user does with previews outside a call: apply, discard, edit the proposed text."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from agentchat.agent.execution.previews import Previews
from agentchat.agent.permissions.approvals import Approvals
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.text_file import has_surrogates, why_not_text
from agentchat.core.errors import ToolError
from agentchat.core.turn.effects import Action, ApprovalResponse, Choice
from agentchat.core.turn.hunk_decisions import (
    HunkDecision,
    ProposedText,
    apply_decisions,
    change_hash,
    kept_extent,
    rejection_reason,
    replace_proposed_texts,
)
from agentchat.core.turn.preview_stack import NO_REASON, Preview, PreviewStack, resolution_line
from agentchat.core.turn.view import View

log = logging.getLogger(__name__)

NOTHING = "Nothing to resolve: no preview is pending in this chat."
CHANGED = "{} changed: the preview is shown again, look at it first."
NOT_SHOWN = "There is a newer preview than the one you saw: look at it first."


@dataclass(frozen=True, slots=True)
class ShownPreview:
    """Which preview the user saw, and the stamp of the change it showed."""

    preview: str
    stamp: str


@dataclass(frozen=True, slots=True)
class ResolveCommand:
    """What the user wants done with the newest preview."""

    action: Action
    reason: str = ""
    hunks: tuple[HunkDecision, ...] = ()
    seen: ShownPreview | None = None


class PreviewActions:
    """Carries out the user's commands about the previews of one chat."""

    def __init__(
        self,
        store: PreviewStack,
        *,
        approvals: Approvals,
        previews: Previews,
        view: View,
        tell: Callable[[str], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._previews = previews
        self._view = view
        self._tell = tell
        self._spawn = spawn

    def resolve(self, command: ResolveCommand) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        pending = self._store.newest()
        if pending is not None and self._approvals.asks_about(pending):
            choice: Choice = "accept" if command.action == "apply" else "reject"
            response = ApprovalResponse(choice, command.reason, hunk_decisions=command.hunks)
            self._approvals.answer_open(response)
        elif len(self._store) == 0 or pending is None:
            self._view.notify("warn", NOTHING)
        elif command.action == "apply" and not _is_shown(pending, command.seen):
            self._view.notify("warn", NOT_SHOWN)
        elif command.action == "apply":
            self._spawn(self._report(pending, command, self._apply(pending, command)))
        else:
            self._spawn(self._report(pending, command, self._discard(pending, command)))

    def propose(self, subject: str, path: str) -> None:
        """Show the proposed text of a file for the user to edit.

        ``subject`` is the id of a preview or of the open question.
        """
        change = self._change(subject)
        file = next((one for one in change.files if one.path == path), None) if change else None
        if file is None:
            self._view.notify("warn", "This preview is no longer pending.")
        elif file.after is None:
            self._view.notify("warn", f"{file.name} would be deleted: there is no text to edit.")
        elif why_not_text(file.after) or has_surrogates(file.after.decode("utf-8", "replace")):
            self._view.notify("warn", f"{file.name} is no text that can be edited here.")
        else:
            self._view.show_proposed_text(subject, file)

    def amend(self, preview: str, replaced: ProposedText) -> None:
        """Put the user's text in place of the proposed one, and show the preview with it."""
        pending = next((one for one in self._store if one.id == preview), None)
        change = pending.preview.change if pending is not None else None
        if pending is None or change is None or pending.make is None:
            self._view.notify("warn", "This preview is no longer pending.")
            return
        fresh = replace(pending.preview, change=replace_proposed_texts(change, [replaced]))
        self._previews.replace(
            replace(pending, preview=fresh, original_change=pending.original_change or change)
        )

    def _change(self, subject: str) -> ChangeSet | None:
        request = self._approvals.request
        if request is not None and self._approvals.is_open(subject) and request.preview:
            return request.change
        pending = next((one for one in self._store if one.id == subject), None)
        return pending.preview.change if pending is not None else None

    async def _report(
        self, pending: Preview, command: ResolveCommand, work: Coroutine[Any, Any, None]
    ) -> None:
        """Do the work, and show what goes wrong with it."""
        failed = resolution_line(pending.label, command.action, failed=True)
        try:
            await work
        except ToolError as error:
            self._view.add_note("error", f"{failed}\n{error}")
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            self._view.add_note("error", f"{failed}\n{error!r}. See the log.")

    async def _apply(self, pending: Preview, command: ResolveCommand) -> None:
        fresh = await self._previews.refresh(pending)
        if fresh is not pending:
            self._view.notify("warn", CHANGED.format(_changed_files(pending, fresh)))
            return
        kept = apply_decisions(pending.preview, command.hunks, pending.original_change)
        if kept is None:
            await self._discard(pending, command)
        else:
            extent = kept_extent(pending.preview.change, kept.change)
            await self._finish(replace(pending, preview=kept), command, extent)

    async def _discard(self, pending: Preview, command: ResolveCommand) -> None:
        why = rejection_reason(command.reason, pending.preview, command.hunks)
        await self._finish(pending, replace(command, action="discard", reason=why))

    async def _finish(self, pending: Preview, command: ResolveCommand, kept: str = "") -> None:
        reason = command.reason or NO_REASON
        result = await self._previews.resolve(pending, command.action, reason)
        line = resolution_line(pending.label, command.action, result.is_error, kept)
        self._view.add_note("error" if result.is_error else "info", f"{line}\nReason: {reason}")
        did = f"The user ran :AgentResolve {command.action} on the preview {pending.label!r}."
        self._tell(f"{did} Reason: {reason}\n{result.text}")


def _is_shown(pending: Preview, seen: ShownPreview | None) -> bool:
    if seen is None:
        return True
    change = pending.preview.change
    return pending.id == seen.preview and seen.stamp in ("", change_hash(change) if change else "")


def _changed_files(before: Preview, after: Preview) -> str:
    """Return the names of the files that are not what they were."""
    old = before.preview.change.files if before.preview.change else ()
    new = after.preview.change.files if after.preview.change else ()
    return ", ".join(a.name for a, b in zip(old, new, strict=True) if a != b)
