"""How long showing a diff takes, and how long showing or applying one blocks Neovim.

Showing: from the change as a value to the drawn float, compared with a bare float with the same
lines. Blocking: the longest wait of another client, compared with an idle editor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.support.chat import Chat
from tests.support.editor import Editor

from agentchat.core.diff.changeset import ChangeSet, FileChange, line_edits
from agentchat.nvim.render.diff import Document, diff_document
from bench.editors import bench_editor
from bench.figures import Row, compare
from bench.pinging import pinged

RUNS = 7
SIZE = (200, 50)
"""Columns and rows: enough for old and new side by side."""

PART = """\
def function_{n}(first, second={n}):
    value = first + second * {n}  # a comment
    return value if value > {n} else 'nothing {n}'


# {n}
"""
APART = "\n" * 8

BARE = """
local lines = ...
local buf = vim.api.nvim_create_buf(false, true)
vim.bo[buf].bufhidden = 'wipe'
vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
local place = { relative = 'editor', row = 5, col = 5, width = 180, height = 35 }
local win = vim.api.nvim_open_win(buf, false, place)
vim.cmd.redraw()
vim.api.nvim_win_close(win, true)
"""
SHOW = """
local chat, preview = ...
require('agentchat.review.list').show(chat, preview)
vim.cmd.redraw()
"""


def measure() -> list[Row]:
    """Show changes of 1, 20 and 200 hunks, then apply the greatest to an open buffer."""
    with bench_editor() as editor:
        editor.resize(*SIZE)
        chat = Chat.open(editor)
        editor.wait_event("AgentHostStarted")
        rows = [_seen(editor, chat, hunks) for hunks in (1, 20, 200)]
        idle = [_longest(editor, lambda: editor.settle(0.5)) for _ in range(RUNS)]
        document = _document(_change(200))
        shown = [_longest(editor, lambda: _show(editor, chat, document)) for _ in range(RUNS)]
        applied = [_applied(editor, run) for run in range(RUNS)]
    return [
        *rows,
        compare("review: longest wait", "200 hunks shown / idle", idle, shown),
        compare("review: longest wait", "200 hunks applied / idle", idle, applied),
    ]


def _change(hunks: int, path: str = "/work/big.py") -> FileChange:
    before = "".join(PART.format(n=n) + APART for n in range(hunks))
    after = before.replace("return value", "return other").replace("first + second", "second")
    return FileChange(path, before.encode(), after.encode())


def _document(change: FileChange) -> Document:
    return diff_document(ChangeSet((change,)), "/work")


def _seen(editor: Editor, chat: Chat, hunks: int) -> Row:
    bare, shown = [], []
    lines = _document(_change(hunks))["lines"]
    for _ in range(RUNS):
        bare.append(_timed(lambda: editor.lua(BARE, lines)))
        shown.append(_shown(editor, chat, _change(hunks)))
        editor.settle(0.2)
    return compare("review: seen", f"{hunks} hunks / a bare float", bare, shown)


def _shown(editor: Editor, chat: Chat, change: FileChange) -> float:
    return _timed(lambda: _show(editor, chat, _document(change), settle=0))


def _show(editor: Editor, chat: Chat, document: Document, settle: float = 0.3) -> None:
    editor.lua("require('agentchat.review.list').close_all(...)", chat.id)
    preview = {"id": "p", "label": "Bench", "source": "bench", "files": 1, "doc": document}
    editor.lua(SHOW, chat.id, preview)
    editor.settle(settle)


def _applied(editor: Editor, run: int) -> float:
    path = Path(editor.eval("getcwd()")) / f"big{run}.py"
    change = _change(200, str(path))
    assert change.before is not None
    assert change.after is not None
    path.write_bytes(change.before)
    editor.command(f"tabedit {path}")
    old, new = change.before.decode().splitlines(), change.after.decode().splitlines()
    edits, tick = line_edits(old, new), editor.eval("b:changedtick")
    code = "return require('agentchat.files.buffers').replace(...)"
    longest = _longest(editor, lambda: editor.lua(code, str(path), tick, edits))
    assert editor.text() + "\n" == change.after.decode()
    editor.command("tabclose!")
    return longest


def _longest(editor: Editor, act: Callable[[], object]) -> float:
    def run() -> None:
        act()

    return max(pinged(editor, run))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
