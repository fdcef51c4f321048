"""Time from ``:AgentChat`` to the first typed letter, compared with ``:vnew``."""

from __future__ import annotations

import time

from tests.support.editor import Editor

from bench.editors import bench_editor
from bench.figures import Row, compare

RUNS = 10


def measure() -> list[Row]:
    """Open windows in new editors (the host starts) and in one where the host runs."""
    new, cold = [], []
    for _ in range(RUNS):
        with bench_editor() as editor:
            new.append(_until_typed(editor, "vnew"))
        with bench_editor() as editor:
            cold.append(_until_typed(editor, "AgentChat"))
    with bench_editor() as editor:
        warm_new, warm = _in_turns(editor)
    return [
        compare("open a chat", "first :AgentChat / :vnew", new, cold),
        compare("open a chat", "later :AgentChat! / :vnew", warm_new, warm),
    ]


def _in_turns(editor: Editor) -> tuple[list[float], list[float]]:
    _until_typed(editor, "AgentChat")
    editor.wait_event("AgentHostStarted")
    new, chats = [], []
    for _ in range(RUNS):
        new.append(_until_typed(editor, "vnew"))
        editor.command("tabonly | only!")
        chats.append(_until_typed(editor, "AgentChat!"))
        editor.command("tabonly | only!")
    return new, chats


def _until_typed(editor: Editor, command: str) -> float:
    """Return the seconds from the command until a letter typed after it is in the buffer."""
    before = time.perf_counter()
    editor.command(command)
    editor.request("nvim_input", "<C-\\><C-n>Goz")
    while not editor.lua("return vim.api.nvim_get_current_line() == 'z'"):
        pass
    seconds = time.perf_counter() - before
    editor.keys("<C-\\><C-n>")
    return seconds
