"""What a long answer costs to draw and to scroll through, and how soon completion opens.

The answer has 10,000 lines with fifty blocks of code. Drawing is compared with a bare buffer that
gets the same lines, scrolling with a Markdown file that Neovim highlights itself, and completion
with a bare menu of as many words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from tests.support.chat import Chat
from tests.support.editor import Editor

from bench.editors import bench_editor
from bench.figures import Row, compare, spread
from bench.pinging import pinged

RUNS = 7
LINES, BLOCKS = 10_000, 50
FRAME_LINES = 200
"""Lines that are drawn at a time, as they would arrive."""

FILES = 1_000
"""Files of the directory in which a path is completed."""

PROSE = "The function `area` is called in **two** places, of which [one](a.md) matters less."
CODE = (
    ("lua", "local function area(width) return width * 2 end -- half of it"),
    ("python", "value = {name: len(text) for name, text in found.items()}  # a comment"),
    ("rust", 'fn main() { println!("{}", 1 + 2); } // a comment'),
)

BARE = """
local frames = ...
vim.cmd.vnew()
local buf, seconds = vim.api.nvim_get_current_buf(), {}
for _, lines in ipairs(frames) do
  local began = vim.uv.hrtime()
  vim.api.nvim_buf_set_lines(buf, -2, -2, true, lines)
  vim.cmd.redraw()
  table.insert(seconds, (vim.uv.hrtime() - began) / 1e9)
end
vim.cmd('bwipeout!')
return seconds
"""
DRAW = """
local chat, frames = ...
local rpc, seconds = require('agentchat.host.rpc'), {}
rpc.call('chat.apply', chat, { { 'message', 'agent', '' } })
for _, lines in ipairs(frames) do
  local began = vim.uv.hrtime()
  rpc.call('chat.apply', chat, { { 'text', table.concat(lines, '\\n') .. '\\n' } })
  vim.cmd.redraw()
  table.insert(seconds, (vim.uv.hrtime() - began) / 1e9)
end
rpc.call('chat.apply', chat, { { 'finish' } })
return seconds
"""
SCROLL = """
local keys = vim.keycode(...)
local began = vim.uv.hrtime()
vim.cmd.normal({ keys, bang = true })
vim.cmd.redraw()
return (vim.uv.hrtime() - began) / 1e9
"""
BARE_MENU = """
vim.cmd.vnew()
local words = ...
vim.keymap.set('i', '<F5>', function() vim.fn.complete(1, words) end, { buffer = true })
"""


def measure() -> list[Row]:
    """Draw and scroll the answer, then complete in the prompt."""
    frames = list(_frames())
    with bench_editor() as editor:
        chat = Chat.open(editor)
        editor.wait_event("AgentHostStarted")
        bare, drawn = editor.lua(BARE, frames), editor.lua(DRAW, chat.id, frames)
        editor.settle(0.5)
        plain, scrolled = _scroll_file(editor, frames), _scroll_chat(editor, chat)
        idle = [max(pinged(editor, lambda: editor.settle(0.5))) for _ in range(RUNS)]
        busy = [max(pinged(editor, lambda: _leaf_through(editor, chat))) for _ in range(RUNS)]
        completed = _complete(editor, chat)
    return [
        compare(
            f"read: {LINES} lines drawn", "an answer / a bare buffer", [sum(bare)], [sum(drawn)]
        ),
        *spread("read: scrolling", plain, scrolled, "an answer / a Markdown file "),
        compare("read: longest wait", "scrolling / idle", idle, busy),
        *completed,
    ]


def _frames() -> Iterator[list[str]]:
    """Yield the lines of the answer, a frame at a time."""
    lines: list[str] = []
    for language, code in [block for block, _ in zip(cycle(CODE), range(BLOCKS), strict=False)]:
        half = LINES // BLOCKS // 2
        lines += [PROSE, ""] * (half // 2) + [f"```{language}", *[code] * (half - 3), "```", ""]
    for start in range(0, len(lines), FRAME_LINES):
        yield lines[start : start + FRAME_LINES]


def _scroll_file(editor: Editor, frames: list[list[str]]) -> list[float]:
    path = Path(str(editor.eval("tempname()")) + ".md")
    path.write_text("\n".join(line for frame in frames for line in frame))
    editor.command(f"tabedit {path} | lua vim.treesitter.start()")
    seconds = _scroll(editor)
    editor.command("bwipeout!")
    return seconds


def _scroll_chat(editor: Editor, chat: Chat) -> list[float]:
    chat.focus()
    return _scroll(editor)


def _scroll(editor: Editor) -> list[float]:
    """Return the seconds of each half page from the top to the end and back."""
    editor.keys("<C-\\><C-n>gg")
    pages = int(LINES / 14)
    keys = ["<C-d>"] * pages + ["<C-u>"] * pages
    return [float(editor.lua(SCROLL, key)) for key in keys]


def _leaf_through(editor: Editor, chat: Chat) -> None:
    chat.focus()
    for key in ("gg", *["<C-f>"] * 30, "G"):
        editor.keys(key)
        time.sleep(0.01)


def _complete(editor: Editor, chat: Chat) -> list[Row]:
    folder = Path(str(editor.eval("getcwd()"))) / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"file_{number}.py").touch()
    typed = {"@": "@", "#": "#", "/": "/", "path": "#file:many/"}
    return [_completed(editor, chat, what, text) for what, text in typed.items()]


def _completed(editor: Editor, chat: Chat, what: str, text: str) -> Row:
    chat.type(text)
    opened = [_opened(editor, "<C-x><C-o>") for _ in range(RUNS)]
    words = editor.eval("map(complete_info(['items']).items, 'v:val.word')")
    editor.keys("<C-e><C-u><C-\\><C-n>")
    editor.lua(BARE_MENU, words)
    editor.keys("i")
    bare = [_opened(editor, "<F5>") for _ in range(RUNS)]
    editor.keys("<C-\\><C-n>")
    editor.command("bwipeout!")
    return compare("read: completion opens", f"{what} {len(words)} words / bare", bare, opened)


def _opened(editor: Editor, keys: str) -> float:
    """Return the seconds until the menu that the keys open is there."""
    editor.keys("<C-e>")
    began = time.perf_counter()
    editor.request("nvim_input", keys)
    while not editor.eval("pumvisible()"):
        pass
    return time.perf_counter() - began
