"""One chat in a driven editor, used as a person uses it: by typing and by looking."""

from __future__ import annotations

from typing import Any

from .editor import Editor
from .shown import Float

HEADER = "## "


class Chat:
    """A chat that is open: ``buffer`` is its number, ``id`` its uuid."""

    def __init__(self, editor: Editor, opened: dict[str, Any]) -> None:
        self.editor = editor
        self.buffer: int = opened["buf"]
        self.id: str = opened["chat"]

    @classmethod
    def open(cls, editor: Editor, command: str = "AgentChat") -> Chat:
        """Open a chat by an Ex command and wait until it is there."""
        editor.command(command)
        return cls(editor, editor.wait_event("AgentChatOpened"))

    # --- doing ------------------------------------------------------------------------------

    def focus(self) -> None:
        """Go to the chat's window, in normal mode; show it there if another chat is."""
        self.editor.keys("<C-\\><C-n>")
        if self.editor.eval(f"bufwinid({self.buffer})") == -1:
            self.editor.command(f"AgentChat {self.editor.eval(f'bufname({self.buffer})')}")
        self.editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", self.buffer)

    def type(self, text: str) -> None:
        """Type ``text`` at the end of the prompt and stay in insert mode."""
        self.focus()
        self.editor.keys("G$a")
        self.editor.type(text)

    def send(self, text: str, keys: str = "<C-s>") -> None:
        """Type ``text`` into the prompt and send it."""
        self.type(text)
        self.editor.keys(keys)

    def play(self, text: str, reason: str = "stop") -> None:
        """Send ``text`` and wait until the turn is over."""
        self.send(text)
        self.finished(reason)

    def finished(self, reason: str = "stop") -> dict[str, Any]:
        """Wait for the end of the turn."""
        data = self.event("AgentTurnFinished")
        assert data["reason"] == reason, f"{data}\n{self.editor.report()}"
        return data

    def event(self, name: str, **match: Any) -> dict[str, Any]:
        """Wait for an event of this chat."""
        return self.editor.wait_event(name, chat=self.id, **match)

    def asks(self) -> bool:
        """Wait until the turn asks or ends; return whether it asks."""
        asked, over = "AgentApprovalRequested", "AgentTurnFinished"
        self.editor.wait(
            lambda: self._happened(asked) or self._happened(over), why="a question or an end"
        )
        return self._happened(asked)

    def asked(self, tool: str | None = None) -> Float:
        """Wait until an approval is shown and return its float."""
        assert self.asks(), f"The turn is over and asked nothing.\n{self.editor.report()}"
        data = self.event("AgentApprovalRequested")
        assert tool in (None, data["tool"])
        return self.editor.floats()[0]

    def _happened(self, name: str) -> bool:
        """Whether there is an event of this chat that no test has waited for yet."""
        fresh = (e for e in self.editor.events if e.name == name and not e.awaited)
        return any(event.data["chat"] == self.id for event in fresh)

    def answer(self, key: str) -> dict[str, Any]:
        """Go to the approval that is shown, press ``key`` and wait until it is answered."""
        self.focus()
        self.editor.keys("ga")
        self.editor.keys(key)
        return self.event("AgentApprovalAnswered")

    # --- looking ----------------------------------------------------------------------------

    def text(self) -> str:
        """The whole buffer."""
        return self.editor.text(self.buffer)

    def transcript(self) -> str:
        """All above the header of the prompt."""
        return self.text().rpartition("\n" + HEADER)[0]

    def prompt(self) -> str:
        """What stands in the prompt region, without blank lines around it."""
        return self.text().rpartition("\n" + HEADER)[2].partition("\n")[2].strip("\n")

    def status(self) -> dict[str, Any]:
        """``require('agentchat').status`` of this chat."""
        return self.editor.status(self.buffer)

    def idle(self) -> None:
        """Wait until nothing runs."""
        self.editor.wait(lambda: self.status()["state"] == "idle", why="the chat is idle")
