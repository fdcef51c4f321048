"""The gate under test: a session with the real tools and workspace, or the decision alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentchat.agent.execution.locate import locate_call
from agentchat.core.messages import Reply, Status, ToolCall, ToolResult
from agentchat.core.permissions import policy as judged
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, Verdict, decide
from agentchat.core.permissions.rules import Rule
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.tools.builtin import ast_edit, bash, delete, edit, find, grep, read, write
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls

RUN, ASK, REFUSE = "RUN", "ASK", "REFUSE"
TOOLS: tuple[Tool, ...] = (
    bash.TOOL, write.TOOL, edit.TOOL, delete.TOOL, read.TOOL, grep.TOOL, find.TOOL, ast_edit.TOOL
)  # fmt: skip
DONE = Reply("Done.")


def allow(*words: str, tool: str = "bash") -> tuple[Rule, ...]:
    """Return rules that allow commands with these first words."""
    return tuple(Rule("allow", tool, words=tuple(text.split())) for text in words)


class Chat:
    """One chat whose model calls what the test says."""

    def __init__(self, root: Path, *rules: Rule) -> None:
        self.scene = Scene(root, [], *TOOLS)
        self.scene.chat.policy.rules = rules
        self._calls = 0

    @property
    def policy(self) -> Policy:
        return self.scene.chat.policy

    async def call(self, tool: str, answer: str = "reject", **given: Any) -> str:
        """Let the model make one call; return what the gate did, answering if it asked."""
        self._calls += 1
        call = a_call(str(self._calls), tool, json.dumps(given))
        self.scene.model.replies[:] = [calls(call), DONE]
        turns = len(self.scene.screen.named("AgentTurnFinished"))
        self.scene.session.send("go")
        screen = self.scene.screen

        def over() -> bool:
            return len(screen.named("AgentTurnFinished")) > turns

        await screen.until(lambda: bool(screen.questions) or over())
        asked = bool(screen.questions)
        if asked:
            self.question = next(iter(screen.questions.values()))
            await self.scene.answer(answer)
        await screen.until(over)
        if asked:
            return ASK
        refused = self.result().status is Status.DENIED or (tool != "bash" and self.failed())
        return REFUSE if refused else RUN

    question: ApprovalRequest

    async def bash(self, command: str, answer: str = "reject") -> str:
        return await self.call("bash", answer, command=command)

    def result(self) -> ToolResult:
        """Return the result of the last call."""
        return [m for m in self.scene.chat.history.messages if isinstance(m, ToolResult)][-1]

    def failed(self) -> bool:
        return self.result().status is Status.ERROR


class Decision:
    """The decision about a command, without a session: for many commands."""

    def __init__(self, root: Path, rules: Sequence[Rule], grants: Grants | None = None) -> None:
        self._workspace = LocalWorkspace(str(root))
        self._policy = Policy(grants or Grants(), rules=tuple(rules))

    async def allows(self, command: str) -> bool:
        return (await self._decided(command)).verdict is Verdict.ALLOW

    async def remembers(self, command: str) -> bool:
        """Answer a command with *always*; return whether that is offered."""
        scope = (await self._decided(command)).scope
        if scope is not None:
            self._policy.grants.remember(scope)
        return scope is not None

    async def _decided(self, command: str) -> judged.Decision:
        given = {"command": command}
        arguments = bash.TOOL.arguments.parse(given)
        call = ValidCall(ToolCall("1", "bash", json.dumps(given)), bash.TOOL, given, arguments)
        target = await locate_call(call, self._workspace)
        return decide(call, target, self._policy)
