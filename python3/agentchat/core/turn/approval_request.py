"""Putting a question to the user, and what the answer means."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.hunk_decisions import amended, taken, why_not
from agentchat.core.errors import Cancelled
from agentchat.core.messages import ToolResult
from agentchat.core.permissions.grants import hides_characters
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.tools.call import Call
from agentchat.core.tools.tool import Preview
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, AskUser, Plan, Question, do
from agentchat.core.turn.validate import check


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


def kept(question: Question, answer: Answer) -> Question | None:
    """Return the question with only what the user keeps of its preview; ``None``: nothing."""
    if question.preview is None:
        return question
    preview = taken(question.preview, answer.hunks, question.proposed)
    return None if preview is None else replace(question, preview=preview)


def reason(question: Question, answer: Answer) -> str:
    """Return why the user said no, to all of it or hunk by hunk."""
    return why_not(answer.reason, question.preview, answer.hunks)


def edited(question: Question, answer: Answer) -> Question:
    """Return the question with the user's text in place of the proposed one."""
    change = question.preview.change if question.preview is not None else None
    if change is None:
        return question
    return with_change(question, amended(change, answer.replaced), question.proposed or change)


def with_change(question: Question, change: ChangeSet, proposed: ChangeSet) -> Question:
    """Return the question about the user's own change in place of what was proposed."""
    preview = replace(question.preview or Preview(), change=change)
    return replace(question, preview=preview, proposed=proposed)


def changed_call(chat: Chat, call: Call, answer: Answer) -> Plan[Call | ToolResult]:
    """Return the call with the arguments that the user wrote, or what is wrong with them."""
    rewritten = replace(call.call, arguments=answer.arguments or "")
    checked = yield from check(rewritten, chat.toolbox)
    return checked if isinstance(checked, ToolResult) else replace(checked, changed_by_user=True)


def with_arguments(call: Call, result: ToolResult) -> ToolResult:
    """Return the result of a call that tells the model of arguments the user changed."""
    if not call.changed_by_user:
        return result
    head = "The user changed the arguments before running: "
    return replace(result, text=f"{head}{json.dumps(call.given)}\n{result.text}")


def consent(chat: Chat, question: Question, answer: Answer) -> Decision:
    """Return the user's yes as a decision, remembered where the user said so."""
    scope = question.decision.scope
    # A read outside the workspace asks once per path, whichever yes it was.
    reads_once = question.call.tool.metadata.read_only and bool(question.place.unusual)
    always = answer.choice == "always" and offers_always(question)
    if scope is not None and (always or reads_once):
        chat.policy.grants.remember(scope)
    return Decision(Verdict.ALLOW, Reason("user", answer.choice), scope)


def offers_always(question: Question) -> bool:
    """Whether *always* is on offer: there is a scope, no rule asks, and nothing hides."""
    if question.decision.scope is None or question.decision.reason.kind == "rule":
        return False
    return not hides_characters(question.call)


def count_use(chat: Chat, decision: Decision | None) -> None:
    """Count a run under a remembered answer."""
    scope = decision.scope if decision is not None else None
    if scope is not None and chat.policy.grants.covers(scope):
        chat.policy.grants.use(scope)
