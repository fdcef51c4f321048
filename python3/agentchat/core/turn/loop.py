"""The plan of a turn: from the user's message to the model's last reply.

A turn is a generator. It yields one effect at a time (``effects``), receives the answer and goes
on; the exception of a failed effect is thrown into it. It does no I/O: ``agent.interpreter``
performs the effects. All rules about order, approval, rejection and cancellation are in this
folder.

The turn: prepare → begin stage mode → record what the user sent → ask the model → record the reply
→ answer its calls → record what the user sent meanwhile → … until a reply has no calls, fails, or
the user stops → end stage mode. ``EndStage`` ends every turn, whatever ended it, in every mode.

A call goes through these states; the first failure gives its result::

    sent        unknown tool, cut off, no JSON, wrong schema, low confidence  → error
    valid       the set-up hook fails                                         → error
    set up      the target cannot be found                                    → error
    located     denied by the mode or a rule, checkpoint without a handler    → denied
                the model itself says *abort* or *reconsider*                 → denied
    decided     the dry run fails (only if the user must be asked)            → error
    asked       rejected → rejected; arguments edited → valid again
    approved    its checkpoint cannot be made                                 → error
    running     the files changed since they were shown → located again, at most
                ``PREVIEWS_PER_CALL`` times; anything else the tool returns   → its result

Order: all calls of a reply are validated before the first one runs. Neighbours that are safe to
run at the same time and need no approval run together; every other call runs alone, in its turn.
Results are recorded in the order of the calls, each formatted, journaled and shown once, by
``Record``. A call is located once per decision, and again only if something happened since
(``ApprovalQueue.version``).

*Each call id has exactly one result*, whatever happens. Rejecting a call leaves the others.
Cancelling ends the turn: nothing more runs and each open call is answered ``CANCELLED``. An error
that ends the turn answers them with its text. While a preview is pending, a reply with any call
but ``resolve`` runs nothing.

A conversation that nearly fills the model's window is compacted before the next request, and so is
one that the server refuses as too long (``compact``).

A model that repeats its calls gets a note, then the user is asked whether to go on. The user is
also asked when a turn has very many rounds, and when a budget is reached (``turn_limits``).

Hooks: set-up before the approval request, exit after the result, each exactly once. The plan runs
exit hooks itself when it ends, is cancelled or fails. A closed plan (``plan.close()``) can yield
no effect any more: then the interpreter runs the remaining exit hooks and ends stage mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from agentchat.core.errors import AgentError, Cancelled, ToolError
from agentchat.core.frozen import frozen
from agentchat.core.limits import UNRESOLVED_REPLIES
from agentchat.core.messages import Reply, Status, ToolCall, ToolResult
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.call import (
    ApprovalQueue,
    CallAttempt,
    locate_together,
    record,
    run_together,
)
from agentchat.core.turn.chat import RESOLVE, Chat
from agentchat.core.turn.compact import keep_within_window, make_room, run_compact_command
from agentchat.core.turn.effects import (
    AskModel,
    BeginStage,
    EndStage,
    Plan,
    Prepare,
    ReadyCall,
    Record,
    SetUp,
    TakeSteering,
    TearDown,
    do,
)
from agentchat.core.turn.prompt_calls import run_prompt_calls
from agentchat.core.turn.resolve import make_attempt
from agentchat.core.turn.turn_limits import LoopGuard, check_budget
from agentchat.core.turn.validate import InvalidCall, cut_off_message, validate

CANCELLED = "Cancelled by the user."
RESOLVE_FIRST = (
    "Not executed: call the `resolve` tool to resolve the pending action before using other tools."
)

TurnReason = Literal["stop", "cancelled", "error"]


@frozen
class TurnEnd:
    """How a turn ended, with a line for the user.

    ``stopped`` means that the user stopped the turn, not that they cancelled an approval request.
    """

    reason: TurnReason
    message: str = ""
    stopped: bool = False


class CallHooks:
    """The calls of one reply whose exit hook did not run yet, oldest first."""

    def __init__(self) -> None:
        self._open: list[ValidCall] = []

    def begin(self, call: ValidCall) -> Plan[None]:
        """Set a call up, unless it shares the set-up of its neighbour; raises ToolError."""
        hooks = call.tool.hooks
        if hooks.setup is None and hooks.exit is None:
            return
        if hooks.once and any(other.tool is call.tool for other in self._open):
            return
        self._open.append(call)
        yield from do(SetUp(call))

    def end(self, call: ValidCall) -> Plan[None]:
        """Tear a call down, unless the next one may share its set-up."""
        if call in self._open and not call.tool.hooks.once:
            self._open.remove(call)
            yield from do(TearDown(call))

    def end_all(self, except_for: Tool | None = None) -> Plan[None]:
        """Tear down all open calls, except those of one tool."""
        ending = [call for call in self._open if call.tool is not except_for]
        self._open = [call for call in self._open if call.tool is except_for]
        for call in ending:
            yield from do(TearDown(call))


def turn(chat: Chat) -> Plan[TurnEnd]:
    """Plan one turn of ``chat``; at the end every call has exactly one result."""
    try:
        end = yield from _turn(chat)
    except GeneratorExit:
        raise  # closed: nothing can be yielded any more
    except BaseException:
        yield from do(EndStage())
        raise
    else:
        yield from do(EndStage())
        return end
    finally:
        chat.policy.grants.end_turn()


def _turn(chat: Chat) -> Plan[TurnEnd]:
    try:
        chat.spending.begin_turn()
        yield from do(Prepare())
        yield from do(BeginStage())
        return (yield from _rounds(chat))
    except Cancelled:
        yield from _answer_rest(chat, CANCELLED, Status.CANCELLED)
        return TurnEnd("cancelled")
    except AgentError as error:
        yield from _answer_rest(chat, str(error), Status.ERROR)
        return TurnEnd("error", str(error))
    except Exception as error:
        yield from _answer_rest(chat, internal_error_message(error), Status.ERROR)
        raise


def compact_command(chat: Chat, focus: str) -> Plan[TurnEnd]:
    """Plan ``:AgentCompact``; the message says why nothing is compacted, if so."""
    try:
        return TurnEnd("stop", (yield from run_compact_command(chat, focus)))
    except Cancelled:
        return TurnEnd("cancelled")
    except AgentError as error:
        return TurnEnd("error", str(error))


def internal_error_message(error: Exception) -> str:
    """Return the message about an internal error that ends a turn."""
    return f"The turn failed: {error!r}. See the log."


def _rounds(chat: Chat) -> Plan[TurnEnd]:
    ignoring_replies = 0
    guard = LoopGuard(chat.max_rounds)
    while True:
        why = yield from guard.check(chat)
        if why:
            return TurnEnd("stop", why)
        yield from _take_messages(chat, guard)
        why = yield from check_budget(chat)
        if why:
            return TurnEnd("stop", why)
        yield from keep_within_window(chat)
        reply = yield from _ask_model(chat)
        yield from record(chat, Record(reply))
        guard.add(reply)
        end = _turn_end(reply)
        if end is not None:
            yield from _answer_cut_off(chat)
            return end
        if not _ignores_preview(chat, reply):
            ignoring_replies = 0
            yield from _answer_calls(chat, reply.calls)
            continue
        ignoring_replies += 1
        yield from _answer_rest(chat, RESOLVE_FIRST, Status.ERROR)
        if ignoring_replies == UNRESOLVED_REPLIES:
            return TurnEnd("error", _unresolved_message(chat))


def _ask_model(chat: Chat) -> Plan[Reply]:
    """Send the next request; if it is too long for the model, again once the chat is compacted."""
    while True:
        reply = yield from do(AskModel(chat.request()))
        if reply.finish != "overflow" or not reply.error:
            return reply
        problem = yield from make_room(chat)
        if problem:
            return replace(reply, error=f"{reply.error} {problem}")


def _take_messages(chat: Chat, guard: LoopGuard) -> Plan[None]:
    """Record the messages that the next request adds to the results."""
    yield from run_prompt_calls(chat)
    messages = yield from do(TakeSteering())
    guard.steer(messages)
    note = guard.note()
    for message in (*messages, note) if note is not None else messages:
        yield from record(chat, Record(message))


def _turn_end(reply: Reply) -> TurnEnd | None:
    if reply.error is not None:
        return TurnEnd("error", reply.error)
    if reply.finish == "cancelled":
        return TurnEnd("cancelled")
    return None if reply.calls else TurnEnd("stop")


def _ignores_preview(chat: Chat, reply: Reply) -> bool:
    return chat.previews.must_be_resolved and any(call.name != RESOLVE for call in reply.calls)


def _unresolved_message(chat: Chat) -> str:
    newest = chat.previews.newest_for_model()
    label = newest.label if newest else ""
    return (
        f"The model did not resolve the pending preview ({label}). "
        "Finish it with :AgentResolve apply or :AgentResolve discard."
    )


def _answer_cut_off(chat: Chat) -> Plan[None]:
    for call in chat.history.unanswered():
        result = ToolResult(call.id, call.name, cut_off_message(call.name), Status.ERROR)
        yield from record(chat, Record(result))


def _answer_rest(
    chat: Chat, text: str, status: Status, valid: Mapping[str, ValidCall] = MappingProxyType({})
) -> Plan[None]:
    """Answer the open calls; ``valid`` are those that got so far, by id."""
    for call in chat.history.unanswered():
        result = ToolResult(call.id, call.name, text, status)
        try:
            yield from record(chat, Record(result, call=valid.get(call.id)))
        except Exception:  # the journal cannot be written; complete the history anyway
            chat.history = chat.history.add(result)


def _answer_calls(chat: Chat, calls: tuple[ToolCall, ...]) -> Plan[None]:
    queue = ApprovalQueue()
    attempts = yield from _validate_calls(chat, calls, queue)
    hooks = CallHooks()
    try:
        yield from _answer_in_order(chat, attempts, queue, hooks)
    except GeneratorExit:
        raise  # closed: nothing can be yielded any more
    except Cancelled:
        yield from hooks.end_all()
        valid = {a.call.call.id: a.call for a in attempts if isinstance(a, CallAttempt)}
        yield from _answer_rest(chat, CANCELLED, Status.CANCELLED, valid)
        raise
    except BaseException:
        yield from hooks.end_all()
        raise
    yield from hooks.end_all()


def _validate_calls(
    chat: Chat, calls: tuple[ToolCall, ...], queue: ApprovalQueue
) -> Plan[list[CallAttempt | ToolResult]]:
    """Return an attempt for each valid call, and the result of each invalid one."""
    attempts: list[CallAttempt | ToolResult] = []
    for call in calls:
        try:
            valid = yield from validate(call, chat.toolset)
        except InvalidCall as error:
            attempts.append(ToolResult(call.id, call.name, str(error), Status.ERROR))
            continue
        attempt = make_attempt(chat, valid, queue)
        queue.add(attempt)
        attempts.append(attempt)
    return attempts


def _answer_in_order(
    chat: Chat, attempts: list[CallAttempt | ToolResult], queue: ApprovalQueue, hooks: CallHooks
) -> Plan[None]:
    batch: list[tuple[CallAttempt, ReadyCall]] = []
    for index, attempt in enumerate(attempts):
        if isinstance(attempt, CallAttempt):
            if not attempt.is_located:
                yield from locate_together(list(_neighbours(attempts[index:])))
            queue.remove(attempt)
            ready = yield from attempt.ready_for_batch()
            if ready is not None:
                batch.append((attempt, ready))
                continue
        yield from run_together(chat, batch)
        batch = []
        yield from _answer_alone(chat, attempt, hooks)
    yield from run_together(chat, batch)


def _neighbours(attempts: list[CallAttempt | ToolResult]) -> Iterator[CallAttempt]:
    """Yield the calls at the start that may run together."""
    for attempt in attempts:
        if not isinstance(attempt, CallAttempt) or not attempt.may_join_batch:
            return
        yield attempt


def _answer_alone(chat: Chat, attempt: CallAttempt | ToolResult, hooks: CallHooks) -> Plan[None]:
    if isinstance(attempt, ToolResult):
        yield from hooks.end_all()
        yield from record(chat, Record(attempt))
        return
    call = attempt.call
    yield from hooks.end_all(except_for=call.tool)
    try:
        yield from hooks.begin(call)
    except ToolError as error:
        yield from record(chat, Record(attempt.result(str(error), Status.ERROR)))
    else:
        yield from attempt.answer()
    yield from hooks.end(call)
