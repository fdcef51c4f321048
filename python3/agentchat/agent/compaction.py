"""The commands that shorten what a long chat sends: a summary of its older part, and its undo."""

from __future__ import annotations

from agentchat.agent.interpreter import Interpreter
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.loop import compact_command
from agentchat.core.turn.view import Observer, View
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter

LATER = "The chat is compacted before the next request of this turn."
NOT_COMPACTED = "This chat is not compacted: there is no summary to take back."
UNDONE = "The summary is taken back: the whole conversation is sent again."


class CompactionCommands:
    """Proposes and takes back the summary of one chat."""

    def __init__(
        self,
        chat: Chat,
        *,
        interpreter: Interpreter,
        view: View,
        journal: JournalWriter,
        observer: Observer,
    ) -> None:
        self._chat = chat
        self._interpreter = interpreter
        self._view = view
        self._journal = journal
        self._observer = observer

    def propose_later(self, focus: str) -> None:
        """Propose a summary before the next request of the running turn."""
        self._chat.requested_focus = focus
        self._view.notify("info", LATER)

    async def propose(self, focus: str) -> None:
        """Propose a summary of the older part, between turns.

        Args:
            focus: what the summary must keep in particular.
        """
        end = await self._interpreter.play(compact_command(self._chat, focus))
        if end.message:
            self._view.notify("error" if end.reason == "error" else "warn", end.message)

    def undo(self) -> None:
        """Send the messages again that the newest summary replaces."""
        chat = self._chat
        if not chat.context.steps:
            self._view.notify("warn", NOT_COMPACTED)
            return
        self._journal.add(r.CompactionUndone())
        chat.context.undo(chat.history)
        chat.asked_at = chat.used_tokens()  # the user does not want it now
        self._view.add_note("info", UNDONE)
        self._observer.refresh()
