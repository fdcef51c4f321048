"""What stays word for word of messages that a summary replaces: the user's texts and decisions.

A summary is written by the model, which may lose what the user wants most. So everything that the
user wrote or decided goes with it as it was: messages, answers to questions, rejections with their
reasons, decisions about hunks, edited arguments, the approved plan, and the results that staged a
preview which is still pending. Earlier messages of the user share a budget, the newest first;
decisions always stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from agentchat.core.context.size import message_tokens
from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Note, Reply, Status, ToolCall, ToolResult, UserText

LONGEST_DECISION = 4_000
"""Characters up to which a result with a decision stays whole; of a longer one, the decision."""

SHOWN_ARGUMENTS = 200
"""Characters of a call's arguments beside the decision about it."""

_DECISION = re.compile(
    r"^(User rejected the |The user changed the arguments before running: "
    r"|The user edited the proposed text of |Applied \d+ of \d+ hunks in |Discarded: )"
)
_ASKS_USER = frozenset({"ask"})
"""Tools whose results are words of the user."""

PLAN = "plan"
"""The source of a plan that `resolve` submits."""

OMITTED = "[{} earlier messages of the user are in the summary only.]"


@frozen
class Quote:
    """A text that stays word for word; ``label`` says what it is."""

    label: str
    text: str
    is_decision: bool = True

    def __str__(self) -> str:
        return f"<{self.label}>\n{self.text}\n</{self.label.partition(' ')[0]}>"


def quotes(messages: Sequence[Message], pending: Collection[str], budget: int) -> tuple[Quote, ...]:
    """Return what stays of ``messages``, in their order.

    Args:
        pending: ids of the calls that staged a preview which is still pending.
        budget: tokens for messages of the user and notes.
    """
    found = list(_find(messages, pending))
    texts = [quote for quote in found if not quote.is_decision]
    kept: set[int] = set()
    for quote in reversed(texts):
        budget -= message_tokens(Note(quote.text))
        if budget < 0:
            break
        kept.add(id(quote))
    left_out = len(texts) - len(kept)
    first = (Quote("note", OMITTED.format(left_out)),) if left_out else ()
    return (*first, *(q for q in found if q.is_decision or id(q) in kept))


def _find(messages: Sequence[Message], pending: Collection[str]) -> Iterator[Quote]:
    calls: dict[str, ToolCall] = {}
    plan = _approved_plan(messages)
    for message in messages:
        if isinstance(message, UserText):
            yield Quote("user-message", message.text, is_decision=False)
        elif isinstance(message, Note):
            yield Quote("note", message.text, is_decision=False)
        elif isinstance(message, Reply):
            calls.update((call.id, call) for call in message.calls)
            if message is plan:
                yield Quote("approved-plan", message.text)
        else:
            yield from _quote_result(message, calls.get(message.call_id), pending)


def _quote_result(
    result: ToolResult, call: ToolCall | None, pending: Collection[str]
) -> Iterator[Quote]:
    text = result.text if result.call_id in pending else decision_in(result)
    if text:
        kind = "pending-preview" if result.call_id in pending else "user-decision"
        arguments = call.arguments if call is not None else ""
        yield Quote(f"{kind} about: {result.name} {_clipped(arguments)}".rstrip(), text)


def decision_in(result: ToolResult) -> str:
    """Return what a result holds of the user's words, empty if nothing."""
    if result.status is Status.REJECTED or result.name in _ASKS_USER:
        return result.text
    lines = result.text.split("\n")
    decisions = [line for line in lines if _DECISION.match(line)]
    if not decisions:
        return ""
    return result.text if len(result.text) <= LONGEST_DECISION else "\n".join(decisions)


def _approved_plan(messages: Sequence[Message]) -> Reply | None:
    """Return the newest reply whose plan the user approved."""
    reply, plan = None, None
    for message in messages:
        if isinstance(message, Reply):
            reply = message
        elif isinstance(message, ToolResult) and _approves_plan(message):
            plan = reply
    return plan


def _approves_plan(result: ToolResult) -> bool:
    is_plan = result.detail("sourceToolName") == PLAN and result.detail("action") == "apply"
    return is_plan and not result.is_error


def _clipped(arguments: str) -> str:
    line = " ".join(arguments.split())
    return line if len(line) <= SHOWN_ARGUMENTS else line[: SHOWN_ARGUMENTS - 1] + "…"
