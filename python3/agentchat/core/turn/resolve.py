"""The plan of a ``resolve`` call: the newest preview applied or discarded, with consent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentchat.core.limits import PREVIEWS_PER_CALL
from agentchat.core.messages import Reply, Status, ToolResult
from agentchat.core.permissions.policy import (
    EFFECT,
    Decision,
    Policy,
    Reason,
    Verdict,
    mode_allows,
)
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.tool import Preview
from agentchat.core.turn.approval_request import (
    Queue,
    ask,
    changed_call,
    consent,
    count_use,
    edited,
    kept,
    reason,
    rejected,
    with_arguments,
)
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Moved, Plan, Question, Refresh, ResolvePending, do
from agentchat.core.turn.preview_stack import NO_REASON, NOTHING_PENDING, Pending

NOBODY = "Denied: nobody is here to answer."
Resolved = tuple[ToolResult | Moved, "Decision | None", Call]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a ``resolve`` call asks for."""

    action: str
    reason: str
    extra: Mapping[str, Any] | None = None


def resolve_call(chat: Chat, call: Call, queue: Queue) -> Plan[tuple[ToolResult, Decision | None]]:
    """Resolve the newest preview; *cancel* in the question leaves it pending.

    As long as the text moves under the preview it is put on top of it and asked again, a few
    times.
    """
    for _ in range(PREVIEWS_PER_CALL):
        outcome, decision, call = yield from _attempt(chat, call, queue)
        if isinstance(outcome, ToolResult):
            break
    if isinstance(outcome, Moved):
        outcome = _error(call, outcome.message)
    return with_arguments(call, outcome), decision


def _attempt(chat: Chat, call: Call, queue: Queue) -> Plan[Resolved]:
    pending = chat.pending.newest()
    if pending is None:
        return _error(call, NOTHING_PENDING), None, call
    wanted = Resolution(call.arguments.action, call.arguments.reason, call.arguments.extra)
    if pending.standing:
        pending = _submitted(chat, pending, wanted)
    decision = judge_resolution(chat.policy, pending, wanted.action)
    if decision.verdict is Verdict.DENY:
        return _result(call, decision.message, Status.DENIED), decision, call
    if wanted.action == "apply" and pending.make is not None:
        fresh = yield from do(Refresh(pending), object)
        if not isinstance(fresh, Pending):
            return _error(call, str(fresh)), decision, call
        pending = fresh
    if decision.verdict is Verdict.ALLOW:
        return (yield from _perform(chat, call, pending, wanted, decision))
    number, total = queue.take_place(call)
    here = chat.surroundings
    place = Place(here.cwd, writes=pending.targets, host=here.host)
    question = Question(call, place, decision, pending.preview, pending, number, total)
    return (yield from _put(chat, replace(question, proposed=pending.proposed), queue, wanted))


def _submitted(chat: Chat, standing: Pending, wanted: Resolution) -> Pending:
    """Return what is submitted to a mode's handler: what the model wrote, under its title."""
    title = " ".join(str((wanted.extra or {}).get("title") or "").split())
    replies = [message for message in chat.history.messages if isinstance(message, Reply)]
    text = replies[-1].text.strip() if replies else ""
    label = f"{standing.label}: {title}" if title else standing.label
    return replace(standing, label=label, preview=Preview(text=text or wanted.reason))


def judge_resolution(policy: Policy, pending: Pending, action: str) -> Decision:
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


def _put(chat: Chat, question: Question, queue: Queue, wanted: Resolution) -> Plan[Resolved]:
    """Ask whether to apply a preview, and do what the answer says."""
    call, pending = question.call, question.pending
    assert pending is not None
    answer = yield from ask(question)
    if answer.decision is not None:
        return (yield from _perform(chat, call, pending, wanted, answer.decision))
    if answer.choice == "edit" and answer.replaced:
        return (yield from _put(chat, edited(question, answer), queue, wanted))
    if answer.choice == "edit":
        checked = yield from changed_call(chat, call, answer)
        if isinstance(checked, Call):
            return (yield from _attempt(chat, checked, queue))
        return (yield from _put(chat, replace(question, problem=checked.text), queue, wanted))
    keep = kept(question, answer)
    if answer.choice == "reject" or keep is None:
        return (yield from _rejected(chat, question, answer, wanted))
    if keep.preview is not None:
        pending = replace(pending, preview=keep.preview)
    allowed = consent(chat, question, answer)
    return (yield from _perform(chat, call, pending, wanted, allowed))


def _rejected(chat: Chat, question: Question, answer: Answer, wanted: Resolution) -> Plan[Resolved]:
    call, pending, decision = question.call, question.pending, question.decision
    assert pending is not None
    why = reason(question, answer)
    discard = replace(wanted, action="discard", reason=why or NO_REASON)
    outcome, _, _ = yield from _perform(chat, call, pending, discard, decision)
    if isinstance(outcome, Moved):
        return outcome, decision, call
    text = f"{rejected(call, why)}\n{outcome.text}"
    return replace(outcome, text=text, status=Status.REJECTED), decision, call


def _perform(
    chat: Chat, call: Call, pending: Pending, wanted: Resolution, decision: Decision
) -> Plan[Resolved]:
    effect = ResolvePending(
        call.call, pending, wanted.action, wanted.reason, wanted.extra, decision
    )
    outcome: ToolResult | Moved = yield from do(effect)
    count_use(chat, decision)
    return outcome, decision, call


def _error(call: Call, text: str) -> ToolResult:
    return _result(call, text, Status.ERROR)


def _result(call: Call, text: str, status: Status) -> ToolResult:
    return ToolResult(call.call.id, call.tool.name, text, status)
