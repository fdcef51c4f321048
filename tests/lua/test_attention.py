"""What is reported of a chat that the user does not see, and that nothing is of one in sight."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.lua.conftest import Drawn
from tests.support.editor import Editor

REPORT = "require('agentchat.attention')"
ROOT = Path(__file__).parents[2]


def finish(drawn: Drawn, reason: str) -> None:
    """End a turn."""
    drawn.draw(("event", "AgentTurnFinished", {"reason": reason}))


ENDS = [("stop", "has answered", "answer"), ("error", "has failed", "error")]


@pytest.mark.parametrize(("reason", "said", "need"), ENDS)
def test_the_end_of_a_turn_out_of_sight_is_reported(
    drawn: Drawn, reason: str, said: str, need: str
) -> None:
    drawn.draw(("message", "user", "fix the tests"))
    drawn.editor.command("AgentChat")
    finish(drawn, reason)
    line = drawn.editor.wait_notice(said)
    assert line == f'agentchat: "fix the tests" {said}: see :AgentChat agentchat://1'
    assert drawn.editor.wait_event("AgentAttention", chat=drawn.id)["need"] == need


def test_nothing_is_reported_of_a_chat_in_sight_or_one_that_was_stopped(drawn: Drawn) -> None:
    finish(drawn, "stop")
    drawn.editor.command("AgentChat")
    finish(drawn, "cancelled")
    drawn.editor.lua("vim.wait(20)")
    assert drawn.editor.notices == []
    assert "AgentAttention" not in [event.name for event in drawn.editor.events]


def test_while_the_user_is_in_another_program_only_an_event_is_fired(drawn: Drawn) -> None:
    drawn.editor.command("doautocmd FocusLost")
    finish(drawn, "stop")
    drawn.editor.wait_event("AgentAttention", chat=drawn.id)
    drawn.editor.command("doautocmd FocusGained")
    finish(drawn, "stop")
    drawn.editor.lua("vim.wait(20)")
    assert [e.name for e in drawn.editor.events].count("AgentAttention") == 1
    assert drawn.editor.notices == []


SEQUENCES = [
    ("osc9", "", "\x1b]9;a b c\x1b\\"),
    ("osc777", "", "\x1b]777;notify;agentchat;a b c\x1b\\"),
    ("osc9", "/tmp/tmux,1,0", "\x1bPtmux;\x1b\x1b]9;a b c\x1b\x1b\\\x1b\\"),
]


@pytest.mark.parametrize(("kind", "tmux", "sequence"), SEQUENCES)
def test_a_text_cannot_end_the_sequence_of_the_terminal(
    alone: Editor, kind: str, tmux: str, sequence: str
) -> None:
    alone.lua("vim.env.TMUX = ... ~= '' and ... or nil", tmux)
    assert alone.lua(f"return {REPORT}.sequence(...)", kind, "a;b\x1bc") == sequence
    assert "\x9b" not in alone.lua(f"return {REPORT}.sequence(...)", kind, "a\x9bb")


IN_TERMINAL = """
vim.g.agentchat = { ui = { terminal_notify = 'osc9' } }
local chat = require('agentchat.chat.actions').new()
require('agentchat.attention').report(chat, 'answer', 'the answer is there')
"""


def test_the_terminal_of_neovim_shows_a_notification(alone: Editor, tmp_path: Path) -> None:
    script = tmp_path / "report.lua"
    script.write_text(
        f"vim.api.nvim_create_autocmd('UIEnter', {{ callback = function() {IN_TERMINAL} end }})"
    )
    program = str(alone.eval("v:progpath"))
    command = [program, "--clean", "--cmd", f"set rtp+={ROOT}", "-S", str(script)]
    outside, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(tmp_path)}
    environment.pop("TMUX", None)
    with subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environment
    ) as nvim:
        seen, until = b"", time.monotonic() + 20
        while b"\x1b]9;the answer is there" not in seen and time.monotonic() < until:
            if select.select([outside], [], [], 0.1)[0]:
                seen += os.read(outside, 65536)
        nvim.kill()
    os.close(outside)
    os.close(inside)
    assert b"\x1b]9;the answer is there\x1b\\" in seen


def test_the_winbar_counts_the_seconds_of_what_runs(drawn: Drawn) -> None:
    drawn.draw(("status", {"state": "running", "mode": "ask"}))
    began = "local chat = require('agentchat.chat.registry').get(...)"
    drawn.editor.lua(f"{began}; chat.since = chat.since - 125000", drawn.id)
    drawn.editor.wait(
        lambda: "running 2m0" in drawn.editor.screen()[0], why="the winbar is drawn again"
    )
    drawn.draw(("status", {"state": "idle", "mode": "ask"}))
    assert "idle" in drawn.editor.screen()[0]


def test_a_title_is_shortened_to_the_room_that_the_winbar_has(drawn: Drawn) -> None:
    drawn.draw(("recall", ["rename it"], "Rename the greeting everywhere"))
    drawn.draw(("status", {"state": "idle", "mode": "ask", "model": "gpt-5"}))
    drawn.editor.command("only | set columns=60")
    assert re.search(r"Chat 1 · Rename the.*… · idle", drawn.editor.screen()[0])
    drawn.editor.command("set columns=24")
    assert "Rename" not in drawn.editor.screen()[0]
    assert "idle" in drawn.editor.screen()[0]


@pytest.mark.parametrize("columns", [30, 40, 50, 60, 100])
def test_a_retry_shows_its_seconds_and_the_key_in_any_width(drawn: Drawn, columns: int) -> None:
    drawn.editor.command(f"only | set columns={columns}")
    why = "the server is overloaded (429), try 2 of 4"
    drawn.draw(("message", "user", "Go on"), ("status", {"state": "running", "mode": "ask"}))
    drawn.draw(("activity", why, 8))
    line = next(row for row in drawn.editor.screen() if "<C-c>" in row)
    assert re.search(r"waiting \d of 8 s · <C-c>", line)
    words = line.partition("waiting")[0].strip(" ●,").rstrip("…").replace(",", "").split()
    assert set(words) <= set(why.replace(",", "").split())
