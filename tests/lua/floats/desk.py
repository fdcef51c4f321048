"""The Lua half without Python behind it: what Python would say is said by the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentchat.nvim.lua_api import LuaFunction
from tests.support.chat import Chat
from tests.support.editor import Editor

QUIET_HOST = (Path(__file__).parent / "host.lua").read_text()
"""Lua for an init file: a host that notes what it is told and says nothing."""

Doc = dict[str, list[Any]]


class Desk:
    """Says to one chat what Python says, and reads what Python was told."""

    def __init__(self, editor: Editor, chat: Chat) -> None:
        self.editor = editor
        self.chat = chat

    def ask(self, id: str = "p1", **more: Any) -> dict[str, Any]:
        """Put a question; return it as it was sent."""
        prompt = question(id, **more)
        self.call("approval.show", self.chat.id, prompt)
        return prompt

    def close(self, id: str) -> None:
        """Take a question back."""
        self.call("approval.close", self.chat.id, id)

    def stage(self, id: str = "v1", **more: Any) -> None:
        """Show a preview."""
        self.call("review.show", self.chat.id, preview(id, **more))

    def call(self, name: LuaFunction, *args: Any) -> Any:
        """Call a function of the Lua half as Python does."""
        return self.editor.lua("return require('agentchat.host.rpc').request(...)", name, *args)

    def asks(self) -> bool:
        """Whether an approval request of the chat waits."""
        code = "return require('agentchat.approval.requests').has(...)"
        return bool(self.editor.lua(code, self.chat.id))

    def told(self, name: str) -> list[dict[str, Any]]:
        """The payloads of all events ``name`` that Python was told, the oldest first."""
        return [payload for told, payload in self.editor.lua("return _G.told") if told == name]

    def answers(self) -> list[tuple[str, str]]:
        """Prompt id and choice of each answer."""
        return [(told["prompt"], told["choice"]) for told in self.told("answer")]

    def groups(self, text: str) -> list[str]:
        """Highlight groups of the extmarks where ``text`` begins in the topmost float."""
        shown = self.editor.floats()[0]
        row = next(i for i, line in enumerate(shown.lines) if text in line)
        column = len(shown.lines[row].partition(text)[0].encode())
        found: list[str] = self.editor.lua(
            "local found = vim.inspect_pos(...).extmarks\n"
            "return vim.tbl_map(function(mark) return mark.opts.hl_group end, found)",
            shown.buffer,
            row,
            column,
        )
        return found


def doc(*lines: str, **more: Any) -> Doc:
    """What a float draws."""
    return {"lines": list(lines), "marks": [], "rows": [], **more}


def question(id: str, **more: Any) -> dict[str, Any]:
    """A prompt as Python sends it; Python's None is sent where nothing is known."""
    return {
        "id": id,
        "tool": "bash",
        "title": "bash wants to run a command",
        "facts": [["in", "/work/project"]],
        "doc": doc("touch m"),
        "safety": 0,
        "warning": None,
        "place": 1,
        "total": 1,
        "always": True,
        "always_text": "bash 'touch m' in /work/project",
        "arguments": '{\n  "command": "touch m"\n}',
        "details": ["affects   everything"],
        "kind": "command",
        **more,
    }


def preview(id: str, **more: Any) -> dict[str, Any]:
    """A staged preview as Python sends it."""
    return {
        "id": id,
        "label": "AST Edit: 2 replacements in 2 files",
        "source": "ast_edit",
        "files": 2,
        "doc": diff("a.py", "b.py"),
        **more,
    }


def diff(*files: str) -> Doc:
    """A diff of one hunk in each of ``files``."""
    lines: list[str] = []
    rows: list[list[Any]] = []
    hunks = [_hunk(file, 4 * at + 1) for at, file in enumerate(files)]
    for file in files:
        at = len(lines)
        lines += [file, "@@ -1 +1 @@", "-greet()", "+welcome()"]
        groups = ["AgentChatFile", "AgentChatHunk", "AgentChatDelete", "AgentChatAdd"]
        rows += [[at + i, group] for i, group in enumerate(groups)]
    return doc(*lines, rows=rows, hunks=hunks)


def _hunk(file: str, row: int) -> dict[str, Any]:
    return {
        "row": row,
        "rows": 3,
        "path": f"/work/project/{file}",
        "index": 0,
        "first": 1,
        "last": 1,
        "key": "k1",
    }
