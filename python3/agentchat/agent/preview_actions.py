"""What the user does with previews outside a call: apply, discard, edit the proposed text."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from agentchat.agent.execution.previews import Staging
from agentchat.agent.permissions.approvals import Prompts
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.hunk_decisions import (
    HunkDecision,
    Replacement,
    amended,
    stamp,
    taken,
    why_not,
)
from agentchat.core.diff.text_file import has_surrogates, why_not_text
from agentchat.core.turn.effects import Answer, Moved
from agentchat.core.turn.preview_stack import NO_REASON, Pending, PendingStore, resolution_line
from agentchat.core.turn.view import Screen

NOTHING = "Nothing to resolve: no preview is pending in this chat."
ANEW = "{} changed: the preview is shown anew, look again."
NOT_SHOWN = "There is a newer preview than the one you saw: look at it first."


@dataclass(frozen=True, slots=True)
class Seen:
    """Which preview the user saw, and the stamp of the change it showed."""

    preview: str
    stamp: str


@dataclass(frozen=True, slots=True)
class Order:
    """What the user would have done with the newest preview."""

    action: str
    reason: str = ""
    hunks: tuple[HunkDecision, ...] = ()
    seen: Seen | None = None


class Resolving:
    """Carries out the user's orders about the previews of one chat."""

    def __init__(
        self,
        store: PendingStore,
        *,
        prompts: Prompts,
        staging: Staging,
        screen: Screen,
        tell: Callable[[str], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._store = store
        self._prompts = prompts
        self._staging = staging
        self._screen = screen
        self._tell = tell
        self._spawn = spawn

    def resolve(self, order: Order) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        pending = self._store.newest()
        if pending is not None and self._prompts.asks_about(pending):
            choice = "accept" if order.action == "apply" else "reject"
            self._prompts.answer_open(Answer(choice, order.reason, hunks=order.hunks))
        elif len(self._store) == 0 or pending is None:
            self._screen.notify("warn", NOTHING)
        elif order.action == "apply" and not _is_shown(pending, order.seen):
            self._screen.notify("warn", NOT_SHOWN)
        elif order.action == "apply":
            self._spawn(self._apply(pending, order))
        else:
            why = why_not(order.reason, pending.preview, order.hunks)
            self._spawn(self._finish(pending, replace(order, reason=why)))

    def propose(self, subject: str, path: str) -> None:
        """Show the proposed text of a file for the user to edit.

        ``subject`` is the id of a preview or of the open question.
        """
        change = self._change(subject)
        file = next((one for one in change.files if one.path == path), None) if change else None
        if file is None:
            self._screen.notify("warn", "This is not shown any more.")
        elif file.after is None:
            self._screen.notify("warn", f"{file.name} would be deleted: there is no text to edit.")
        elif why_not_text(file.after) or has_surrogates(file.after.decode("utf-8", "replace")):
            self._screen.notify("warn", f"{file.name} is no text that can be edited here.")
        else:
            self._screen.propose(subject, file)

    def amend(self, preview: str, replaced: Replacement) -> None:
        """Put the user's text in place of the proposed one, and show the preview with it."""
        pending = next((one for one in self._store if one.id == preview), None)
        change = pending.preview.change if pending is not None else None
        if pending is None or change is None or pending.make is None:
            self._screen.notify("warn", "That preview is not pending any more.")
            return
        fresh = replace(pending.preview, change=amended(change, [replaced]))
        self._staging.replace(replace(pending, preview=fresh, proposed=pending.proposed or change))

    def _change(self, subject: str) -> ChangeSet | None:
        question = self._prompts.question
        if question is not None and self._prompts.is_open(subject) and question.preview:
            return question.preview.change
        pending = next((one for one in self._store if one.id == subject), None)
        return pending.preview.change if pending is not None else None

    async def _apply(self, pending: Pending, order: Order) -> None:
        fresh = await self._staging.refresh(pending)
        if isinstance(fresh, str):
            self._screen.note("error", f"{resolution_line(pending.label, 'apply', True)}\n{fresh}")
            return
        if fresh is not pending:
            self._screen.notify("warn", ANEW.format(_moved(pending, fresh)))
            return
        keep = taken(pending.preview, order.hunks, pending.proposed)
        if keep is None:
            why = why_not(order.reason, pending.preview, order.hunks)
            await self._finish(pending, replace(order, action="discard", reason=why))
        else:
            await self._finish(replace(pending, preview=keep), order)

    async def _finish(self, pending: Pending, order: Order) -> None:
        reason = order.reason or NO_REASON
        result = await self._staging.resolve(pending, order.action, reason)
        if isinstance(result, Moved):
            self._screen.note("error", result.message)
            return
        line = resolution_line(pending.label, order.action, result.is_error)
        self._screen.note("error" if result.is_error else "info", f"{line}\nReason: {reason}")
        did = f"The user ran :AgentResolve {order.action} on the preview {pending.label!r}."
        self._tell(f"{did} Reason: {reason}\n{result.text}")


def _is_shown(pending: Pending, seen: Seen | None) -> bool:
    if seen is None:
        return True
    change = pending.preview.change
    return pending.id == seen.preview and seen.stamp in ("", stamp(change) if change else "")


def _moved(before: Pending, after: Pending) -> str:
    """Return the names of the files that are not what they were."""
    old = before.preview.change.files if before.preview.change else ()
    new = after.preview.change.files if after.preview.change else ()
    return ", ".join(a.name for a, b in zip(old, new, strict=True) if a != b)
