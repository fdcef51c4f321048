"""Asks the user before a turn, a chat or a day costs more than its budget."""

from __future__ import annotations

from collections.abc import Iterator

from agentchat.core.messages import Note
from agentchat.core.spending import SCOPES, Scope, format_cost
from agentchat.core.turn.approval_request import make_question, question_tool, request_approval
from agentchat.core.turn.call import record
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Plan, Record, ReportBudget, do

BUDGET = question_tool("budget", "Ask whether work goes on that costs more than its budget.")
CHOICES = "Accept goes on, for {} more. Reject ends the turn."
ENDED = "The user ended the turn here: {}."
NOBODY = "No user can be asked whether to go on: {}."
SUBJECTS = {"turn": "this turn", "chat": "this chat", "day": "what all chats did today"}


def check_budget(chat: Chat) -> Plan[str]:
    """Ask about each budget that is reached; return why the turn ends, empty if it goes on."""
    for scope in SCOPES:
        limit = chat.spending.limit(scope, chat.budget)
        spent = chat.spending.totals(scope).known_cost
        if limit is None or spent < limit:
            continue
        yield from do(ReportBudget(scope, limit, spent))
        why = (
            f"{SUBJECTS[scope]} has cost {format_cost(spent)}, of a budget of {format_cost(limit)}"
        )
        if not chat.policy.attended:
            return NOBODY.format(why)
        if not (yield from _ask(chat, scope, why)):
            return ENDED.format(why)
        chat.spending.grant(scope)
    return ""


def _ask(chat: Chat, scope: Scope, why: str) -> Plan[bool]:
    text = "\n".join([CHOICES.format(format_cost(chat.budget.of(scope))), "", *_costs(chat)])
    request = make_question(chat, BUDGET, f"Go on? {why[0].upper()}{why[1:]}.", text)
    response = yield from request_approval(request)
    while response.choice == "edit":  # there is nothing to edit
        response = yield from request_approval(request)
    if response.choice != "reject":
        return True
    reason = f" Reason: {response.reason}" if response.reason else ""
    yield from record(chat, Record(Note(ENDED.format(why) + reason)))
    return False


def _costs(chat: Chat) -> Iterator[str]:
    """Yield what each of them has cost, with its budget."""
    for scope in SCOPES:
        totals, budget = chat.spending.totals(scope), chat.budget.of(scope)
        limit = f"  budget {format_cost(budget)}" if budget is not None else ""
        unknown = f"  {totals.unpriced} without a known price" if totals.unpriced else ""
        yield f"{scope:<5}{format_cost(totals.known_cost):>9}{limit}{unknown}"
