"""Request the user's approval and interpret the response; what becomes of an isolated run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import Cancelled, StalePreview
from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.core.permissions.grants import hides_characters
from agentchat.core.permissions.policy import (
    EFFECT,
    NOBODY,
    Decision,
    Reason,
    Verdict,
    advise_rules,
)
from agentchat.core.permissions.rules import suggest_rules
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import ArgumentError, Capability, DryRunResult, Metadata, Tool
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    ApprovalRequest,
    ApprovalResponse,
    IsolatedCall,
    Plan,
    RequestApproval,
    do,
)
from agentchat.core.turn.hunk_decisions import (
    apply_decisions,
    rebase_change,
    rejection_reason,
    replace_proposed_texts,
)
from agentchat.core.turn.validate import validate

REBASED = "{} changed since it was shown: this is the change on top of what it is now."
EDIT_LOST = "The text you edited does not fit there any more and is left out."

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


def request_approval(request: ApprovalRequest) -> Plan[ApprovalResponse]:
    """Ask the user; raises Cancelled if the user cancels, which ends the turn."""
    response = yield from do(RequestApproval(request))
    if response.choice == "cancel":
        raise Cancelled
    return response


# --- questions that are not about a call of the model ------------------------------------


class _NoArguments:
    """The schema of a question that is no call of the model's."""

    def __init__(self, name: str) -> None:
        self._name = name

    def schema(self) -> dict[str, object]:
        return {"type": "object"}

    def parse(self, value: object) -> object:
        raise ArgumentError(((self._name, "this is no tool"),))


def question_tool(name: str, description: str) -> Tool:
    """Return what stands for a tool in such a question; it cannot be called."""
    return Tool(
        name=name,
        description=description,
        arguments=_NoArguments(name),
        steps=(),
        metadata=Metadata(destructive=True),
        capability=Capability(dry_run=True),
    )


def make_question(
    chat: Chat,
    tool: Tool,
    question: str,
    text: str,
    *,
    facts: tuple[tuple[str, str], ...] = (),
    draft: str = "",
    problem: str = "",
) -> ApprovalRequest:
    """Return the request that asks ``question`` and shows ``text``.

    Args:
        facts: labels and texts above ``text``.
        draft: a text that the user may edit before it counts.
        problem: why the last response could not be used.
    """
    call = ValidCall(ToolCall(tool.name, tool.name, "{}"), tool, {}, None)
    return ApprovalRequest(
        call,
        CallTarget(chat.environment.cwd, host=chat.environment.host),
        Decision(Verdict.ASK, EFFECT),
        preview=DryRunResult(text=text),
        question=question,
        facts=facts,
        draft=draft,
        problem=problem,
    )


# --- the request after a response ---------------------------------------------------------------


def with_replacements(request: ApprovalRequest, response: ApprovalResponse) -> ApprovalRequest:
    """Return the request with the user's text in place of the proposed one."""
    if request.change is None:
        return request
    change = replace_proposed_texts(request.change, response.replacements)
    return _with_change(request, change, request.original_change or request.change)


def with_kept_hunks(request: ApprovalRequest, response: ApprovalResponse) -> ApprovalRequest | None:
    """Return the request with only the hunks the user keeps; ``None`` if they keep nothing."""
    if request.preview is None:
        return request
    preview = apply_decisions(request.preview, response.hunk_decisions, request.original_change)
    return None if preview is None else replace(request, preview=preview)


def rebased_request(request: ApprovalRequest, last: ApprovalRequest, path: str) -> ApprovalRequest:
    """Return the request to show again because ``path`` changed.

    The text that the user wrote in the last request is kept if it still fits.
    """
    request = replace(request, problem=REBASED.format(path))
    if request.change is None or last.change is None or last.original_change is None:
        return request
    current = {file.origin: file.before for file in request.change.files}
    try:
        rebased = rebase_change(last.change, current)
    except StalePreview:
        return replace(request, problem=f"{request.problem} {EDIT_LOST}")
    return _with_change(request, rebased, request.original_change or request.change)


def is_same_change(request: ApprovalRequest, last: ApprovalRequest) -> bool:
    """Whether a request shows the change that was shown before, so that asking again is useless."""
    return request.change is not None and request.change == (last.original_change or last.change)


def _with_change(
    request: ApprovalRequest, change: ChangeSet, original_change: ChangeSet
) -> ApprovalRequest:
    preview = replace(request.preview or DryRunResult(), change=change)
    return replace(request, preview=preview, original_change=original_change)


def with_arguments(chat: Chat, call: ValidCall, response: ApprovalResponse) -> Plan[ValidCall]:
    """Return the call with the arguments that the user wrote; raises InvalidCall."""
    rewritten = replace(call.call, arguments=response.arguments or "")
    valid = yield from validate(rewritten, chat.toolset)
    return replace(valid, changed_by_user=True)


def result_heading(call: ValidCall) -> str:
    """Return the line before a call's result that reports arguments changed by the user."""
    if not call.changed_by_user:
        return ""
    return f"The user changed the arguments before running: {json.dumps(call.raw_arguments)}"


# --- yes and no ----------------------------------------------------------------------------------


def rejection_message(call: ValidCall, reason: str) -> str:
    """Return the model's message about a rejected call."""
    text = f"User rejected the {call.tool.name} call."
    return f"{text} Reason: {reason}" if reason else text


def response_reason(request: ApprovalRequest, response: ApprovalResponse) -> str:
    """Return why the user rejected a call or some of its hunks."""
    return rejection_reason(response.reason, request.preview, response.hunk_decisions)


def record_consent(chat: Chat, request: ApprovalRequest, response: ApprovalResponse) -> Decision:
    """Return the user's approval as a decision; remember it if the user answered *always*."""
    scope = request.decision.scope
    # A read outside the workspace asks once per path, even if the answer was only *accept*.
    reads_once = request.call.tool.metadata.read_only and bool(request.target.unusual)
    always = response.choice == "always" and offers_always(request)
    if scope is not None and (always or reads_once):
        chat.policy.grants.remember(scope)
    elif scope is not None and response.choice == "turn" and offers_turn(request):
        chat.policy.grants.remember_for_turn(scope)
    # What is applied of an isolated run is a change of files: it can be undone.
    in_overlay = request.decision.in_overlay or request.isolated is not None
    return Decision(
        Verdict.ALLOW,
        Reason("user", response.choice),
        scope,
        in_overlay=in_overlay,
        isolated=request.decision.isolated,
    )


def offers_always(request: ApprovalRequest) -> bool:
    """Whether the user may answer *always*: there is a scope, no rule asks, all text is visible."""
    if request.decision.scope is None or request.decision.reason.kind == "rule":
        return False
    if request.decision.isolated and request.isolated is None:
        return False  # what the command opens is asked about each time
    return not hides_characters(request.call)


def offers_turn(request: ApprovalRequest) -> bool:
    """Whether the user may accept all that the scope covers in this turn: other calls wait."""
    return offers_always(request) and any(call.is_covered for call in request.similar)


def count_use(chat: Chat, decision: Decision) -> None:
    """Count a run under a remembered answer."""
    if decision.scope is not None and chat.policy.grants.covers(decision.scope):
        chat.policy.grants.use(decision.scope)


# --- after an isolated run --------------------------------------------------------------------


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
