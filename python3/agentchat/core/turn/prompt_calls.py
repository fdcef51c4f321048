"""The calls of prompts: the commands and files that ``/name`` puts into the user's message.

The same rules hold as for calls of the model, but no block shows them, and the result becomes part
of the message.
"""

from __future__ import annotations

from dataclasses import replace

from agentchat.core.errors import ToolError
from agentchat.core.messages import Status, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.turn.call import ApprovalQueue, CallAttempt
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    AnswerPromptCall,
    ApprovalRequest,
    FindPromptCalls,
    Plan,
    PromptCall,
    ReadyCall,
    RunPromptCall,
    do,
)
from agentchat.core.turn.validate import validate_for


class PromptCallAttempt(CallAttempt):
    """One call of a prompt on its way to its result."""

    has_block = False

    def __init__(self, chat: Chat, call: ValidCall, prompt: str) -> None:
        super().__init__(chat, call, ApprovalQueue())
        self._prompt = prompt

    def run_ready(self, ready: ReadyCall) -> Plan[ToolResult]:
        """Run the call in the workspace itself."""
        return (yield from do(RunPromptCall(ready)))

    def request(self, target: CallTarget, decision: Decision) -> Plan[ApprovalRequest]:
        """Return the approval request, which names the prompt."""
        request = yield from super().request(target, decision)
        return replace(request, prompt=self._prompt, can_try=False)


def run_prompt_calls(chat: Chat) -> Plan[None]:
    """Run what the waiting messages call, in order, each with its own question."""
    for prompt_call in (yield from do(FindPromptCalls())):
        result = yield from _run(chat, prompt_call)
        yield from do(AnswerPromptCall(result))


def _run(chat: Chat, prompt_call: PromptCall) -> Plan[ToolResult]:
    call = prompt_call.call
    tool = chat.toolset.known(call.name)
    if tool is None:
        text = chat.toolset.unknown_tool_message(call.name)
        return ToolResult(call.id, call.name, text, Status.ERROR)
    try:
        valid = yield from validate_for(call, tool)
    except ToolError as error:
        return ToolResult(call.id, call.name, str(error), Status.ERROR)
    return (yield from PromptCallAttempt(chat, valid, prompt_call.prompt).outcome())
