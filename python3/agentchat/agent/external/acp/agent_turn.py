"""The plan of a turn with an agent that acts by itself: it judges, asks and runs nothing.

The turn: prepare → record what the user sent → the agent's replies, with the calls it makes and
their results → its end. A reply ends where a call begins or ends, so what is recorded has the
order in which it happened. Each call has exactly one result, as in ``loop``: one that has none when
the turn ends is closed with ``NO_RESULT``, or with what ended the turn.

What the user sends meanwhile is the next turn: an agent has one prompt at a time.
"""

from __future__ import annotations

from agentchat.core.errors import AgentError, Cancelled
from agentchat.core.messages import Reply, Status, ToolCall, ToolResult
from agentchat.core.turn.call import record
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    AskModel,
    Plan,
    Prepare,
    Record,
    TakeResults,
    TakeSteering,
    do,
)
from agentchat.core.turn.loop import CANCELLED, TurnEnd
from agentchat.core.turn.prompt_calls import run_prompt_calls

NO_RESULT = "no result"

OpenCalls = dict[str, ToolCall]


def agent_turn(chat: Chat) -> Plan[TurnEnd]:
    """Plan one turn of a chat with an agent; at the end every call has exactly one result."""
    calls: OpenCalls = {}
    try:
        yield from do(Prepare())
        yield from run_prompt_calls(chat)
        for message in (yield from do(TakeSteering())):
            yield from record(chat, Record(message))
        return (yield from _follow(chat, calls))
    except Cancelled:
        yield from _close_calls(chat, calls, CANCELLED, Status.CANCELLED)
        return TurnEnd("cancelled")
    except AgentError as error:
        yield from _close_calls(chat, calls, str(error), Status.ERROR)
        return TurnEnd("error", str(error))
    finally:
        chat.policy.grants.end_turn()


def _follow(chat: Chat, calls: OpenCalls) -> Plan[TurnEnd]:
    """Record the agent's replies and results until one reply is the last."""
    while True:
        reply = yield from do(AskModel(chat.request()))
        if reply.parts or reply.error:
            yield from record(chat, Record(reply))
        calls.update((call.id, call) for call in reply.calls)
        if reply.finish != "cancelled":
            yield from _take_results(chat, calls)
        if reply.finish != "tool_calls":
            return (yield from _end(chat, calls, reply))


def _take_results(chat: Chat, calls: OpenCalls) -> Plan[None]:
    for result in (yield from do(TakeResults())):
        if calls.pop(result.call_id, None) is not None:
            yield from record(chat, Record(result))


def _end(chat: Chat, calls: OpenCalls, reply: Reply) -> Plan[TurnEnd]:
    if reply.error:
        yield from _close_calls(chat, calls, reply.error, Status.ERROR)
        return TurnEnd("error", reply.error)
    if reply.finish == "cancelled":
        yield from _close_calls(chat, calls, CANCELLED, Status.CANCELLED)
        return TurnEnd("cancelled")
    yield from _close_calls(chat, calls, NO_RESULT, Status.ERROR)
    return TurnEnd("stop")


def _close_calls(chat: Chat, calls: OpenCalls, text: str, status: Status) -> Plan[None]:
    for call in calls.values():
        yield from record(chat, Record(ToolResult(call.id, call.name, text, status)))
    calls.clear()
