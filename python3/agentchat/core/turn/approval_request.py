"""Requesting the user's approval, and what the response means."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Protocol

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import Cancelled, StalePreview
from agentchat.core.permissions.grants import hides_characters
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse, Plan, RequestApproval, do
from agentchat.core.turn.hunk_decisions import (
    apply_decisions,
    rebase_change,
    rejection_reason,
    replace_proposed_texts,
)
from agentchat.core.turn.validate import validate

MOVED = "{} changed since it was shown: this is the change on top of what it is now."
EDIT_LOST = "The text you edited does not fit there any more and is left out."


class QueuedCall(Protocol):
    """A call of the reply that may still ask."""

    def would_ask(self) -> Plan[bool]:
        """Whether it would ask if it were judged now."""


class ApprovalQueue:
    """The calls of one reply that may still ask, for the ``2 of 5`` of a request.

    ``version`` counts what may have changed the answer to where a call acts and whether it may:
    a call that ran, a hook, the time in which the user was asked. What was found out about a call
    holds as long as the version is the same.
    """

    def __init__(self) -> None:
        self._ahead: list[QueuedCall] = []
        self._asked: set[str] = set()
        self.version = 0

    def add(self, call: QueuedCall) -> None:
        """Put a call at the end."""
        self._ahead.append(call)

    def reach(self, call: QueuedCall) -> None:
        """Note that it is this call's turn: it is no longer ahead."""
        self._ahead.remove(call)

    def changed(self) -> None:
        """Note that something happened, after which the other calls are judged again."""
        self.version += 1

    def number(self, call: ValidCall) -> Plan[tuple[int, int]]:
        """Return the number of this call's request and how many there are in all, from 1."""
        self._asked.add(call.call.id)
        number = total = len(self._asked)
        for other in self._ahead:
            total += yield from other.would_ask()
        return number, total


def request_approval(request: ApprovalRequest) -> Plan[ApprovalResponse]:
    """Ask the user; raises Cancelled if the user cancels, which ends the turn."""
    response = yield from do(RequestApproval(request))
    if response.choice == "cancel":
        raise Cancelled
    return response


# --- the request after a response ---------------------------------------------------------------


def with_replacements(request: ApprovalRequest, response: ApprovalResponse) -> ApprovalRequest:
    """Return the request with the user's text in place of the proposed one."""
    if request.change is None:
        return request
    change = replace_proposed_texts(request.change, response.replacements)
    return _with_change(request, change, request.original_change or request.change)


def with_kept_hunks(request: ApprovalRequest, response: ApprovalResponse) -> ApprovalRequest | None:
    """Return the request with only what the user keeps of its preview; ``None``: nothing."""
    if request.preview is None:
        return request
    preview = apply_decisions(request.preview, response.hunk_decisions, request.original_change)
    return None if preview is None else replace(request, preview=preview)


def rebased_request(request: ApprovalRequest, last: ApprovalRequest, path: str) -> ApprovalRequest:
    """Return the request as it is put again because ``path`` changed.

    The text that the user wrote for the last one is kept where it still fits.
    """
    request = replace(request, problem=MOVED.format(path))
    if request.change is None or last.change is None or last.original_change is None:
        return request
    now = {file.origin: file.before for file in request.change.files}
    try:
        moved = rebase_change(last.change, now)
    except StalePreview:
        return replace(request, problem=f"{request.problem} {EDIT_LOST}")
    return _with_change(request, moved, request.original_change or request.change)


def is_same_change(request: ApprovalRequest, last: ApprovalRequest) -> bool:
    """Whether a request shows the change that was shown before: asking again leads nowhere."""
    return request.change is not None and request.change == (last.original_change or last.change)


def _with_change(
    request: ApprovalRequest, change: ChangeSet, proposed: ChangeSet
) -> ApprovalRequest:
    preview = replace(request.preview or DryRunResult(), change=change)
    return replace(request, preview=preview, original_change=proposed)


def with_arguments(chat: Chat, call: ValidCall, response: ApprovalResponse) -> Plan[ValidCall]:
    """Return the call with the arguments that the user wrote; raises InvalidCall."""
    rewritten = replace(call.call, arguments=response.arguments or "")
    checked = yield from validate(rewritten, chat.toolset)
    return replace(checked, changed_by_user=True)


def result_heading(call: ValidCall) -> str:
    """Return the line before a call's result that tells the model of arguments the user changed."""
    if not call.changed_by_user:
        return ""
    return f"The user changed the arguments before running: {json.dumps(call.raw_arguments)}"


# --- yes and no ----------------------------------------------------------------------------------


def rejection_message(call: ValidCall, reason: str) -> str:
    """Return what the model is told of a rejected call."""
    text = f"User rejected the {call.tool.name} call."
    return f"{text} Reason: {reason}" if reason else text


def response_reason(request: ApprovalRequest, response: ApprovalResponse) -> str:
    """Return why the user said no, to all of it or hunk by hunk."""
    return rejection_reason(response.reason, request.preview, response.hunk_decisions)


def record_consent(chat: Chat, request: ApprovalRequest, response: ApprovalResponse) -> Decision:
    """Return the user's yes as a decision, remembered where the user said so."""
    scope = request.decision.scope
    # A read outside the workspace asks once per path, whichever yes it was.
    reads_once = request.call.tool.metadata.read_only and bool(request.target.unusual)
    always = response.choice == "always" and offers_always(request)
    if scope is not None and (always or reads_once):
        chat.policy.grants.remember(scope)
    return Decision(Verdict.ALLOW, Reason("user", response.choice), scope)


def offers_always(request: ApprovalRequest) -> bool:
    """Whether *always* is on offer: there is a scope, no rule asks, and nothing hides."""
    if request.decision.scope is None or request.decision.reason.kind == "rule":
        return False
    return not hides_characters(request.call)


def count_use(chat: Chat, decision: Decision) -> None:
    """Count a run under a remembered answer."""
    if decision.scope is not None and chat.policy.grants.covers(decision.scope):
        chat.policy.grants.use(decision.scope)
