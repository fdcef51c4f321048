"""Approval requests of one chat that wait at the same time."""

from __future__ import annotations

import asyncio

from agentchat.agent.permissions.approvals import Approvals
from agentchat.core.messages import ToolResult
from agentchat.core.permissions.policy import EFFECT, Decision, Verdict
from agentchat.core.permissions.rules import Rule
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse, IsolatedCall
from tests.agent.scene import KeptScreen
from tests.core.turn.world import a_call, a_chat, a_tool

BASH = a_tool("bash")
EDIT = a_tool("edit")


class Observer:
    """Counts how often the status is shown."""

    def refresh(self) -> None:
        pass

    def add_note(self, text: str) -> None:
        pass


class Asked:
    """Some requests of one chat, asked in order."""

    def __init__(self, *requests: ApprovalRequest) -> None:
        self.chat = a_chat(BASH, EDIT)
        self.screen = KeptScreen()
        self.approvals = Approvals(
            self.chat, view=self.screen, rule_store=None, observer=Observer()
        )
        self.tasks = [asyncio.ensure_future(self.approvals.ask(one)) for one in requests]

    async def shown(self) -> str:
        """Return the id of the request that is shown."""
        await self.screen.until(lambda: bool(self.screen.questions))
        (id,) = self.screen.questions
        return id


def a_request(name: str = "bash", isolated: IsolatedCall | None = None) -> ApprovalRequest:
    tool = {"bash": BASH, "edit": EDIT}[name]
    call = ValidCall(a_call("1", name), tool, {}, None)
    return ApprovalRequest(
        call, CallTarget("/ws", command=None), Decision(Verdict.ASK, EFFECT), isolated=isolated
    )


async def test_requests_are_shown_one_after_the_other_and_none_is_lost() -> None:
    asked = Asked(a_request(), a_request("edit"), a_request())
    first = await asked.shown()
    assert asked.approvals.count == 3
    assert asked.approvals.is_open(first)
    for number, choice in enumerate(("accept", "reject", "always"), 1):
        id = await asked.shown()
        assert asked.approvals.answer(id, ApprovalResponse(choice))  # type: ignore[arg-type]
        assert not asked.approvals.answer(id, ApprovalResponse("cancel"))
        assert (await asked.tasks[number - 1]).choice == choice
    assert asked.approvals.count == 0
    assert not asked.approvals.answer(first, ApprovalResponse("accept"))
    prompts = [data["prompt"] for data in asked.screen.named("AgentApprovalRequested")]
    answered = asked.screen.named("AgentApprovalAnswered")
    assert prompts == [data["prompt"] for data in answered]
    assert [data["choice"] for data in answered] == ["accept", "reject", "always"]


async def test_one_that_is_cancelled_while_it_waits_is_never_shown() -> None:
    asked = Asked(a_request(), a_request("edit"), a_request())
    first = await asked.shown()
    asked.tasks[1].cancel()
    await asyncio.wait({asked.tasks[1]})
    assert await asked.shown() == first
    asked.tasks[0].cancel()
    await asked.screen.until(lambda: first not in asked.screen.questions)
    asked.approvals.answer(await asked.shown(), ApprovalResponse("accept"))
    assert (await asked.tasks[2]).choice == "accept"
    tools = [data["tool"] for data in asked.screen.named("AgentApprovalRequested")]
    assert tools == ["bash", "bash"]


async def test_a_mode_answers_every_request_that_it_decides() -> None:
    asked = Asked(a_request("edit"), a_request(), a_request("edit"))
    await asked.shown()
    asked.chat.policy.mode = "edit"
    asked.approvals.judge_again()
    first, last = await asyncio.gather(asked.tasks[0], asked.tasks[2])
    assert first.decision == last.decision
    assert not asked.tasks[1].done()
    asked.approvals.answer(await asked.shown(), ApprovalResponse("reject"))
    await asked.tasks[1]


async def test_no_mode_accepts_what_an_isolated_command_changed_and_a_deny_rule_drops_it() -> None:
    asked = Asked(a_request("edit", IsolatedCall(ToolResult("1", "edit", "done"), DryRunResult())))
    await asked.shown()
    for mode in ("edit", "yolo", "stage", "plan"):
        asked.chat.policy.mode = mode
        asked.approvals.judge_again()
    asked.chat.policy.mode, asked.chat.policy.rules = "ask", (Rule("allow", "edit"),)
    asked.approvals.judge_again()
    assert not asked.tasks[0].done()
    asked.chat.policy.mode, asked.chat.policy.rules = "ask", (Rule("deny", "edit"),)
    asked.approvals.judge_again()
    response = await asked.tasks[0]
    assert response.decision is not None
    assert response.decision.verdict is Verdict.DENY
