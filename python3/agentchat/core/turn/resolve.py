"""What is special about a ``resolve`` call: it applies or discards the newest staged preview."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.messages import Reply, Status, ToolResult
from agentchat.core.permissions.policy import (
    EFFECT,
    NOBODY,
    Decision,
    Policy,
    Reason,
    Verdict,
    mode_allows,
)
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.approval_request import ApprovalQueue, rejection_message
from agentchat.core.turn.call import CallAttempt
from agentchat.core.turn.chat import RESOLVE, Chat
from agentchat.core.turn.effects import (
    Action,
    ApprovalRequest,
    Plan,
    RefreshPreview,
    ResolvePreview,
    do,
)
from agentchat.core.turn.hunk_decisions import kept_extent
from agentchat.core.turn.preview_stack import NO_REASON, NOTHING_PENDING, Preview


def make_attempt(chat: Chat, call: ValidCall, queue: ApprovalQueue) -> CallAttempt:
    """Return the attempt at a call."""
    kind = ResolveAttempt if call.tool.name == RESOLVE else CallAttempt
    return kind(chat, call, queue)


class ResolveAttempt(CallAttempt):
    """A call whose target is the newest preview; *cancel* in the question leaves it pending."""

    def locate(self) -> Plan[CallTarget]:
        """Return what applying would write; raises ToolError if nothing is pending."""
        yield from ()
        here = self.chat.environment
        return CallTarget(here.cwd, writes=self._pending().targets, host=here.host)

    def decide(self, target: CallTarget) -> Decision:
        """Return whether resolving this way needs the user."""
        return decide_resolution(self.chat.policy, self._pending(), self._action)

    def run_unasked(self, target: CallTarget, decision: Decision) -> Plan[ToolResult]:
        """Apply or discard the preview without a question."""
        self.decision = decision
        pending = yield from self._refreshed()
        return (yield from self._resolve(pending, self._action, self.call.arguments.reason))

    def request(self, target: CallTarget, decision: Decision) -> Plan[ApprovalRequest]:
        """Return the question whether to apply the preview as its files are now."""
        pending = yield from self._refreshed()
        return ApprovalRequest(
            self.call,
            target,
            decision,
            preview=pending.preview,
            staged_preview=pending,
            original_change=pending.original_change,
        )

    def run_approved(self, request: ApprovalRequest, decision: Decision) -> Plan[ToolResult]:
        """Apply what the user saw and kept of the preview."""
        self.decision = decision
        whole = (
            request.staged_preview.preview.change if request.staged_preview is not None else None
        )
        kept = kept_extent(whole, request.change)
        reason = self.call.arguments.reason
        return (yield from self._resolve(_as_shown(request), self._action, reason, kept))

    def reject(self, request: ApprovalRequest, why: str) -> Plan[ToolResult]:
        """Discard the preview that the user rejected."""
        result = yield from self._resolve(_as_shown(request), "discard", why or NO_REASON)
        text = f"{rejection_message(self.call, why)}\n{result.text}"
        return replace(result, text=text, status=Status.REJECTED)

    @property
    def _action(self) -> Action:
        action: Action = self.call.arguments.action
        return action

    def _pending(self) -> Preview:
        pending = self.chat.previews.newest()
        if pending is None:
            raise ToolError(NOTHING_PENDING)
        return self._submitted(pending) if pending.is_standing else pending

    def _submitted(self, standing: Preview) -> Preview:
        """Return what is submitted to a mode's handler: what the model wrote, under its title."""
        given: Any = self.call.arguments
        title = " ".join(str((given.extra or {}).get("title") or "").split())
        replies = [m for m in self.chat.history.messages if isinstance(m, Reply)]
        text = replies[-1].text.strip() if replies else ""
        label = f"{standing.label}: {title}" if title else standing.label
        return replace(standing, label=label, preview=DryRunResult(text=text or given.reason))

    def _refreshed(self) -> Plan[Preview]:
        """Return the preview rebased on what its files are now; raises ToolError."""
        pending = self._pending()
        if self._action == "apply" and pending.make is not None:
            return (yield from do(RefreshPreview(pending)))
        return pending

    def _resolve(
        self, pending: Preview, action: Action, reason: str, kept: str = ""
    ) -> Plan[ToolResult]:
        extra = self.call.arguments.extra
        return (yield from do(ResolvePreview(self.call.call, pending, action, reason, extra, kept)))


def _as_shown(request: ApprovalRequest) -> Preview:
    """Return the preview of a request with the user's text and hunks."""
    assert request.staged_preview is not None
    return replace(
        request.staged_preview, preview=request.preview or request.staged_preview.preview
    )


def decide_resolution(policy: Policy, pending: Preview, action: Action) -> Decision:
    """Return whether resolving this way needs the user: discarding never does."""
    scope = pending.scope
    if action == "discard":
        return Decision(Verdict.ALLOW, Reason("discard"), scope)
    # Nothing but reading runs while there is only a plan: every effect needs a yes of its own.
    sure = not policy.problems and policy.mode != "plan"
    if sure and policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, Reason("grant"), scope)
    free = pending.ordinary and mode_allows(
        policy.mode, editing=True, destructive=pending.destructive
    )
    if sure and free:
        return Decision(Verdict.ALLOW, Reason("mode", policy.mode), scope)
    if not policy.attended:
        return Decision(Verdict.DENY, Reason("unattended", str(EFFECT)), scope, NOBODY)
    return Decision(Verdict.ASK, EFFECT, scope)
