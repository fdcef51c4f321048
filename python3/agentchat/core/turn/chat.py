"""The state of one chat that its plan reads and changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from agentchat.core.limits import MAX_ROUNDS
from agentchat.core.messages import History
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, forbidden
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.preview_stack import PreviewStack

log = logging.getLogger(__name__)

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
    """One chat: what it may call, what was said, decided and staged, and its turn number."""

    uuid: str
    toolbox: Toolset
    surroundings: Environment
    policy: Policy = field(default_factory=lambda: Policy(Grants()))
    pending: PreviewStack = field(default_factory=PreviewStack)
    history: History = field(default_factory=History)
    turn: int = 0
    max_rounds: int = MAX_ROUNDS
    """Requests of one turn before the user is asked whether to go on."""

    def request(self) -> ModelRequest:
        """Return what to send the model now."""
        mode = self.policy.mode
        tools = tuple(tool for tool in self.toolbox.offered() if not forbidden(mode, tool))
        resolve = self.toolbox.find(RESOLVE)
        if self.pending.newest() is not None and resolve is not None:
            tools = (*tools, resolve)
        waiting = len(self.pending) > 0
        return ModelRequest(
            system=self._system(tools),
            history=self.history.with_stops(),
            tools=tuple(_described(tool, self.surroundings) for tool in tools),
            forced=RESOLVE if waiting else None,
            reminder=REMINDER if waiting else None,
            chat=self.uuid,
        )

    def _system(self, tools: tuple[Tool, ...]) -> str:
        groups, silent = self.toolbox.given_groups(), self.toolbox.tools_without_prompt()
        said = system_prompt(tools, groups, self.surroundings, silent)
        return f"{said}\n\n{PLANNING}" if self.pending.standing is not None else said


def _described(tool: Tool, surroundings: Environment) -> Tool:
    if tool.describe is None:
        return tool
    try:
        return replace(tool, description=tool.describe(surroundings))
    except Exception:
        log.exception("%s could not describe itself", tool.name)
        return tool
