"""Limits of a turn: calls that repeat, rounds, and budgets; the user decides whether it goes on.

A round is one request and the calls of its reply. Rounds whose calls are the same, or the same
few in turn, get the model a note first; if they go on, if the turn has very many rounds, or if a
turn, a chat or a day costs more than its budget, the user is asked before the next request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentchat.core.messages import Message, Note, Reply, UserText
from agentchat.core.spending import SCOPES, format_cost
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.approval_request import make_question, question_tool, request_approval
from agentchat.core.turn.call import record
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Plan, Record, ReportBudget, do

NOTED_ROUNDS = 3
"""After so many equal rounds the model gets a note."""

ASKED_ROUNDS = 5
"""After so many equal rounds the user is asked."""

LONGEST_CYCLE = 3
"""Rounds that come in turn, at most, to be seen as a repetition."""

SHOWN_CALLS = 12
SHOWN_CHARACTERS = 200

REPEATED = (
    "<system-reminder>\n"
    "You made the same tool calls {} times in a row. Unless you wait for something that changes, "
    "do something else, or tell the user what keeps you from going on.\n"
    "</system-reminder>"
)
MORE_ROUNDS = "Accept goes on, and asks again after as many rounds. Reject ends the turn."
ENDED = "The user ended the turn here: {}."
NOBODY = "No user can be asked whether to go on: {}."

MORE_MONEY = "Accept goes on, for {} more. Reject ends the turn."
SUBJECTS = {"turn": "this turn", "chat": "this chat", "day": "what all chats did today"}

RoundCalls = tuple[tuple[str, str], ...]
"""The calls of a round: names and arguments as sent."""


ROUNDS = question_tool(
    "rounds", "Ask whether a turn that repeats itself, or is very long, goes on."
)
BUDGET = question_tool("budget", "Ask whether work goes on that costs more than its budget.")


class LoopGuard:
    """Counts the rounds of one turn; ``check`` comes before each request."""

    def __init__(self, max_rounds: int) -> None:
        self._max_rounds = max_rounds
        self._left = max_rounds
        self._total = 0
        self._rounds: list[RoundCalls] = []

    def add(self, reply: Reply) -> None:
        """Count the round of a reply."""
        self._total += 1
        self._left -= 1
        self._rounds.append(tuple((call.name, call.arguments) for call in reply.calls))

    def steer(self, messages: tuple[Message, ...]) -> None:
        """Start to compare again where the user wrote something: the rounds after it are new."""
        if any(isinstance(message, UserText) for message in messages):
            self._rounds.clear()

    def check(self, chat: Chat) -> Plan[str]:
        """Ask the user, if it is time to; return why the turn ends, empty if it goes on."""
        why = self._reason_to_ask()
        if not why:
            return ""
        newest = self._rounds[-1] if self._rounds else ()
        end = yield from _ask_to_go_on(chat, ROUNDS, why, (MORE_ROUNDS, "", *_lines(newest)))
        self._left = self._max_rounds
        self._rounds.clear()
        return end

    def note(self) -> Note | None:
        """Return the note to the model for the next request, if there is one."""
        count = self._repeats()
        return Note(REPEATED.format(count)) if count == NOTED_ROUNDS else None

    def _reason_to_ask(self) -> str:
        count = self._repeats()
        if count >= ASKED_ROUNDS:
            return f"the model made the same calls {count} times in a row"
        return f"this turn has made {self._total} requests" if self._left <= 0 else ""

    def _repeats(self) -> int:
        """Return how many times the newest rounds are at the end, one after the other."""
        return max(self._repeats_of(length) for length in range(1, LONGEST_CYCLE + 1))

    def _repeats_of(self, length: int) -> int:
        rounds = self._rounds
        cycle, end, count = rounds[-length:], len(rounds), 0
        while end >= length and rounds[end - length : end] == cycle:
            count, end = count + 1, end - length
        return count


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
        more = MORE_MONEY.format(format_cost(chat.budget.of(scope)))
        end = yield from _ask_to_go_on(chat, BUDGET, why, (more, "", *_costs(chat)))
        if end:
            return end
        chat.spending.grant(scope)
    return ""


def _ask_to_go_on(chat: Chat, tool: Tool, why: str, lines: Iterable[str]) -> Plan[str]:
    """Ask the user; return why the turn ends, empty if it goes on.

    Args:
        tool: what asks.
        why: what is the matter, as a clause.
        lines: what the question shows.
    """
    if not chat.policy.attended:
        return NOBODY.format(why)
    question = f"Go on? {why[0].upper()}{why[1:]}."
    request = make_question(chat, tool, question, "\n".join(lines))
    response = yield from request_approval(request)
    while response.choice == "edit":  # there is nothing to edit
        response = yield from request_approval(request)
    if response.choice != "reject":
        return ""
    end = ENDED.format(why)
    reason = f" Reason: {response.reason}" if response.reason else ""
    yield from record(chat, Record(Note(end + reason)))
    return end


def _lines(calls: RoundCalls) -> list[str]:
    texts = (f"{name} {arguments}"[:SHOWN_CHARACTERS] for name, arguments in calls[:SHOWN_CALLS])
    lines = ["The newest calls:", *texts]
    rest = len(calls) - SHOWN_CALLS
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def _costs(chat: Chat) -> Iterator[str]:
    """Yield what each of them has cost, with its budget."""
    for scope in SCOPES:
        totals, budget = chat.spending.totals(scope), chat.budget.of(scope)
        limit = f"  budget {format_cost(budget)}" if budget is not None else ""
        unknown = f"  {totals.unpriced} without a known price" if totals.unpriced else ""
        yield f"{scope:<5}{format_cost(totals.known_cost):>9}{limit}{unknown}"
