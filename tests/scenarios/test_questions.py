"""The tools that ask the user and their editor, in a real Neovim."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text

DIALOGS = """
vim.g.dialogs, Answer = {}, nil
local function keep(kind, prompt, items, callback)
  local all = vim.g.dialogs
  table.insert(all, { kind = kind, prompt = prompt, items = items })
  vim.g.dialogs = all
  Answer = callback
end
vim.ui.select = function(items, opts, callback)
  keep('select', opts.prompt, vim.tbl_map(opts.format_item, items), function(at)
    callback(at and items[at], at)
  end)
end
vim.ui.input = function(opts, callback) keep('input', opts.prompt, {}, callback) end
"""
"""Dialogs that wait until the test answers, like those of a plugin."""

COLOURS: list[dict[str, Any]] = [{"label": "red", "description": "like fire"}, {"label": "green"}]
BOTH: list[dict[str, Any]] = [
    {"question": "Which colour?", "header": "Look", "options": COLOURS},
    {"question": "Which name?"},
]


def asks(*questions: dict[str, Any]) -> Call:
    return call("ask", {"questions": list(questions)}, "q")


class Dialogs:
    """The dialogs of one editor."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._seen = 0

    def next(self) -> dict[str, Any]:
        """Wait for the next dialog."""
        self._editor.wait(f"#vim.g.dialogs > {self._seen}", why="a dialog")
        self._seen += 1
        shown: dict[str, Any] = self._editor.lua(f"return vim.g.dialogs[{self._seen}]")
        return shown

    def answer(self, value: int | str | None) -> None:
        """Answer the newest dialog: an item by its number, a text, or nothing."""
        self._editor.lua("Answer(...)", *([] if value is None else [value]))


def opened(start_editor: StartEditor, server: ModelServer, **more: Any) -> tuple[Chat, Dialogs]:
    editor = start_editor(env=connected(server), init=DIALOGS, **more)
    return Chat.open(editor), Dialogs(editor)


def told(server: ModelServer) -> str:
    return server.requests[-1].results["q"]


