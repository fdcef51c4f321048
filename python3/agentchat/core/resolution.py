"""The plan of a ``resolve`` call: the newest preview applied or discarded, with consent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentchat.core.approval import USUAL, Decision, Policy, Verdict, mode_allows
from agentchat.core.asking import Queue, ask, consent, count_use, rejected
from agentchat.core.calls import Call, Place
from agentchat.core.chat import Chat
from agentchat.core.effects import Plan, Question, ResolvePending, do
from agentchat.core.messages import Status, ToolResult
from agentchat.core.pending import NO_REASON, NOTHING_PENDING, Pending

Resolved = tuple[ToolResult, "Decision | None"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a ``resolve`` call asks for."""

    action: str
    reason: str
    extra: Mapping[str, Any] | None = None


def resolve_call(chat: Chat, call: Call, queue: Queue) -> Plan[Resolved]:
    """Resolve the newest preview; *cancel* in the question leaves it pending."""
    pending = chat.pending.newest()
    wanted = Resolution(call.arguments.action, call.arguments.reason, call.arguments.extra)
    if pending is None:
        return ToolResult(call.call.id, call.tool.name, NOTHING_PENDING, Status.ERROR), None
    decision = judge_resolution(chat.policy, pending, wanted.action)
    if decision.verdict is Verdict.ALLOW:
        return (yield from _perform(chat, call, pending, wanted, decision))
    return (yield from _asked(chat, call, pending, wanted, decision, queue))


def judge_resolution(policy: Policy, pending: Pending, action: str) -> Decision:
    """Return whether resolving this way needs the user: discarding never does."""
    scope = pending.scope
    if action == "discard":
        return Decision(Verdict.ALLOW, "discarding changes nothing", scope)
    if policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, "remembered answer", scope)
    if pending.ordinary and mode_allows(policy.mode, editing=True, destructive=False):
        return Decision(Verdict.ALLOW, f"{policy.mode} mode", scope)
    return Decision(Verdict.ASK, USUAL, scope)


def _asked(
    chat: Chat, call: Call, pending: Pending, wanted: Resolution, decision: Decision, queue: Queue
) -> Plan[Resolved]:
    number, total = queue.take_place(call)
    place = Place(chat.surroundings.cwd, writes=pending.targets)
    question = Question(call, place, decision, pending.preview, pending, number, total)
    answer = yield from ask(question)
    if answer.choice == "reject":
        reason = answer.reason or NO_REASON
        discard = replace(wanted, action="discard", reason=reason)
        result, _ = yield from _perform(chat, call, pending, discard, decision)
        text = f"{rejected(call, answer.reason)}\n{result.text}"
        return replace(result, text=text, status=Status.REJECTED), decision
    allowed = consent(chat, question, answer)
    return (yield from _perform(chat, call, pending, wanted, allowed))


def _perform(
    chat: Chat, call: Call, pending: Pending, wanted: Resolution, decision: Decision
) -> Plan[Resolved]:
    effect = ResolvePending(
        call.call, pending, wanted.action, wanted.reason, wanted.extra, decision
    )
    result = yield from do(effect, ToolResult)
    count_use(chat, decision)
    return result, decision
