"""Putting a question to the user, and what the answer means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from agentchat.core.approval import Decision, Verdict
from agentchat.core.calls import Call
from agentchat.core.chat import Chat
from agentchat.core.effects import Answer, AskUser, Plan, Question, do
from agentchat.core.errors import Cancelled
from agentchat.core.escapes import has_hidden


class Queue:
    """The calls of one reply that may still ask, for the ``2 of 5`` of a question."""

    def __init__(self, calls: list[Call], would_ask: Callable[[Call], bool]) -> None:
        self._ahead = calls
        self._would_ask = would_ask
        self._asked: set[str] = set()

    def reach(self, call: Call) -> None:
        """Say that ``call`` is next: it and what was before it is no longer ahead."""
        ids = [other.call.id for other in self._ahead]
        if call.call.id in ids:
            self._ahead = self._ahead[ids.index(call.call.id) + 1 :]

    def take_place(self, call: Call) -> tuple[int, int]:
        """Return the number of this call's question and how many there are in all, from 1."""
        self._asked.add(call.call.id)
        number = len(self._asked)
        return number, number + sum(map(self._would_ask, self._ahead))


def ask(question: Question) -> Plan[Answer]:
    """Ask the user; a *cancel* ends the turn."""
    answer = yield from do(AskUser(question), Answer)
    if answer.choice == "cancel":
        raise Cancelled
    return answer


def rejected(call: Call, reason: str) -> str:
    """Return what the model is told of a rejected call."""
    text = f"User rejected the {call.tool.name} call."
    return f"{text} Reason: {reason}" if reason else text


def consent(chat: Chat, question: Question, answer: Answer) -> Decision:
    """Return the user's yes as a decision, remembered where the user said so."""
    scope = question.decision.scope
    # A read outside the workspace asks once per path, whichever yes it was.
    reads_once = question.call.tool.metadata.read_only and bool(question.place.unusual)
    always = answer.choice == "always" and offers_always(question)
    if scope is not None and (always or reads_once):
        chat.policy.grants.remember(scope)
    return Decision(Verdict.ALLOW, f"user: {answer.choice}", scope)


def offers_always(question: Question) -> bool:
    """Whether *always* is on offer: there is a scope, no rule asks, and nothing hides."""
    if question.decision.scope is None or question.decision.why.startswith("rule: "):
        return False
    return not any(map(has_hidden, _strings(question.call.given)))


def _strings(value: object) -> Iterator[str]:
    """Yield every piece of text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(name)
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def count_use(chat: Chat, decision: Decision | None) -> None:
    """Count a run under a remembered answer."""
    scope = decision.scope if decision is not None else None
    if scope is not None and chat.policy.grants.covers(scope):
        chat.policy.grants.use(scope)