@pytest.mark.smoke
def test_questions_are_put_one_after_the_other(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat, dialogs = opened(start_editor, model_server)
    model_server.script(calls(asks(*BOTH)), text("ok"))
    chat.send("paint it")
    shown = dialogs.next()
    assert shown["prompt"] == "Look: Which colour? (1 of 2)"
    assert shown["items"] == ["red: like fire", "green", "Something else"]
    assert chat.status()["state"] == "waiting"
    assert "ask: Which colour? (and 1 more)" in chat.transcript()
    dialogs.answer(2)
    shown = dialogs.next()
    assert (shown["kind"], shown["prompt"]) == ("input", "Which name? (2 of 2) ")
    dialogs.answer("Ada")
    chat.finished()
    assert told(model_server) == "Which colour?\n- green\n\nWhich name?\n- Ada"
    assert chat.event("AgentToolFinished")["details"] == {"answers": [["green"], ["Ada"]]}


def test_an_answer_can_be_taken_back(start_editor: StartEditor, model_server: ModelServer) -> None:
    chat, dialogs = opened(start_editor, model_server)
    model_server.script(calls(asks(BOTH[0], BOTH[0], BOTH[1])), text("ok"))
    chat.send("paint it")
    dialogs.next()
    dialogs.answer(1)
    assert dialogs.next()["items"][-1] == "Back to the question before"
    dialogs.answer(4)
    assert "(1 of 3)" in dialogs.next()["prompt"]
    dialogs.answer(2)
    dialogs.next()
    dialogs.answer(1)
    assert "(3 of 3)" in dialogs.next()["prompt"]
    dialogs.answer("<")
    assert "(2 of 3)" in dialogs.next()["prompt"]
    dialogs.answer(2)
    dialogs.next()
    dialogs.answer("Ada")
    chat.finished()
    answers = chat.event("AgentToolFinished")["details"]["answers"]
    assert answers == [["green"], ["green"], ["Ada"]]


def test_several_options_and_an_answer_of_ones_own(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat, dialogs = opened(start_editor, model_server)
    question = {"question": "Which?", "options": COLOURS, "multi_select": True}
    model_server.script(calls(asks(question)), text("ok"))
    chat.send("paint it")
    assert dialogs.next()["items"][2:] == ["Something else", "None of these"]
    dialogs.answer(1)
    assert dialogs.next()["items"] == ["Done: red", "green", "Something else"]
    dialogs.answer(3)
    assert dialogs.next()["kind"] == "input"
    dialogs.answer("blue")
    assert dialogs.next()["items"][0] == "Done: red, blue"
    dialogs.answer(1)
    chat.finished()
    assert told(model_server) == "Which?\n- red\n- blue"


def test_a_closed_question_is_told_and_the_turn_goes_on(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat, dialogs = opened(start_editor, model_server)
    model_server.script(calls(asks(*BOTH)), text("then not"))
    chat.send("paint it")
    dialogs.next()
    dialogs.answer(None)
    chat.finished()
    assert told(model_server) == "Cancelled by the user. No answer was given to: Which colour?"
    assert chat.event("AgentToolFinished")["status"] == "cancelled"


def test_a_question_waits_until_the_user_is_in_the_chat(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat, dialogs = opened(start_editor, model_server, settings={"mode": "plan"})
    model_server.script(calls(call("ls", {}), asks(*BOTH[1:])), text("ok"))
    chat.focus()
    chat.editor.lua("require('agentchat').send(0, 'go') vim.cmd('wincmd p')")
    chat.editor.wait_notice(r"the agent asks: Which name\? Go to its chat")
    chat.editor.keys("itext")
    assert chat.editor.lua("return #vim.g.dialogs") == 0
    chat.focus()
    dialogs.next()
    chat.editor.keys("ga")
    dialogs.next()
    dialogs.answer("Ada")
    chat.finished()
    assert told(model_server) == "Which name?\n- Ada"


def test_stop_closes_the_question_that_neovim_itself_shows(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    for question in BOTH:
        model_server.script(calls(asks(question)))
        chat.send("paint it")
        editor.wait(lambda: editor.mode() == "c", why="Neovim's dialog")
        editor.lua("require('agentchat').stop(...)", chat.buffer)
        chat.finished("cancelled")
        editor.wait(lambda: editor.mode() in "in", why="no dialog")
        assert chat.status()["state"] == "idle"


def test_the_dialog_of_neovim_answers_from_the_keyboard(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(asks(BOTH[0])), text("ok"))
    chat.send("paint it")
    editor.wait(lambda: editor.mode() == "c", why="Neovim's dialog")
    editor.keys("1<CR>")
    chat.finished()
    assert told(model_server) == "Which colour?\n- red"


DIAGNOSE = """
local buf = vim.fn.bufadd('notes.txt')
vim.fn.bufload(buf)
local outside = vim.fn.bufadd('/tmp/elsewhere.txt')
local function said(lnum, severity, message, more)
  local found = { lnum = lnum, col = 2, severity = severity, message = message }
  return vim.tbl_extend('force', found, more or {})
end
local ns = vim.api.nvim_create_namespace('test')
vim.diagnostic.set(ns, buf, {
  said(1, 2, 'looks odd\\nreally', { source = 'lint', code = 17 }),
  said(0, 1, 'is wrong'),
})
vim.diagnostic.set(ns, outside, { said(0, 1, 'not yours') })
"""


def test_diagnostics_are_listed_as_the_model_reads_them(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    error, warning = "notes.txt:1:3: error: is wrong", "notes.txt:2:3: warning: looks odd really"
    expected = {
        "{}": f"{error}\n{warning} [lint 17]",
        '{"severity": "error"}': error,
        '{"path": "notes.txt"}': f"{error}\n{warning} [lint 17]",
        '{"path": "src"}': "No diagnostics found",
        '{"path": "gone"}': "Path not found: gone",
    }
    editor.lua(DIAGNOSE)
    wanted = [call("diagnostics", given, given) for given in expected]
    model_server.script(calls(*wanted), text("ok"))
    chat.play("what is wrong?")
    assert model_server.requests[-1].results == expected


def test_an_editor_without_a_screen_answers_that_nobody_is_there(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(asks(BOTH[1])), text("ok"))
    editor.request("nvim_ui_detach")
    editor.lua("require('agentchat').send(...)", chat.buffer, "go")
    chat.finished()
    assert told(model_server).startswith("Nobody can be asked: ")
