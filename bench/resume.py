"""How long a chat of 800 turns takes to come back, and how long that blocks Neovim."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

from tests.support.editor import Editor

from agentchat.core.messages import Reply, ToolCall, ToolResult, Usage, UserText
from agentchat.journal import records as r
from agentchat.journal.file import JournalFile
from bench.editors import bench_editor
from bench.figures import Row, compare
from bench.pinging import pinged

RUNS = 7
TURNS = 800
WHAT = f"{TURNS} turns / :edit of its text"
NEWEST, OLDEST = "This is the newest answer.", "question number 0"

CODE = "```python\ndef area(width, height):\n    return width * height  # a number\n```"
ANSWER = (
    f"The function is called in **two** places:\n\n- `here`\n- there\n\n{CODE}\n\nAnswer {{n}}."
)
RESULT = "\n".join(f"{n:4} value_{n} = compute(value_{n - 1})  # line {n}" for n in range(1, 21))

RESUME = """
local saved, newest, oldest = ...
local began, seen = vim.uv.hrtime(), {}
local function find(first, last, text)
  local lines = vim.api.nvim_buf_get_lines(0, first, last, false)
  return table.concat(lines, '\\n'):find(text, 1, true) and (vim.uv.hrtime() - began) / 1e9 or nil
end
require('agentchat.chat.actions').resume(saved)
local timer = vim.uv.new_timer()
timer:start(1, 1, vim.schedule_wrap(function()
  seen[1] = seen[1] or find(vim.fn.line('w0') - 1, vim.fn.line('w$'), newest)
  seen[2] = seen[1] and find(0, 5, oldest)
  if not seen[2] or timer:is_closing() then return end
  timer:close()
  vim.g.bench_seen = seen
end))
"""
"""Resumes a chat, and notes when the newest answer is in view, and when all is drawn."""


def measure() -> list[Row]:
    """Resume the chat again and again, and open its text as a file in between."""
    with bench_editor() as editor:
        editor.command("AgentChat")
        editor.wait_event("AgentHostStarted")
        chat = _save_chat(editor)
        _resume(editor, chat)
        text = _write_text(editor)
        opened = [_opened(editor, text) for _ in range(RUNS)]
        idle = [max(pinged(editor, lambda: editor.settle(0.5))) for _ in range(RUNS)]
        seconds = [_resume(editor, chat) for _ in range(RUNS)]
        busy = [_longest_wait(editor, chat) for _ in range(RUNS)]
    first, everything = zip(*seconds, strict=True)
    return [
        compare("resume: newest in view", WHAT, opened, first),
        compare("resume: everything", WHAT, opened, everything),
        compare("resume: longest wait", f"{TURNS} turns / idle", idle, busy),
    ]


def _save_chat(editor: Editor) -> dict[str, str]:
    """Write the journal of a chat; return what resumes it."""
    cwd, chat = str(editor.eval("getcwd()")), str(uuid.uuid4())
    state = Path(str(editor.eval("stdpath('state')"))) / "agentchat"
    journal = JournalFile.open(state, chat)
    journal.append(r.ChatOpened(chat, os.path.realpath(cwd)))
    for number in range(TURNS):
        journal.append(*_turn(number))
    journal.close()
    return {"chat": chat, "cwd": cwd, "title": "bench"}


def _turn(number: int) -> list[r.Record]:
    """Return what a turn with one call records."""
    call = ToolCall(f"call_{number}", "bash", f'{{"command": "make test ARGS={number}"}}')
    answer = NEWEST if number == TURNS - 1 else ANSWER.format(n=number)
    usage = Usage(1000 + number, 100)
    return [
        r.TurnStarted(number + 1),
        r.MessageRecorded(UserText(f"question number {number} about the function")),
        r.MessageRecorded(Reply("I look at it first.", (call,), usage=usage)),
        r.DecisionMade(call.id, call.name, "", "allow", "a rule", "policy"),
        r.CallStarted(call.id, call.name, {"command": "make test"}),
        r.CallFinished(call.id, "success"),
        r.MessageRecorded(ToolResult(call.id, call.name, RESULT)),
        r.ReplyProgress("The function is called"),
        r.MessageRecorded(Reply(answer, usage=usage)),
        r.TurnFinished(number + 1, "stop"),
    ]


def _resume(editor: Editor, chat: dict[str, str]) -> tuple[float, float]:
    """Return the seconds until the newest answer is in view, and until everything is drawn."""
    editor.command("unlet! g:bench_seen | silent! bwipeout! agentchat://")
    editor.settle(0.2)
    editor.lua(RESUME, chat, NEWEST, OLDEST)
    newest, everything = editor.wait("vim.g.bench_seen or false")
    return newest, everything


def _longest_wait(editor: Editor, chat: dict[str, str]) -> float:
    editor.command("unlet! g:bench_seen | silent! bwipeout! agentchat://")
    editor.settle(0.2)

    def resume() -> None:
        editor.lua(RESUME, chat, NEWEST, OLDEST)
        editor.wait("vim.g.bench_seen or false")

    return max(pinged(editor, resume))


def _write_text(editor: Editor) -> Path:
    path = Path(str(editor.eval("tempname()")))
    lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    path.write_text("\n".join(lines))
    return path


def _opened(editor: Editor, path: Path) -> float:
    """Return the seconds in which Neovim itself reads and shows the text."""
    began = time.perf_counter()
    editor.command(f"tabedit {path} | redraw")
    seconds = time.perf_counter() - began
    editor.command("bwipeout!")
    return seconds
