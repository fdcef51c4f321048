"""The state of one chat: the plan reads and changes it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Literal

from agentchat.core.context.context import ChatContext
from agentchat.core.context.meter import ContextMeter
from agentchat.core.limits import MAX_ROUNDS
from agentchat.core.messages import History
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, mode_forbids
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.preview_stack import PreviewStack

log = logging.getLogger(__name__)

CompactSetting = Literal["ask", "auto", "off"]
"""What happens by itself when the window is nearly full: a question, a summary, or nothing."""

RESOLVE = "resolve"
PLANNING = (
    "You are in plan mode: nothing but reading is allowed. Work out what to do, write the plan as "
    "the text of your reply, and submit it in the same reply by calling `resolve` with the action "
    "apply, a reason of one sentence and a title in extra. The user approves it, which leaves plan "
    "mode, or tells you what to change."
)
REMINDER = (
    "<system-reminder>\n"
    "This is a preview. Call the `resolve` tool to apply or discard these changes.\n"
    "</system-reminder>"
)


@dataclass
class Chat:
    """One chat: its tools, policy, previews, history and turn number.

    ``window`` is the context window of the model in tokens, ``None`` while it is not known.
    """

    uuid: str
    toolset: Toolset
    environment: Environment
    policy: Policy = field(default_factory=lambda: Policy(Grants()))
    previews: PreviewStack = field(default_factory=PreviewStack)
    history: History = field(default_factory=History)
    turn: int = 0
    max_rounds: int = MAX_ROUNDS
    """Requests of one turn before the user is asked whether to go on."""
    context: ChatContext = field(default_factory=ChatContext)
    meter: ContextMeter = field(default_factory=ContextMeter)
    window: int | None = None
    compact: CompactSetting = "ask"
    requested_focus: str | None = None
    """What a summary must keep that the user asked for while a turn ran; ``None``: none is asked."""
    asked_at: int = 0
    """The used tokens when the user was last asked about a summary, or one was written."""

    def used_tokens(self) -> int:
        """Return the tokens of the conversation as it is sent, counted or estimated."""
        return self.meter.used(self.history, self.context, self.request)

    def request(self) -> ModelRequest:
        """Return the request for the model."""
        mode = self.policy.mode
        tools = tuple(tool for tool in self.toolset.offered() if not mode_forbids(mode, tool))
        resolve = self.toolset.find(RESOLVE)
        if self.previews.newest() is not None and resolve is not None:
            tools = (*tools, resolve)
        unresolved = len(self.previews) > 0
        return ModelRequest(
            system=self._system(tools),
            history=self.context.view(self.history).with_stops(),
            tools=tuple(_with_description(tool, self.environment) for tool in tools),
            forced=RESOLVE if unresolved else None,
            reminder=REMINDER if unresolved else None,
            chat=self.uuid,
            used_ids=self.context.used_ids,
        )

    def _system(self, tools: tuple[Tool, ...]) -> str:
        groups, silent = self.toolset.given_groups(), self.toolset.tools_without_prompt()
        prompt = system_prompt(tools, groups, self.environment, silent)
        return f"{prompt}\n\n{PLANNING}" if self.previews.standing is not None else prompt


def _with_description(tool: Tool, environment: Environment) -> Tool:
    if tool.describe is None:
        return tool
    try:
        return replace(tool, description=tool.describe(environment))
    except Exception:
        log.exception("%s could not describe itself", tool.name)
        return tool
