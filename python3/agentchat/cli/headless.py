"""A chat without Neovim: nobody can answer, so only what rules and modes allow runs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import agentchat
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external_agent import ExternalAgent
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.agent.session import Session
from agentchat.agent.status import ModelSource
from agentchat.cli.folders import Folders
from agentchat.core.diff.changeset import FileChange
from agentchat.core.limits import PARALLEL_TOOLS
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.tools.registry import BUILTIN_GROUPS, Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChatStatus, ToolBlock
from agentchat.journal.writer import JournalWriter
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.workspace.local import LocalWorkspace


class NoView:
    """Shows nothing: the base of views that show some of it."""

    def add_user_message(self, text: str) -> None:
        """Show nothing."""

    def restore_prompt(self) -> None:
        """Put nothing back."""

    def begin_reply(self) -> None:
        """Show nothing."""

    def add_text(self, piece: str) -> None:
        """Show nothing."""

    def add_reasoning(self, piece: str) -> None:
        """Show nothing."""

    def end_reasoning(self, title: str) -> None:
        """Show nothing."""

    def finish_reply(self) -> None:
        """Show nothing."""

    def update_block(self, call_id: str, change: ToolBlock) -> None:
        """Show nothing."""

    def add_note(self, level: str, text: str) -> None:
        """Show nothing."""

    def retry(self, text: str) -> None:
        """Show nothing."""

    def notify(self, level: str, text: str) -> None:
        """Show nothing."""

    def show_status(self, status: ChatStatus) -> None:
        """Show nothing."""

    def show_tools(self, chat: Chat) -> None:
        """Show nothing."""

    def fire_event(self, name: str, data: Mapping[str, Any]) -> None:
        """Fire nothing."""

    def show_request(self, id: str, request: ApprovalRequest) -> None:
        """Show nothing."""

    def close_request(self, id: str) -> None:
        """Close nothing."""

    def show_preview(self, preview: Preview) -> None:
        """Show nothing."""

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        """Show nothing."""

    def close_preview(self, preview: Preview) -> None:
        """Close nothing."""


class HeadlessChat:
    """A chat in a directory, judged by the rules of the user's files and of the project's."""

    def __init__(self, session: Session, workspace: LocalWorkspace, journal: JournalWriter) -> None:
        self.session = session
        self._workspace = workspace
        self._journal = journal

    async def close(self) -> None:
        """Stop what runs, and close the journal."""
        try:
            await self.session.close()
            await self._workspace.close()
        finally:
            self._journal.close()


def open_headless_chat(
    root: str, folders: Folders, model: ModelSource, agent: ExternalAgent | None = None
) -> HeadlessChat:
    """Return a chat about the directory ``root``; raises UserError."""
    chat_id = str(uuid.uuid4())
    folders.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    workspace = LocalWorkspace(root, (str(folders.state), str(folders.config)))
    journal = JournalWriter.open(folders.state, chat_id)
    journal.record_chat_opened(chat_id, root, agent.name if agent else "", agentchat.__version__)
    toolset = Toolset(Registry(builtin_tools()), BUILTIN_GROUPS, ("agent",))
    session = Session(
        Chat(chat_id, toolset, Environment(root), Policy(Grants(), attended=False)),
        workspace=workspace,
        view=NoView(),
        journal=journal,
        results=ResultStore(folders.state / "results" / chat_id),
        model=model,
        max_parallel=PARALLEL_TOOLS,
        rule_store=RuleStore(root, folders.config, folders.trust_file),
        agent=agent,
    )
    return HeadlessChat(session, workspace, journal)
