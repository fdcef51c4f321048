"""The state of one chat: the plan reads and changes it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Literal

from agentchat.core.context.context import ChatContext
from agentchat.core.context.meter import ContextMeter
from agentchat.core.limits import MAX_ROUNDS
from agentchat.core.messages import History
from agentchat.core.model import ModelRequest
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.spending import Budget, Spending
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.todo import TodoList
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.preview_stack import PreviewStack

log = logging.getLogger(__name__)

CompactSetting = Literal["ask", "auto", "off"]
"""What happens by itself when the window is nearly full: a question, a summary, or nothing."""

RESOLVE = "resolve"
PLANNING = (
    "<system-reminder>\n"
    "You are in plan mode: nothing but reading is allowed, other calls are refused; commands run "
    "isolated, where that is possible, and what they change is dropped. Work out what "
    "to do, write the plan as the text of your reply, and submit it in the same reply by calling "
    "`resolve` with the action apply, a reason of one sentence and a title in extra. The user "
    "approves it, which leaves plan mode, or tells you what to change.\n"
    "</system-reminder>"
)
STAGING = (
    "You are in stage mode: your tools work on an overlay of the workspace, so nothing in the "
    "user's project changes until the user has reviewed what you did, after your last reply. Work "
    "freely and do not ask for permission. Commands have no network (set network to true to ask "
    "the user for it) and cannot write outside the workspace and /tmp."
)
TODO = "<system-reminder>\nThe todo list, as the user sees it:\n{}\n</system-reminder>"
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
    spending: Spending = field(default_factory=Spending)
    budget: Budget = field(default_factory=Budget)
    todo: TodoList = field(default_factory=TodoList)
    context: ChatContext = field(default_factory=ChatContext)
    meter: ContextMeter = field(default_factory=ContextMeter)
    window: int | None = None
    compact: CompactSetting = "ask"
    requested_focus: str | None = None
    """What the summary must keep that the user asked for during a turn; ``None``: none is."""
    asked_at: int = 0
    """The used tokens when the user was last asked about a summary, or one was written."""

    def used_tokens(self) -> int:
        """Return the tokens of the conversation as it is sent, counted or estimated."""
        return self.meter.used(self.history, self.context, self.request)

    def request(self) -> ModelRequest:
        """Return the request for the model.

        Nothing before its tail depends on mode, previews or what searches found: then a server
        reads all of it from its cache. The tools of a chat stay in the request in plan mode, where
        the policy refuses their calls; what the model must know of the moment is the reminder.
        """
        toolset, resolve = self.toolset, self.toolset.find(RESOLVE)
        resolving = (resolve,) if resolve is not None else ()
        search = toolset.search_tool()
        constant = (*toolset.loaded(), *((search,) if search is not None else ()))
        late = toolset.deferrable()
        offered = toolset.offered() + (
            resolving if self.previews.newest_for_model() is not None else ()
        )
        return ModelRequest(
            system=self._system(constant),
            history=self.context.view(self.history).with_stops(),
            tools=self._described(offered),
            forced=RESOLVE if self.previews.must_be_resolved else None,
            reminder=self._reminder(),
            chat=self.uuid,
            used_ids=self.context.used_ids,
            catalogue=self._described((*constant, *resolving, *late)),
            deferrable=frozenset(tool.name for tool in late),
            forbidden=frozenset(t.name for t in offered if self.policy.forbids(t)),
        )

    def _system(self, tools: tuple[Tool, ...]) -> str:
        groups, silent = self.toolset.given_groups(), self.toolset.tools_without_prompt()
        return system_prompt(tools, groups, self.environment, silent)

    def _reminder(self) -> str | None:
        """Return what the model must know for this request only."""
        mode = PLANNING if self.previews.standing is not None else ""
        mode = STAGING if self.policy.mode == "stage" else mode
        pending = REMINDER if self.previews.must_be_resolved else ""
        todo = TODO.format(self.todo.text()) if self.todo.items else ""
        return "\n\n".join(filter(None, (todo, mode, pending))) or None

    def _described(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        return tuple(_with_description(tool, self.environment) for tool in tools)


def _with_description(tool: Tool, environment: Environment) -> Tool:
    if tool.describe is None:
        return tool
    try:
        return replace(tool, description=tool.describe(environment))
    except Exception:
        log.exception("%s could not describe itself", tool.name)
        return tool
