"""What becomes of a command that ran isolated: its result, applied changes, or a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.messages import Status, ToolResult
from agentchat.core.permissions.policy import NOBODY, Decision, Reason, advise_rules
from agentchat.core.permissions.rules import suggest_rules
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.turn.effects import IsolatedCall

NOTHING_CHANGED = "nothing changed"
FILES_CHANGED = "files changed"
CHANGES_APPLIED = "changes of ordinary files applied"
CHANGES_DROPPED = "changes dropped"

DROPPED = (
    "It ran isolated, as the mode is plan: {} changed there, and that was dropped. The project is "
    "as it was."
)
DENIED = "It ran isolated, and what it changed ({}) was not applied."
NOTHING_KEPT = "Nothing of what it changed was applied."

Outcome = Literal["return", "drop", "apply", "ask"]


def judge_outcome(decision: Decision, isolated: IsolatedCall) -> Outcome:
    """Return what happens after an isolated run: whether its changes apply, ask or are dropped."""
    if isolated.changes_nothing:
        return "return"
    if decision.isolated == "drop":
        return "drop"
    return "apply" if decision.isolated == "apply" and not isolated.asks else "ask"


def with_reason(decision: Decision, what: str) -> Decision:
    """Return the decision about an isolated run as the log shows it."""
    return replace(decision, reason=Reason("isolated", what))


def dropped_result(isolated: IsolatedCall) -> ToolResult:
    """Return the result of a command whose changes are dropped by the mode."""
    return _with_line(isolated, DROPPED.format(_summary(isolated)))


def unapplied_result(isolated: IsolatedCall) -> ToolResult:
    """Return the result of a command of whose changes the user kept nothing."""
    return _with_line(isolated, NOTHING_KEPT)


def denied_result(
    call: ValidCall, target: CallTarget, isolated: IsolatedCall, rules_file: str
) -> ToolResult:
    """Return the result of a command whose changes would ask, and nobody is there to answer."""
    rules = [{**rule, "isolated": True} for rule in suggest_rules(call, target)]
    advice = f" {advise_rules(rules, rules_file)}" if rules and not isolated.asks else ""
    line = f"{NOBODY} {DENIED.format(_summary(isolated))}{advice}"
    result = isolated.result
    return replace(result, text=f"{line}\n\n{result.text}", display_text=None, status=Status.DENIED)


def _with_line(isolated: IsolatedCall, line: str) -> ToolResult:
    result = isolated.result
    shown = result.display_text
    return replace(
        result,
        text=f"{result.text}\n\n{line}",
        display_text=None if shown is None else f"{shown}\n\n{line}",
    )


def _summary(isolated: IsolatedCall) -> str:
    change = isolated.preview.change or ChangeSet(())
    return change.summary()
