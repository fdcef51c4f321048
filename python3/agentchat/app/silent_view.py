"""The view of a chat that nobody watches: it keeps what a turn shows, and shows nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentchat.core.diff.changeset import FileChange
from agentchat.core.tools.todo import TodoItem
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChangesPage, ChatStatus, ToolBlock
from agentchat.tools.mcp.servers import McpServer

ENDS = {"done": "ok", "failed": "failed", "rejected": "rejected", "denied": "denied"}
"""How the states in which a call ends are printed."""


class SilentView:
    """Collects what a turn shows; subclasses print it. Nothing can be asked.

    It is the view of a chat and that of its tools.
    """

    def __init__(self) -> None:
        self.status = ChatStatus()
        self.reason = ""
        """Why the last turn ended, once it has."""
        self.answer = ""
        """The text of the newest reply."""
        self.denied: list[str] = []
        self.ran: set[str] = set()
        """The tools of calls that were run."""
        self._blocks: dict[str, ToolBlock] = {}

    def add_user_message(self, text: str) -> None:
        """Nothing: the user knows it."""

    def recall_prompts(self, texts: Sequence[str], title: str) -> None:
        """Nothing: there is no prompt."""

    async def prepend(self, draw: Callable[[], None], *, continues: bool) -> None:
        """Nothing: what was said earlier is not printed."""

    def restore_prompt(self) -> None:
        """Nothing: there is no prompt."""

    def begin_reply(self) -> None:
        """Forget the text of the reply before."""
        self.answer = ""

    def add_text(self, piece: str) -> None:
        """Add to the answer."""
        self.answer += piece

    def add_reasoning(self, piece: str) -> None:
        """Nothing."""

    def end_reasoning(self, title: str) -> None:
        """Nothing."""

    def finish_reply(self) -> None:
        """Nothing."""

    def update_block(self, call_id: str, change: ToolBlock) -> None:
        """Keep what is known of a call, and report it when it ends."""
        known = self._blocks.get(call_id, ToolBlock())
        changed = {
            name: value
            for name in ("title", "tool", "state", "body")
            if (value := getattr(change, name)) is not None
        }
        block = self._blocks[call_id] = replace(known, **changed)
        if change.state == "denied":
            self.denied.append(f"{block.title or block.tool}: {' '.join(block.body or ())}")
        elif change.state in ("done", "failed"):
            self.ran.add(block.tool or "")
        if change.state in ENDS:
            self.report_call(call_id, block)

    def report_call(self, call_id: str, block: ToolBlock) -> None:
        """Report how a call ended."""

    def add_note(self, level: str, text: str) -> None:
        """Report a line of the plugin."""
        self.notify(level, text)

    def show_activity(self, text: str, seconds: float = 0) -> None:
        """Report what the chat waits for."""
        self.notify("info", f"{text}, trying again in {seconds:g} s" if seconds else text)

    def notify(self, level: str, text: str) -> None:
        """Report a line for the user."""

    def show_status(self, status: ChatStatus) -> None:
        """Keep the status."""
        self.status = status

    def show_tools(self, chat: Chat) -> None:
        """Nothing: nobody completes a mention."""

    def show_todo(self, items: Sequence[TodoItem]) -> None:
        """Nothing: its call is shown."""

    def fire_event(self, name: str, data: Mapping[str, Any]) -> None:
        """Keep why the turn ended."""
        if name == "AgentTurnFinished":
            self.reason = str(data["reason"])

    def show_request(self, id: str, request: ApprovalRequest) -> None:
        """Nothing: what would ask is denied."""

    def close_request(self, id: str) -> None:
        """Nothing."""

    def show_changes(self, page: ChangesPage) -> None:
        """Nothing: nobody looks."""

    def show_preview(self, preview: Preview) -> None:
        """Report a preview that is pending."""
        self.notify("info", f"pending: {preview.label}")

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        """Nothing: nobody edits it."""

    def close_preview(self, preview: Preview) -> None:
        """Nothing: the call that resolved it is reported."""

    def warn_once(self, text: str) -> None:
        """Report a problem of a tool."""
        self.notify("warn", text)

    def watch_trust(self, folders: Sequence[str]) -> None:
        """Nothing: nobody trusts files here."""

    def offer_servers(self, root: Path, servers: Collection[McpServer]) -> None:
        """Nothing: nobody completes their names."""

    def show_login(self, server: str, url: str) -> None:
        """Nothing: nobody can log in."""

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Report the end of the turn."""
