"""How long the calls of one reply take, from the end of the reply to the next request.

Reads are compared with reading the same files in a loop, edits with the same edit and ``:write``
in a bare Neovim with Tree-sitter. The thread is Neovim's: the user waits while it is busy.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.support.chat import Chat
from tests.support.editor import Editor

from bench.editors import bench_editor
from bench.figures import Row, compare
from bench.pinging import line, module

RUNS = 9
READS = (20, 200)
LINES = 5_000
PLAIN_EDIT = """
local row, text = ...
local function busy()
  local used = vim.uv.getrusage()
  return used.utime.sec + used.stime.sec + (used.utime.usec + used.stime.usec) / 1e6
end
local start, used = vim.uv.hrtime(), busy()
vim.api.nvim_buf_set_text(0, row, 0, row, 0, { text })
vim.cmd('silent write')
vim.treesitter.get_parser():parse() -- as the highlighter does
vim.cmd.redraw()
return { (vim.uv.hrtime() - start) / 1e9, busy() - used }
"""

Series = list[tuple[float, float]]
"""Seconds, and those in which Neovim's thread was busy."""


class Turns:
    """An editor, and a model that requests the calls it is given."""

    def __init__(self, editor: Editor, server: subprocess.Popen[str]) -> None:
        self.editor = editor
        self._server = server

    def play(self, calls: list[tuple[str, dict[str, Any]]]) -> tuple[float, float]:
        """Play a turn in a new chat; return the seconds of the calls and of the busy thread."""
        chat = Chat.open(self.editor, "AgentChat!")
        self.editor.command("AgentMode edit")
        assert self._server.stdin
        self._server.stdin.write(json.dumps(calls) + "\n")
        self._server.stdin.flush()
        chat.send("go")
        seconds, busy = json.loads(line(self._server))
        chat.finished()
        self.editor.command("close")
        return seconds, busy


def measure() -> list[Row]:
    """Read and edit files."""
    with bench_editor() as editor, module("bench.call_server", str(editor.process.pid)) as server:
        editor.lua("vim.env.OPENAI_BASE_URL, vim.env.OPENAI_API_KEY = ..., 'bench'", line(server))
        turns = Turns(editor, server)
        rows = [row for count in READS for row in _reads(turns, count)]
        return [*rows, *_edits(turns)]


def _reads(turns: Turns, count: int) -> list[Row]:
    folder = turns.editor.workspace / "many"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"f{n}.txt" for n in range(count)]
    for path in paths:
        path.write_text(f"{path.name}: a line of text\n" * 50)
    calls = [("read", {"path": str(path)}) for path in paths]
    turns.play(calls)
    base = [(_timed(paths),) * 2 for _ in range(RUNS)]
    taken = [turns.play(calls) for _ in range(RUNS)]
    return _rows(f"{count} reads / a loop", base, taken)


def _edits(turns: Turns) -> list[Row]:
    editor = turns.editor
    path = editor.workspace / "long.lua"
    lines = (f"local value_{n} = compute({n}, 'text {n}') -- line {n}" for n in range(LINES))
    path.write_text("\n".join(lines) + "\n")
    editor.command(f"vsplit {path} | lua vim.treesitter.start()")
    turns.play([_edit(path, LINES - 1)])
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", str(path))
    base = [editor.lua(PLAIN_EDIT, run * 100, f"local a{run} = 1 ") for run in range(RUNS)]
    taken = [turns.play([_edit(path, run * 500 + 7)]) for run in range(RUNS)]
    return _rows(f"edit of {LINES:,} lines / bare Neovim", base, taken)


def _edit(path: Path, number: int) -> tuple[str, dict[str, Any]]:
    old = f"compute({number}, "
    return "edit", {
        "path": str(path),
        "edits": [{"old_text": old, "new_text": f"other({number}, "}],
    }


def _timed(paths: list[Path]) -> float:
    began = time.perf_counter()
    for path in paths:
        path.read_bytes()
    return time.perf_counter() - began


def _rows(what: str, base: Series, taken: Series) -> list[Row]:
    (floor, floor_busy), (seconds, busy) = zip(*base, strict=True), zip(*taken, strict=True)
    rows = [compare("calls", what, floor, seconds)]
    if statistics.median(busy):
        rows.append(compare("calls: Neovim's thread", what, floor_busy, busy))
    return rows
