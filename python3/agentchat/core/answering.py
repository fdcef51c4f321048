"""The plan of one call: judged, asked about if need be, run, answered exactly once."""

from __future__ import annotations

import json
from dataclasses import replace

from agentchat.core.approval import Decision, Verdict, decide
from agentchat.core.asking import Queue, ask, consent, count_use, rejected
from agentchat.core.calls import Call, Place
from agentchat.core.chat import RESOLVE, Chat
from agentchat.core.checking import check
from agentchat.core.effects import (
    Answer,
    DryRun,
    Locate,
    Moved,
    Phrase,
    Plan,
    Question,
    Ready,
    RunTools,
    Say,
    do,
)
from agentchat.core.limits import PREVIEWS_PER_CALL
from agentchat.core.messages import Status, ToolResult
from agentchat.core.resolution import resolve_call
from agentchat.core.tool import Preview

Attempt = tuple[ToolResult | Moved, Decision | None, Call]


def run_together(chat: Chat, batch: list[Ready]) -> Plan[None]:
    """Run calls that need no question at the same time; answer them in order."""
    if not batch:
        return
    outcomes = yield from do(RunTools(tuple(batch)), tuple)
    for ready, outcome in zip(batch, outcomes, strict=True):
        count_use(chat, ready.decision)
        yield from _say(chat, _settle(ready.call, outcome), ready.decision)


def answer_call(chat: Chat, call: Call, queue: Queue) -> Plan[None]:
    """Answer one call alone, whatever happens to it."""
    if call.tool.name == RESOLVE:
        result, decision = yield from resolve_call(chat, call, queue)
    else:
        result, decision = yield from _until_settled(chat, call, queue)
    yield from _say(chat, result, decision)


def _say(chat: Chat, result: ToolResult, decision: Decision | None) -> Plan[None]:
    result = yield from do(Phrase(result), ToolResult)
    chat.history = chat.history.add(result)
    yield from do(Say(result, decision))


def _until_settled(
    chat: Chat, call: Call, queue: Queue
) -> Plan[tuple[ToolResult, Decision | None]]:
    """Preview and ask again as long as the text moves under the preview, a few times."""
    for _ in range(PREVIEWS_PER_CALL):
        outcome, decision, call = yield from _attempt(chat, call, queue)
        if isinstance(outcome, ToolResult):
            break
    return _settle(call, outcome), decision


def _attempt(chat: Chat, call: Call, queue: Queue) -> Plan[Attempt]:
    place = yield from do(Locate(call), object)
    if not isinstance(place, Place):
        return _result(call, str(place), Status.ERROR), None, call
    decision = decide(call, place, chat.policy)
    if decision.verdict is Verdict.DENY:
        return _result(call, decision.message, Status.DENIED), decision, call
    if call.tool.metadata.requires_checkpoint:
        return _result(call, no_checkpoint(call), Status.DENIED), decision, call
    if decision.verdict is Verdict.ALLOW:
        return (yield from _run(chat, Ready(call, place, decision)))
    preview = yield from _preview(call)
    if isinstance(preview, str):
        return _result(call, preview, Status.ERROR), None, call
    number, total = queue.take_place(call)
    question = Question(call, place, decision, preview, number=number, total=total)
    return (yield from _put(chat, question, queue))


def no_checkpoint(call: Call) -> str:
    """Return the answer to a call that needs a checkpoint nobody handles."""
    name = call.tool.name
    return f'Checkpoint required: no handler is registered, so "{name}" was not run.'


def _preview(call: Call) -> Plan[Preview | str | None]:
    if call.tool.dry_run is None:
        return None
    outcome = yield from do(DryRun(call), object)
    return outcome if isinstance(outcome, Preview) else str(outcome)


def _put(chat: Chat, question: Question, queue: Queue) -> Plan[Attempt]:
    """Put a question and do what the answer says."""
    call = question.call
    answer = yield from ask(question)
    if answer.choice == "edit":
        return (yield from _changed(chat, question, answer, queue))
    if answer.choice == "reject":
        text = rejected(call, answer.reason)
        return _result(call, text, Status.REJECTED), question.decision, call
    allowed = consent(chat, question, answer)
    return (yield from _run(chat, Ready(call, question.place, allowed, question.preview)))


def _changed(chat: Chat, question: Question, answer: Answer, queue: Queue) -> Plan[Attempt]:
    """Judge the arguments that the user wrote instead as if the model had sent them."""
    edited = replace(question.call.call, arguments=answer.arguments or "")
    checked = check(edited, chat.toolbox)
    if isinstance(checked, ToolResult):
        return (yield from _put(chat, replace(question, problem=checked.text), queue))
    return (yield from _attempt(chat, replace(checked, changed_by_user=True), queue))


def _run(chat: Chat, ready: Ready) -> Plan[Attempt]:
    outcomes = yield from do(RunTools((ready,)), tuple)
    count_use(chat, ready.decision)
    return outcomes[0], ready.decision, ready.call


def _settle(call: Call, outcome: ToolResult | Moved) -> ToolResult:
    if isinstance(outcome, Moved):
        return _result(call, outcome.message, Status.ERROR)
    if not call.changed_by_user:
        return outcome
    head = "The user changed the arguments before running: "
    return replace(outcome, text=f"{head}{json.dumps(call.given)}\n{outcome.text}")


def _result(call: Call, text: str, status: Status) -> ToolResult:
    return ToolResult(call.call.id, call.tool.name, text, status)
