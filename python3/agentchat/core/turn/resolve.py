"""A ``resolve`` call: it applies or discards the newest staged preview."""

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
from agentchat.core.permissions.rules import restricting_rule
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.approval_request import rejection_message
from agentchat.core.turn.call import ApprovalQueue, CallAttempt
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
    """Return the attempt at a call, of the kind that its tool needs."""
    kind = ResolveAttempt if call.tool.name == RESOLVE else CallAttempt
    return kind(chat, call, queue)


class ResolveAttempt(CallAttempt):
    """A call whose target is the newest preview; *cancel* leaves that pending."""

    def locate(self) -> Plan[CallTarget]:
        """Return what applying would write; raises ToolError if nothing is pending."""
        yield from ()
        environment = self.chat.environment
        return CallTarget(environment.cwd, writes=self._preview().targets, host=environment.host)

    def decide(self, target: CallTarget) -> Decision:
        """Return whether resolving this way needs the user's approval."""
        return decide_resolution(self.chat.policy, self._preview(), self._action)

    def run_unasked(self, target: CallTarget, decision: Decision) -> Plan[ToolResult]:
        """Apply or discard the preview without a question."""
        self.decision = decision
        preview = yield from self._refresh()
        return (yield from self._resolve(preview, self._action, self.call.arguments.reason))

    def request(self, target: CallTarget, decision: Decision) -> Plan[ApprovalRequest]:
        """Return the request to apply the preview on top of what its files are now."""
        staged = yield from self._refresh()
        return ApprovalRequest(
            self.call,
            target,
            decision,
            preview=staged.preview,
            staged_preview=staged,
            original_change=staged.original_change,
        )

    def run_approved(self, request: ApprovalRequest, decision: Decision) -> Plan[ToolResult]:
        """Apply what the user approved of the preview."""
        self.decision = decision
        whole = (
            request.staged_preview.preview.change if request.staged_preview is not None else None
        )
        extent = kept_extent(whole, request.change)
        reason = self.call.arguments.reason
        return (yield from self._resolve(_shown_preview(request), self._action, reason, extent))

    def reject(self, request: ApprovalRequest, reason: str) -> Plan[ToolResult]:
        """Discard the preview that the user rejected."""
        result = yield from self._resolve(_shown_preview(request), "discard", reason or NO_REASON)
        text = f"{rejection_message(self.call, reason)}\n{result.text}"
        return replace(result, text=text, display_text=None, status=Status.REJECTED)

    @property
    def _action(self) -> Action:
        action: Action = self.call.arguments.action
        return action

    def _preview(self) -> Preview:
        preview = self.chat.previews.newest_for_model()
        if preview is None:
            raise ToolError(NOTHING_PENDING)
        return self._submission(preview) if preview.is_standing else preview

    def _submission(self, standing: Preview) -> Preview:
        """Return what goes to a standing handler: the text of the model's reply, with its title."""
        arguments: Any = self.call.arguments
        title = " ".join(str((arguments.extra or {}).get("title") or "").split())
        replies = [m for m in self.chat.history.messages if isinstance(m, Reply)]
        text = replies[-1].text.strip() if replies else ""
        label = f"{standing.label}: {title}" if title else standing.label
        parts = (standing.preview.text, text or arguments.reason)
        preview = DryRunResult(text="\n\n".join(filter(None, parts)))
        return replace(standing, label=label, preview=preview)

    def _refresh(self) -> Plan[Preview]:
        """Return the preview rebased on what its files are now; raises ToolError."""
        preview = self._preview()
        if self._action == "apply" and preview.make is not None:
            return (yield from do(RefreshPreview(preview)))
        return preview

    def _resolve(
        self, preview: Preview, action: Action, reason: str, extent: str = ""
    ) -> Plan[ToolResult]:
        effect = ResolvePreview(
            call=self.call.call,
            preview=preview,
            action=action,
            reason=reason,
            extra=self.call.arguments.extra,
            extent=extent,
        )
        return (yield from do(effect))


def _shown_preview(request: ApprovalRequest) -> Preview:
    """Return the preview of a request, with the user's text and only the hunks they keep."""
    assert request.staged_preview is not None
    return replace(
        request.staged_preview, preview=request.preview or request.staged_preview.preview
    )


def decide_resolution(policy: Policy, preview: Preview, action: Action) -> Decision:
    """Return whether resolving this way needs the user's approval; discarding never does."""
    scope = preview.scope
    if action == "discard":
        return Decision(Verdict.ALLOW, Reason("discard"), scope)
    paths = [target.display_path for target in preview.targets]
    denying = restricting_rule(policy.rules, "deny", preview.source, paths)
    if denying is not None:
        reason = Reason("rule", denying.label)
        return Decision(Verdict.DENY, reason, scope, f"Denied by rule: {denying}")
    asking = restricting_rule(policy.rules, "ask", preview.source, paths)
    # In plan mode, and while a rule cannot be read, each effect needs an approval of its own.
    may_skip_request = not policy.problems and policy.mode != "plan" and asking is None
    if may_skip_request and policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, Reason("grant"), scope)
    # What a tool's own function does is known as little as what the tool does: only yolo runs it.
    known = preview.ordinary or (preview.is_callback and policy.mode == "yolo")
    free = known and mode_allows(policy.mode, editing=True, destructive=preview.destructive)
    if may_skip_request and (free or (policy.mode == "stage" and preview.in_overlay)):
        return Decision(Verdict.ALLOW, Reason("mode", policy.mode), scope)
    if not policy.attended:
        return Decision(Verdict.DENY, Reason("unattended", str(EFFECT)), scope, NOBODY)
    reason = Reason("rule", asking.label) if asking is not None else EFFECT
    return Decision(Verdict.ASK, reason, scope)
