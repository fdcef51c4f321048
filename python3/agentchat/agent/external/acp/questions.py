"""The questions of an agent: judged by the chat's policy, shown in its float, answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from agentchat.agent.execution.locate import locate_call
from agentchat.agent.external.acp.calls import (
    AgentCall,
    described_tools,
    proposed_change,
    valid_call,
)
from agentchat.core.errors import ToolError
from agentchat.core.permissions.policy import Decision, Verdict, decide
from agentchat.core.tools.call import CallTarget
from agentchat.core.tools.tool import DryRunResult, Tool
from agentchat.core.turn.approval_request import count_use, record_consent
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse
from agentchat.core.turn.view import ToolBlock, View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.entries import response_record
from agentchat.journal.writer import JournalWriter

SILENT = "{} does not say what it wants to do."
WHOLE = "{} writes by itself: its change is accepted or rejected as a whole."
AS_IT_IS = "What {} wants to do cannot be edited: accept or reject it."
NO_YES = "{} offers no answer that allows this just once."

T = TypeVar("T")
Option = Mapping[str, Any]
Outcome = dict[str, Any]
CANCELLED: Outcome = {"outcome": {"outcome": "cancelled"}}


class Asks(Protocol):
    """Shows requests to the user, by arrival."""

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse:
        """Show a request in its turn and wait for its response; cancelling closes it."""

    async def refresh(self) -> None:
        """Read the rules again."""


class Questions:
    """Answers the questions of one agent.

    Args:
        reject: is told the call and the user's reason when a call is rejected.
        cancel: stops the agent, after the user's answer *cancel*.
    """

    def __init__(
        self,
        name: str,
        chat: Chat,
        *,
        workspace: Workspace,
        approvals: Asks,
        view: View,
        journal: JournalWriter,
        reject: Callable[[AgentCall, str], None],
        cancel: Callable[[], None],
    ) -> None:
        self._name = name
        self._tools = {tool.name: tool for tool in described_tools(name)}
        self._chat = chat
        self._workspace = workspace
        self._approvals = approvals
        self._view = view
        self._journal = journal
        self._reject = reject
        self._cancel = cancel
        self._open: set[asyncio.Future[Any]] = set()

    async def answer(self, call: AgentCall, options: Sequence[Option]) -> Outcome:
        """Return the answer to a permission request; ``CANCELLED`` once they are all cancelled."""
        return await self._unless_cancelled(self._answer(call, options), CANCELLED)

    async def may_write(self, call: AgentCall) -> bool:
        """Return whether a file may be written that nobody was asked about."""
        return await self._unless_cancelled(self._may_write(call), False)

    def cancel_all(self) -> None:
        """Close the open questions; each is answered as cancelled."""
        for question in tuple(self._open):
            question.cancel()

    async def _unless_cancelled(self, work: Awaitable[T], otherwise: T) -> T:
        question = asyncio.ensure_future(work)
        self._open.add(question)
        try:
            await asyncio.wait({question})
        except asyncio.CancelledError:
            question.cancel()
            raise
        finally:
            self._open.discard(question)
        return otherwise if question.cancelled() else question.result()

    # --- one question -----------------------------------------------------------------------------

    async def _answer(self, call: AgentCall, options: Sequence[Option]) -> Outcome:
        yes, no = _first(options, "allow_once"), _first(options, "reject_once")
        request = await self._request(call, _option_facts(self._name, options))
        verdict: Verdict | None = self._judge(request, may_allow=yes is not None)
        if verdict is Verdict.ASK:
            response = await self._ask(call, request, has_yes=yes is not None)
            verdict = self._take(call, request, response)
        if verdict is None:
            return CANCELLED
        return _selected(yes if verdict is Verdict.ALLOW else no)

    async def _may_write(self, call: AgentCall) -> bool:
        request = await self._request(call, ())
        verdict: Verdict | None = self._judge(request, may_allow=True)
        if verdict is Verdict.ASK:
            verdict = self._take(call, request, await self._ask(call, request, has_yes=True))
        return verdict is Verdict.ALLOW

    async def _request(
        self, call: AgentCall, facts: tuple[tuple[str, str], ...]
    ) -> ApprovalRequest:
        """Return the request about a call with what is known of it."""
        await self._approvals.refresh()
        valid = valid_call(call, self._tool(call, facts))
        try:
            target = await locate_call(valid, self._workspace)
            decision = decide(valid, target, self._chat.policy)
        except ToolError as error:  # it names what cannot be: only the user can judge that
            target = CallTarget(self._workspace.root)
            decision = replace(decide(valid, target, self._chat.policy), scope=None)
            return ApprovalRequest(valid, target, decision, problem=str(error))
        request = ApprovalRequest(valid, target, decision, preview=await self._preview(call))
        if call.says_nothing:
            decision = replace(decision, verdict=Verdict.ASK, scope=None)
            return replace(request, decision=decision, problem=SILENT.format(self._name))
        return request

    def _tool(self, call: AgentCall, facts: tuple[tuple[str, str], ...]) -> Tool:
        tool = self._tools[call.tool]
        title = (("says", call.title),) if call.title not in ("", call.command) else ()
        return replace(tool, facts=lambda: (*title, *facts))

    async def _preview(self, call: AgentCall) -> DryRunResult | None:
        change, text = await proposed_change(call, self._workspace)
        if change is None and not text:
            return None
        notes = ("A part of it is not shown: its place is unknown.",) if change and text else ()
        return DryRunResult(change, text, notes)

    def _judge(self, request: ApprovalRequest, *, may_allow: bool) -> Verdict:
        """Return what mode, rules and remembered answers say, and record it if they decide."""
        decision = request.decision
        if decision.verdict is Verdict.ASK or (decision.verdict is Verdict.ALLOW and not may_allow):
            return Verdict.ASK
        count_use(self._chat, decision)
        self._journal.add(_decided(request, decision))
        return decision.verdict

    async def _ask(
        self, call: AgentCall, request: ApprovalRequest, *, has_yes: bool
    ) -> ApprovalResponse:
        """Return the user's answer, once it is one that an agent can be given."""
        if call.shown.is_set():
            self._view.update_block(call.id, ToolBlock(state="waiting"))
        while True:
            response = await self._approvals.ask(request)
            problem = self._problem(response, has_yes=has_yes)
            if not problem:
                return response
            request = replace(request, problem=problem)

    def _problem(self, response: ApprovalResponse, *, has_yes: bool) -> str:
        """Return why an answer cannot be given to the agent; empty if it can."""
        if response.choice == "edit":
            return AS_IT_IS.format(self._name)
        if response.choice in ("reject", "cancel"):
            return ""
        if any(not decision.keep for decision in response.hunk_decisions):
            return WHOLE.format(self._name)
        return "" if has_yes else NO_YES.format(self._name)

    def _take(
        self, call: AgentCall, request: ApprovalRequest, response: ApprovalResponse
    ) -> Verdict | None:
        """Record the user's answer; ``None`` if the user cancelled the turn."""
        if response.decision is not None:  # a rule or the mode decides it now
            self._journal.add(_decided(request, response.decision))
        else:
            self._journal.add(response_record(request, response))
        if response.choice == "cancel":
            # The answer is sent first: some agents end a turn only when all are answered.
            asyncio.get_running_loop().call_soon(self._cancel)
            return None
        if response.choice == "reject":
            call.is_rejected = True
            self._reject(call, response.reason)
            return Verdict.DENY
        if response.decision is None:
            record_consent(self._chat, request, response)
        if call.shown.is_set():
            self._view.update_block(call.id, ToolBlock(state="running"))
        return Verdict.ALLOW


def _decided(request: ApprovalRequest, decision: Decision) -> r.DecisionMade:
    call, scope = request.call, decision.scope
    return r.DecisionMade(
        call_id=call.call.id,
        tool=call.tool.name,
        scope=scope.description if scope else "",
        verdict=decision.verdict.value,
        why=decision.reason_text,
        who="policy",
    )


def _first(options: Sequence[Option], kind: str) -> Option | None:
    return next((option for option in options if option.get("kind") == kind), None)


def _selected(option: Option | None) -> Outcome:
    if option is None:
        return CANCELLED
    return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}


def _option_facts(name: str, options: Sequence[Option]) -> tuple[tuple[str, str], ...]:
    """Return the words of the agent's options, and how many more there are."""
    yes, no = _first(options, "allow_once"), _first(options, "reject_once")
    named = (("a", yes), ("r", no))
    words = [(key, str(option.get("name") or "")) for key, option in named if option]
    more = len(options) - len(words)
    if more > 0:
        words.append(("also", f"{more} more of {name}'s own, not offered here"))
    return tuple(words)
