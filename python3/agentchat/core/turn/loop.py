"""The plan of a turn: from what the user said to the model's last word.

A turn is a generator: it yields one effect, is sent the answer and goes on. Every rule about
order, approval, rejection, cancelling and "each call has exactly one result" is here or in
``resolution``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentchat.core.errors import Cancelled
from agentchat.core.limits import UNRESOLVED_REPLIES
from agentchat.core.messages import Message, Reply, Status, ToolCall, ToolResult
from agentchat.core.permissions.policy import Verdict, decide
from agentchat.core.tools.call import Call, Place
from agentchat.core.turn.approval_request import Queue
from agentchat.core.turn.call import answer_call, run_together
from agentchat.core.turn.chat import RESOLVE, Chat
from agentchat.core.turn.effects import (
    AskModel,
    Locate,
    Plan,
    Ready,
    Say,
    TakeSteering,
    do,
    phrased,
)
from agentchat.core.turn.hooks import Lives
from agentchat.core.turn.resolve import judge_resolution
from agentchat.core.turn.validate import check, cut_off

CANCELLED = "Cancelled by the user."
RESOLVE_FIRST = (
    "Not executed: call the `resolve` tool to resolve the pending action before using other tools."
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended: ``stop``, ``cancelled`` or ``error``, with a line for the user."""

    reason: str
    message: str = ""


def turn(chat: Chat) -> Plan[Ending]:
    """Plan one turn of ``chat``; whatever happens, every call has its one result at the end."""
    try:
        return (yield from _rounds(chat))
    except Cancelled:
        yield from _answer_rest(chat, CANCELLED, Status.CANCELLED)
        return Ending("cancelled")


def _rounds(chat: Chat) -> Plan[Ending]:
    ignored = 0
    while True:
        yield from _listen(chat)
        reply = yield from do(AskModel(chat.request()), Reply)
        yield from say(chat, reply)
        ending = _ending(reply)
        if ending is not None:
            yield from _answer_cut_off(chat)
            return ending
        if _ignores_preview(chat, reply):
            ignored += 1
            yield from _answer_rest(chat, RESOLVE_FIRST, Status.ERROR)
            if ignored == UNRESOLVED_REPLIES:
                return Ending("error", _unresolved(chat))
            continue
        ignored = 0
        yield from _answer_calls(chat, reply.calls)


def _ending(reply: Reply) -> Ending | None:
    if reply.error is not None:
        return Ending("error", reply.error)
    if reply.finish == "cancelled":
        return Ending("cancelled")
    return None if reply.calls else Ending("stop")


def _listen(chat: Chat) -> Plan[None]:
    heard = yield from do(TakeSteering(), tuple)
    for message in heard:
        yield from say(chat, message)


def say(chat: Chat, message: Message) -> Plan[None]:
    """Add a message to the history, write it and show it."""
    message = yield from phrased(message)
    chat.history = chat.history.add(message)
    yield from do(Say(message))


def _ignores_preview(chat: Chat, reply: Reply) -> bool:
    return len(chat.pending) > 0 and any(call.name != RESOLVE for call in reply.calls)


def _unresolved(chat: Chat) -> str:
    newest = chat.pending.newest()
    label = newest.label if newest else ""
    return (
        f"The model did not resolve the pending preview ({label}). "
        "Finish it with :AgentResolve apply or :AgentResolve discard."
    )


def _answer_rest(chat: Chat, text: str, status: Status) -> Plan[None]:
    for call in chat.history.unanswered():
        yield from say(chat, ToolResult(call.id, call.name, text, status))


def _answer_cut_off(chat: Chat) -> Plan[None]:
    for call in chat.history.unanswered():
        yield from say(chat, ToolResult(call.id, call.name, cut_off(call.name), Status.ERROR))


def _answer_calls(chat: Chat, calls: tuple[ToolCall, ...]) -> Plan[None]:
    checked: list[Call | ToolResult] = []
    for call in calls:
        checked.append((yield from check(call, chat.toolbox)))
    queue = Queue(*(yield from _ahead(chat, checked)))
    lives = Lives()
    batch: list[Ready] = []
    try:
        for item in checked:
            ready = yield from _joins_batch(chat, item)
            if ready is not None:
                batch.append(ready)
                continue
            yield from run_together(chat, batch)
            batch = []
            yield from _answer_alone(chat, item, queue, lives)
        yield from run_together(chat, batch)
    finally:
        yield from lives.end_all()


def _answer_alone(chat: Chat, item: Call | ToolResult, queue: Queue, lives: Lives) -> Plan[None]:
    if isinstance(item, ToolResult):
        yield from lives.end_all()
        yield from say(chat, item)
        return
    queue.reach(item)
    yield from lives.end_all(besides=item.tool)
    failed = yield from lives.begin(item)
    if failed is None:
        yield from answer_call(chat, item, queue)
    else:
        yield from say(chat, ToolResult(item.call.id, item.tool.name, failed, Status.ERROR))
    yield from lives.end(item)


def _ahead(
    chat: Chat, checked: list[Call | ToolResult]
) -> Plan[tuple[list[Call], Callable[[Call], bool]]]:
    """Return the calls that can be judged, and whether one of them would ask as things stand."""
    places: dict[str, Place] = {}
    calls = [item for item in checked if isinstance(item, Call)]
    for call in calls:
        place = yield from do(Locate(call), object)
        if isinstance(place, Place):
            places[call.call.id] = place

    def would_ask(call: Call) -> bool:
        place = places.get(call.call.id)
        return place is not None and _verdict(chat, call, place) is Verdict.ASK

    return calls, would_ask


def _verdict(chat: Chat, call: Call, place: Place) -> Verdict:
    if call.tool.name != RESOLVE:
        return decide(call, place, chat.policy).verdict
    pending = chat.pending.newest()
    if pending is None:
        return Verdict.ALLOW
    return judge_resolution(chat.policy, pending, call.arguments.action).verdict


def _joins_batch(chat: Chat, item: Call | ToolResult) -> Plan[Ready | None]:
    """Return the call ready to run beside its neighbours, or ``None`` if it must run alone.

    A tool with hooks runs alone: a life around it has a place in the order.
    """
    if isinstance(item, ToolResult) or not item.tool.runs_beside_others:
        return None
    place = yield from do(Locate(item), object)
    if not isinstance(place, Place):
        return None
    decision = decide(item, place, chat.policy)
    if decision.verdict is not Verdict.ALLOW or item.tool.metadata.requires_checkpoint:
        return None
    return Ready(item, place, decision)
