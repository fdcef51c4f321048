"""The parts of a chat, and what each is connected to.

A part is made when it is first asked for, with the parts it needs, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from agentchat.agent.attachments import Attachments
from agentchat.agent.chat_tools import ChatTools, ToolFiles
from agentchat.agent.code_inserts import CodeInserts
from agentchat.agent.compaction import CompactionCommands
from agentchat.agent.execution.previews import Previews
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.execution.tool_runner import ToolRunner
from agentchat.agent.external.acp.agent_turn import agent_turn
from agentchat.agent.external.acp.chat_agent import ChatAgent
from agentchat.agent.external.acp.known_agents import AgentDefinition
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.interpreter import Interpreter
from agentchat.agent.jobs import BackgroundJobs, Job, Jobs
from agentchat.agent.message_queue import MessageQueue
from agentchat.agent.modes.mode import Mode
from agentchat.agent.modes.plan import PlanMode
from agentchat.agent.modes.stage import Stage
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.agent.preparation import Preparation
from agentchat.agent.preview_actions import PreviewActions
from agentchat.agent.prompts.expanded_prompt import PromptExpander, TurnModel
from agentchat.agent.prompts.rules_files import RulesFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.agent.spending import Ledger, SpendingRecorder
from agentchat.agent.status import ContextWindow, ModelSource, ObservedFrontend
from agentchat.agent.undo.changes import AppliedChanges
from agentchat.agent.undo.commands import UndoCommands
from agentchat.core.frontend import Frontend
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Plan
from agentchat.core.turn.loop import TurnEnd, turn
from agentchat.core.turn.view import Observer, View
from agentchat.core.workspace import Workspace
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.overlay.isolation import Isolation
from agentchat.workspace.overlay.workspace import OverlayWorkspace


class CommandObserver(Observer, Protocol):
    """A session, which also carries out the user's commands one at a time."""

    def add_command(self, job: Job) -> None:
        """Run a command of the user when no turn runs; refuse it while one does."""


class SessionObserver:
    """Passes on to the session what its parts report, once it is there."""

    session: CommandObserver | None = None

    def refresh(self) -> None:
        """Show the status of the chat as it is now."""
        if self.session is not None:
            self.session.refresh()

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""
        if self.session is not None:
            self.session.add_note(text)

    def add_command(self, job: Job) -> None:
        """Run a command of the user when no turn runs; refuse it while one does."""
        if self.session is not None:
            self.session.add_command(job)


