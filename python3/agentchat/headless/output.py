"""Prints a turn: the answer as text, or everything as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

from agentchat.core.diff.changeset import FileChange
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.todo import TodoItem
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChatStatus, ToolBlock

ENDS = {"done": "ok", "failed": "failed", "rejected": "rejected", "denied": "denied"}
"""How the states in which a call ends are printed."""

LONGEST_FAILURE = 12
"""Lines of a result that are printed if the call failed."""


class PlainView:
    """Collects what a turn shows; subclasses print it. Nothing can be asked."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        self.status = ChatStatus()
        self.reason = ""
        """Why the last turn ended, once it has."""
        self.answer = ""
        """The text of the newest reply."""
        self.denied: list[str] = []
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

    def show_preview(self, preview: Preview) -> None:
        """Report a preview that is pending."""
        self.notify("info", f"pending: {preview.label}")

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        """Nothing: nobody edits it."""

    def close_preview(self, preview: Preview) -> None:
        """Nothing: the call that resolved it is reported."""

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Report the end of the turn."""


class TextView(PlainView):
    """Prints the answer on standard output, and calls and notes on standard error."""

    _is_open = False
    """Whether a line of the answer has no end yet."""

    def add_text(self, piece: str) -> None:
        """Print a piece of the answer."""
        super().add_text(piece)
        self.out.write(piece)
        self.out.flush()
        self._is_open = not piece.endswith("\n")

    def finish_reply(self) -> None:
        """End the line."""
        if self._is_open:
            self.out.write("\n")
            self.out.flush()
            self._is_open = False

    def report_call(self, call_id: str, block: ToolBlock) -> None:
        """Print a line for a call, and its result if it did not succeed."""
        state = ENDS[str(block.state)]
        self._print(f"[{state}] {block.title or block.tool}")
        if state != "ok":
            for line in (block.body or ())[:LONGEST_FAILURE]:
                self._print(f"    {line}".rstrip())

    def notify(self, level: str, text: str) -> None:
        """Print a line of the plugin."""
        self._print(f"agentchat: {text}")

    def _print(self, line: str) -> None:
        self.finish_reply()
        self.err.write(escape_hidden_characters(line) + "\n")
        self.err.flush()


class JsonView(PlainView):
    """Prints a JSON object on a line for everything that happens; ``type`` says what."""

    def add_text(self, piece: str) -> None:
        """Print a piece of the answer."""
        super().add_text(piece)
        self._print("text", text=piece)

    def add_reasoning(self, piece: str) -> None:
        """Print a piece of the reasoning."""
        self._print("reasoning", text=piece)

    def report_call(self, call_id: str, block: ToolBlock) -> None:
        """Print a call with its result."""
        self._print(
            "tool",
            call_id=call_id,
            tool=block.tool,
            title=block.title,
            status=ENDS[str(block.state)],
            output="\n".join(block.body or ()),
        )

    def notify(self, level: str, text: str) -> None:
        """Print a line of the plugin."""
        self._print("note", level=level, text=text)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Print the end of the turn, with the answer."""
        self._print("end", **summary)

    def _print(self, type: str, **fields: Any) -> None:
        self.out.write(json.dumps({"type": type, **fields}) + "\n")
        self.out.flush()
