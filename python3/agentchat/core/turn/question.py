"""Questions to the user that are not about a call of the model."""

from __future__ import annotations

from agentchat.core.messages import ToolCall
from agentchat.core.permissions.policy import EFFECT, Decision, Verdict
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import ArgumentError, Capability, DryRunResult, Metadata, Tool
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest


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
    chat: Chat, tool: Tool, question: str, text: str, *, draft: str = "", problem: str = ""
) -> ApprovalRequest:
    """Return the request that asks ``question`` and shows ``text``.

    Args:
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
        draft=draft,
        problem=problem,
    )