@dataclass(kw_only=True)
class SessionParts:
    """What one chat is made of.

    Args:
        agent: the agent of another program whose calls the chat runs, if it is such a chat.
        partner: the agent of another program that the chat is with, instead of a model.
    """

    chat: Chat
    workspace: Workspace
    view: View
    journal: JournalWriter
    results: ResultStore
    model: ModelSource
    max_parallel: int
    frontend: Frontend | None = None
    rule_store: RuleStore | None = None
    tool_files: ToolFiles | None = None
    ledger: Ledger | None = None
    overlay: OverlayWorkspace | None = None
    isolation: Isolation | None = None
    agent: ExternalAgent | None = None
    partner: AgentDefinition | None = None
    commands: SlashCommands = field(default_factory=SlashCommands)
    turn_model: TurnModel | None = None
    skills: Skills | None = None
    observer: SessionObserver = field(default_factory=SessionObserver)

    def __post_init__(self) -> None:
        isolation = self.isolation
        self.chat.policy.has_overlay = isolation is not None and not isolation.why_impossible()
        if self.skills is not None:
            self.commands.add(self.skills)

    # --- who answers ------------------------------------------------------------------------------

    @cached_property
    def chat_agent(self) -> ChatAgent | None:
        """The agent that the chat is with, if it is not with a model."""
        if self.partner is None:
            return None
        return ChatAgent(
            self.partner,
            self.chat,
            workspace=self.workspace,
            approvals=self.approvals,
            view=self.view,
            journal=self.journal,
            say=lambda text: self.queue.add("", {}, text),
        )

    @property
    def model_source(self) -> ModelSource:
        """Chooses who answers."""
        return self.chat_agent or self.model

    @property
    def plan_turn(self) -> Callable[[Chat], Plan[TurnEnd]]:
        """Plans a turn with who answers."""
        return turn if self.chat_agent is None else agent_turn

    # --- what runs beside the turns ---------------------------------------------------------------

    @cached_property
    def background(self) -> BackgroundJobs:
        """Work that the chat waits for when it is closed."""
        return BackgroundJobs(self.view)

    @cached_property
    def warm_up(self) -> BackgroundJobs:
        """Work that closing the chat cancels."""
        return BackgroundJobs(self.view)

    @cached_property
    def jobs(self) -> Jobs:
        """The commands of the user that wait for turns, and turns for them."""
        return Jobs(self.view, self.background)

    @cached_property
    def window(self) -> ContextWindow:
        """The context window of the chat's model."""
        return ContextWindow(self.chat, self.model_source, self.warm_up, observer=self.observer)

    @cached_property
    def observed_frontend(self) -> ObservedFrontend | None:
        """The editor as tools see it."""
        return ObservedFrontend(self.frontend, self.observer) if self.frontend is not None else None

    # --- from the prompt to the first request -----------------------------------------------------

    @cached_property
    def expander(self) -> PromptExpander:
        """Replaces slash commands by their text."""
        return PromptExpander(self.commands, self.workspace, self.turn_model)

    @cached_property
    def rules_files(self) -> RulesFiles:
        """The instructions of the project."""
        return RulesFiles(self.workspace)

    @cached_property
    def tools(self) -> ChatTools:
        """The tools of the chat."""
        return ChatTools(self.chat, self.view, self.journal, self.tool_files)

    @cached_property
    def preparation(self) -> Preparation:
        """What is ready before a turn."""
        return Preparation(self.chat, self.workspace, self.tools, self.rules_files, self.skills)

    @cached_property
    def attachments(self) -> Attachments:
        """What mentions add to a prompt."""
        return Attachments(
            self.workspace,
            self.results,
            self.frontend,
            touch=self.rules_files.touch,
            start=lambda: self.chat.context.start,
            read_resource=self.tools.read_resource,
        )

    @cached_property
    def queue(self) -> MessageQueue:
        """The messages of the user that no request has carried yet."""
        return MessageQueue(
            view=self.view,
            preparation=self.preparation,
            tools=self.tools,
            attachments=self.attachments,
            notes=lambda: self.rules_files.take_notes(self.chat.context.start),
            expander=self.expander,
        )

    # --- questions, previews and modes ------------------------------------------------------------

    @cached_property
    def approvals(self) -> Approvals:
        """The questions to the user."""
        return Approvals(
            self.chat, view=self.view, rule_store=self.rule_store, observer=self.observer
        )

    @cached_property
    def previews(self) -> Previews:
        """The changes that wait for apply or discard."""
        return Previews(
            self.chat.previews,
            workspace=self.workspace,
            overlay=self.overlay,
            view=self.view,
            journal=self.journal,
            observer=self.observer,
        )

    @cached_property
    def preview_actions(self) -> PreviewActions:
        """What the user does with a preview."""
        return PreviewActions(
            self.chat.previews,
            approvals=self.approvals,
            previews=self.previews,
            view=self.view,
            background=self.background,
            add_command=self.observer.add_command,
            observer=self.observer,
        )

    @cached_property
    def code_inserts(self) -> CodeInserts:
        """Code of an answer that goes into a file."""
        return CodeInserts(workspace=self.workspace, previews=self.previews, view=self.view)

    @cached_property
    def stage(self) -> Stage:
        """Stage mode."""
        return Stage(
            self.chat,
            self.overlay,
            workspace=self.workspace,
            previews=self.previews,
            approvals=self.approvals,
            view=self.view,
            journal=self.journal,
        )

    @cached_property
    def mode(self) -> Mode:
        """The mode of the chat, and its changes."""
        return Mode(
            PlanMode(self.chat, self.journal),
            self.stage,
            approvals=self.approvals,
            view=self.view,
            observer=self.observer,
        )

    # --- turns, undo and compaction ---------------------------------------------------------------

    @cached_property
    def runner(self) -> ToolRunner:
        """Runs the tools."""
        return ToolRunner(
            self.workspace,
            view=self.view,
            journal=self.journal,
            previews=self.previews,
            results=self.results,
            toolbox=self.chat.toolset,
            policy=self.chat.policy,
            todo=self.chat.todo,
            overlay=self.overlay,
            isolation=self.isolation,
            frontend=self.observed_frontend,
        )

    @cached_property
    def interpreter(self) -> Interpreter:
        """Plays the turns."""
        return Interpreter(
            view=self.view,
            journal=self.journal,
            runner=self.runner,
            previews=self.previews,
            approvals=self.approvals,
            stage=self.stage,
            queue=self.queue,
            touch=self.rules_files.touch,
            preparation=self.preparation,
            model=self.model_source,
            spending=SpendingRecorder(self.chat, self.view, self.ledger),
            max_parallel=self.max_parallel,
            observer=self.observer,
            take_results=self.chat_agent.take_results if self.chat_agent else tuple,
        )

    @cached_property
    def undo_commands(self) -> UndoCommands:
        """Undo and redo."""
        return UndoCommands(
            self.chat.toolset,
            workspace=self.workspace,
            view=self.view,
            journal=self.journal,
            runner=self.runner,
            observer=self.observer,
        )

    @cached_property
    def changes(self) -> AppliedChanges:
        """The review of what was changed."""
        return AppliedChanges(
            workspace=self.workspace,
            view=self.view,
            journal=self.journal,
            observer=self.observer,
        )

    @cached_property
    def compaction(self) -> CompactionCommands:
        """Summaries at the user's command."""
        return CompactionCommands(
            self.chat,
            interpreter=self.interpreter,
            view=self.view,
            journal=self.journal,
            observer=self.observer,
        )
