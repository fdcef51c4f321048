"""A chat that is drawn by the test itself: no Python half answers behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.support.editor import Editor

NEVER_READY = "#!/bin/sh\nexec sleep 600\n"


class Drawn:
    """A chat buffer and the operations Python would send it."""

    def __init__(self, editor: Editor, command: str = "AgentChat") -> None:
        self.editor = editor
        editor.command(command)
        opened = editor.wait_event("AgentChatOpened")
        self.buffer: int = opened["buf"]
        self.id: str = opened["chat"]

    def draw(self, *ops: tuple[Any, ...]) -> None:
        """Draw one batch."""
        batch = [list(op) for op in ops]
        self.editor.lua("require('agentchat.host.rpc').call('chat.apply', ...)", self.id, batch)

    def prepend(self, *ops: tuple[Any, ...], **part: bool) -> None:
        """Draw older messages above all others, by default all of a part that begins a turn."""
        batch = [list(op) for op in ops]
        whole = {"first": True, "last": True, "continues": False, **part}
        call = "require('agentchat.host.rpc').call('chat.prepend', ...)"
        self.editor.lua(call, self.id, batch, whole)

    def say(self, text: str) -> None:
        """Draw a whole reply."""
        self.draw(("message", "agent", ""), ("text", text), ("finish",))

    def lines(self) -> list[str]:
        """All lines of the buffer."""
        lines: list[str] = self.editor.request("nvim_buf_get_lines", self.buffer, 0, -1, True)
        return lines

    def prompt(self) -> str:
        """What would be sent."""
        chat = "require('agentchat.chat.registry').get(...)"
        text: str = self.editor.lua(
            f"return require('agentchat.prompt.region').text({chat})", self.id
        )
        return text

    def sent(self) -> list[str]:
        """What has been sent and not been taken."""
        texts: list[str] = self.editor.lua(
            "return require('agentchat.chat.registry').get(...).outbox", self.id
        )
        return texts

    def row(self, text: str) -> int:
        """Number of the first line that has ``text``, from 1."""
        return next(i for i, line in enumerate(self.lines(), 1) if text in line)

    def groups(self, text: str) -> list[str]:
        """Highlight groups of the extmarks where ``text`` begins."""
        row = self.row(text) - 1
        column = len(self.lines()[row].partition(text)[0].encode())
        found: list[str] = self.editor.lua(
            "local found = vim.inspect_pos(...).extmarks\n"
            "return vim.tbl_map(function(mark) return mark.opts.hl_group or '' end, found)",
            self.buffer,
            row,
            column,
        )
        return found

    def closed(self, text: str) -> int:
        """First line of the closed fold around a line, -1 without one."""
        return int(self.editor.eval(f"foldclosed({self.row(text)})"))


@pytest.fixture
def never_ready(tmp_path: Path) -> dict[str, Any]:
    """Settings with which the Python half never gets ready."""
    stub = tmp_path / "never-ready"
    stub.write_text(NEVER_READY)
    stub.chmod(0o755)
    return {"python": str(stub)}


@pytest.fixture
def alone(start_editor: StartEditor, never_ready: dict[str, Any]) -> Editor:
    """An editor whose Python half never gets ready."""
    return start_editor(never_ready)


@pytest.fixture
def drawn(alone: Editor) -> Drawn:
    """A chat drawn by the test."""
    return Drawn(alone)
