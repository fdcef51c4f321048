"""The plan of one call: judged, asked about if need be, run, answered exactly once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentchat.core.diff.hunk_decisions import rebased
from agentchat.core.limits import PREVIEWS_PER_CALL
from agentchat.core.messages import Status, ToolResult
from agentchat.core.permissions.policy import Decision, Verdict, decide
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
    with_change,
)
from agentchat.core.turn.chat import RESOLVE, Chat
from agentchat.core.turn.effects import (
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
from agentchat.core.turn.resolve import resolve_call

MOVED = "{} changed since it was shown: this is the change on top of what it is now."
EDIT_LOST = "The text you edited does not fit there any more and is left out."


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far a call came: ``question`` is the one that was answered with a yes, if any."""

    outcome: ToolResult | Moved
    decision: Decision | None
    call: Call
    question: Question | None = None


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
    attempt = yield from _attempt(chat, call, queue)
    for _ in range(PREVIEWS_PER_CALL - 1):
        if isinstance(attempt.outcome, ToolResult):
            break
        attempt = yield from _attempt(chat, attempt.call, queue, attempt)
    return _settle(attempt.call, attempt.outcome), attempt.decision


def _attempt(chat: Chat, call: Call, queue: Queue, last: Attempt | None = None) -> Plan[Attempt]:
    place = yield from do(Locate(call), object)
    if not isinstance(place, Place):
        return Attempt(_result(call, str(place), Status.ERROR), None, call)
    decision = decide(call, place, chat.policy)
    if decision.verdict is Verdict.DENY:
        return Attempt(_result(call, decision.message, Status.DENIED), decision, call)
    if call.tool.metadata.requires_checkpoint:
        return Attempt(_result(call, no_checkpoint(call), Status.DENIED), decision, call)
    if decision.verdict is Verdict.ALLOW:
        return (yield from _run(chat, Ready(call, place, decision)))
    preview = yield from _preview(call, place)
    if isinstance(preview, str):
        return Attempt(_result(call, preview, Status.ERROR), None, call)
    if last is not None and _is_shown_already(preview, last):
        return last
    number, total = queue.take_place(call)
    question = Question(call, place, decision, preview, number=number, total=total)
    return (yield from _put(chat, _anew(question, last), queue))


def _is_shown_already(preview: Preview | None, last: Attempt) -> bool:
    """Whether the text did not move for the preview: asking again would lead nowhere else."""
    if preview is None or preview.change is None or last.question is None:
        return False
    before = last.question.proposed or (last.question.preview or Preview()).change
    return isinstance(last.outcome, Moved) and before == preview.change


def _anew(question: Question, last: Attempt | None) -> Question:
    """Return the question as it is asked again, with the text the user wrote for the last one."""
    if last is None or last.question is None or not isinstance(last.outcome, Moved):
        return question
    question = replace(question, problem=MOVED.format(last.outcome.path))
    change = question.preview.change if question.preview is not None else None
    mine = last.question.preview.change if last.question.preview is not None else None
    if change is None or mine is None or last.question.proposed is None:
        return question
    moved = rebased(mine, {file.origin: file.before for file in change.files})
    if isinstance(moved, str):
        return replace(question, problem=f"{question.problem} {EDIT_LOST}")
    return with_change(question, moved, change)


def no_checkpoint(call: Call) -> str:
    """Return the answer to a call that needs a checkpoint nobody handles."""
    name = call.tool.name
    return f'Checkpoint required: no handler is registered, so "{name}" was not run.'


def _preview(call: Call, place: Place) -> Plan[Preview | str | None]:
    if call.tool.dry_run is None:
        return None
    outcome = yield from do(DryRun(call, place), object)
    return outcome if isinstance(outcome, Preview) else str(outcome)


def _put(chat: Chat, question: Question, queue: Queue) -> Plan[Attempt]:
    """Put a question and do what the answer says."""
    call = question.call
    answer = yield from ask(question)
    if answer.decision is not None:
        return (yield from _settled(chat, question, answer.decision))
    if answer.choice == "edit" and answer.replaced:
        return (yield from _put(chat, edited(question, answer), queue))
    if answer.choice == "edit":
        return (yield from _changed(chat, question, answer, queue))
    keep = kept(question, answer)
    if answer.choice == "reject" or keep is None:
        text = rejected(call, reason(question, answer))
        return Attempt(_result(call, text, Status.REJECTED), question.decision, call)
    allowed = consent(chat, question, answer)
    attempt = yield from _run(chat, Ready(call, question.place, allowed, keep.preview))
    return replace(attempt, question=question)


def _settled(chat: Chat, question: Question, decision: Decision) -> Plan[Attempt]:
    """Do what a rule or the mode says of a call that was being asked about."""
    call = question.call
    if decision.verdict is Verdict.DENY:
        return Attempt(_result(call, decision.message, Status.DENIED), decision, call)
    attempt = yield from _run(chat, Ready(call, question.place, decision, question.preview))
    return replace(attempt, question=question)


def _changed(chat: Chat, question: Question, answer: Answer, queue: Queue) -> Plan[Attempt]:
    """Judge the arguments that the user wrote instead as if the model had sent them."""
    checked = yield from changed_call(chat, question.call, answer)
    if isinstance(checked, ToolResult):
        return (yield from _put(chat, replace(question, problem=checked.text), queue))
    return (yield from _attempt(chat, checked, queue))


def _run(chat: Chat, ready: Ready) -> Plan[Attempt]:
    outcomes = yield from do(RunTools((ready,)), tuple)
    count_use(chat, ready.decision)
    return Attempt(outcomes[0], ready.decision, ready.call)


def _settle(call: Call, outcome: ToolResult | Moved) -> ToolResult:
    if isinstance(outcome, Moved):
        return _result(call, outcome.message, Status.ERROR)
    return with_arguments(call, outcome)


def _result(call: Call, text: str, status: Status) -> ToolResult:
    return ToolResult(call.call.id, call.tool.name, text, status)
