"""The gate as the user sees it: parts in the prompt, explanations, decisions, an empty room."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, held, text

pytestmark = pytest.mark.asks_first

RULES = [
    {"action": "allow", "tool": "bash", "words": ["ls"]},
    {"action": "deny", "words": ["rm"]},
]


@pytest.fixture
def editor(start_editor: StartEditor, model_server: ModelServer) -> Editor:
    return start_editor(settings={"rules": RULES}, env=connected(model_server))


def page(chat: Chat, command: str) -> str:
    """Run a command that shows a page, and return what it shows."""
    editor = chat.editor
    chat.focus()
    before = len(editor.floats())
    editor.command(command)
    editor.wait(lambda: len(editor.floats()) > before, why=f"the page of {command}")
    shown = editor.floats()[-1]
    editor.keys("q")
    editor.wait(lambda: len(editor.floats()) == before, why="the page closes")
    return "\n".join(shown.lines)


def test_the_prompt_says_of_each_part_what_the_rules_say_and_what_it_writes(
    chat: Chat, model_server: ModelServer
) -> None:
    command = "ls -a && touch x > out.txt && git push --force"
    model_server.script(calls(call("bash", {"command": command})), text("ok"))
    chat.send("go")
    shown = "\n".join(chat.asked("bash").lines)
    assert "writes   out.txt" in shown
    assert "allowed  ls -a  (rule: allow tool bash words ls)" in shown
    assert "asks     touch x > out.txt  (it writes out.txt)" in shown
    assert "danger   git push --force: overwrites remote history" in shown
    chat.editor.command("AgentApprove reject")
    chat.finished()


def test_a_call_is_explained_without_being_made(chat: Chat, workspace: Path) -> None:
    shown = page(chat, "AgentApprovals explain bash ls && touch m")
    assert "verdict   ask" in shown
    assert "allow  ls  (rule: allow tool bash words ls)" in shown
    assert "ask    touch m" in shown
    removal = page(chat, "AgentApprovals explain bash rm -rf x")
    assert "because   rule: deny words rm" in removal
    assert "danger    rm -rf x: deletes without asking" in removal
    assert "protected" in page(chat, "AgentApprovals explain write .vscode/x.json")
    assert not (workspace / "m").exists()


def test_what_cannot_be_explained_is_one_line(chat: Chat) -> None:
    chat.editor.command("AgentApprovals explain nothing at all")
    chat.editor.wait_notice("There is no tool nothing.")


def test_the_log_has_each_decision_once_with_its_reason_and_can_be_exported(
    chat: Chat, model_server: ModelServer, tmp_path: Path
) -> None:
    removal = call("bash", {"command": "rm x"}, "1")
    model_server.script(calls(removal, call("bash", {"command": "true"}, "2")), text("ok"))
    chat.send("go")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()
    shown = page(chat, "AgentLog decisions")
    assert shown.startswith("destructive calls in this chat: 1\n")
    assert "decision on bash (1): deny by policy" in shown
    assert "rule: deny words rm" in shown
    assert "decision on bash (2): accept by user" in shown
    assert "(asked because: it has an effect)" in shown
    assert shown.count("decision on bash") == 2
    assert "result of" not in shown
    path = tmp_path / "log.jsonl"
    chat.focus()
    chat.editor.command(f"AgentLog export {path}")
    chat.editor.wait_notice(f"records exported to {path}")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["verdict"] for line in lines if line["kind"] == "decided"] == ["deny", "accept"]
    chat.editor.command(f"AgentLog export {path}")
    chat.editor.wait_notice(f"{path} exists. Overwrite it with :AgentLog! export.")
    chat.editor.command("AgentLog export")
    chat.editor.wait_notice(":AgentLog export needs the path of a file")
    folder = chat.editor.lua(
        "return vim.fn.getcompletion(...)", f"AgentLog export {tmp_path}/l", "cmdline"
    )
    assert folder == [str(path)]


def test_without_a_screen_what_would_ask_is_denied(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(call("bash", {"command": "touch m"})), text("ok"))
    chat.editor.request("nvim_ui_detach")
    chat.editor.lua("require('agentchat').send(...)", chat.buffer, "go")
    chat.finished()
    assert model_server.requests[-1].result == (
        "Denied: nobody is here to answer. Add a rule to g:agentchat.rules: "
        '{ action = "allow", tool = "bash", words = { "touch", "m" } }'
    )
    assert not (workspace / "m").exists()


def test_rules_that_are_no_list_make_every_effect_ask(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(
        settings={"rules": {"action": "deny"}, "mode": "yolo"}, env=connected(model_server)
    )
    chat = Chat.open(editor)
    editor.wait_notice("g:agentchat.rules: must be a list of rules.")
    model_server.script(calls(call("write", {"path": "new", "content": ""})), text("ok"))
    chat.send("go")
    chat.asked("write")
    editor.command("AgentApprove reject")
    chat.finished()


def test_a_screen_that_comes_or_goes_counts_when_something_would_ask(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor, gone, back = chat.editor, threading.Event(), threading.Event()
    touch = call("bash", {"command": "touch m"})
    model_server.script(held(calls(touch), gone), held(calls(touch), back), text("ok"))
    chat.send("go")
    editor.wait(lambda: len(model_server.requests) == 1, why="the first request")
    (screen,) = editor.request("nvim_list_uis")
    editor.request("nvim_ui_detach")
    heard(chat, "edit")
    gone.set()
    editor.wait(lambda: len(model_server.requests) == 2, why="the second request")
    assert model_server.requests[-1].result.startswith("Denied: nobody is here to answer.")
    options = {"rgb": True, "ext_linegrid": True, "ext_hlstate": True}
    editor.request("nvim_ui_attach", screen["width"], screen["height"], options)
    heard(chat, "ask")
    back.set()
    chat.asked("bash")
    editor.command("AgentApprove accept")
    chat.finished()
    assert (workspace / "m").exists()


def test_what_neovim_would_load_asks_in_every_mode(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / "mine").mkdir()
    editor = start_editor(
        init=f"vim.opt.runtimepath:append('{workspace}/mine')", env=connected(model_server)
    )
    chat = Chat.open(editor)
    heard(chat, "yolo")
    for number, path in enumerate(("mine/after/plugin/x.lua", "mine/lua/x.lua")):
        given = {"path": path, "content": "touched"}
        model_server.script(calls(call("write", given, f"w{number}")), text("ok"))
        chat.send("go")
        assert f"{path} is protected" in chat.asked("write").text
        editor.command("AgentApprove reject")
        chat.finished()
    assert not list((workspace / "mine").iterdir())


def test_reading_and_searching_make_no_buffer_and_run_nothing(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / "never.txt").write_text("needle\n")
    editor.command("autocmd BufAdd,BufReadPre,FileType *never* let g:ran = expand('<amatch>')")
    buffers = editor.eval("len(getbufinfo())")
    read, grep = call("read", {"path": "never.txt"}, "r"), call("grep", {"pattern": "needle"}, "g")
    model_server.script(calls(read, grep), text("ok"))
    chat.play("look")
    assert "needle" in model_server.requests[-1].results["r"]
    assert "never.txt:1" in model_server.requests[-1].results["g"]
    assert editor.eval("len(getbufinfo())") == buffers
    assert editor.eval("exists('g:ran')") == 0


def heard(chat: Chat, mode: str) -> None:
    """Change the mode, and wait until Python has heard of that and of all before it."""
    chat.editor.lua("require('agentchat').mode(...)", chat.buffer, mode)
    chat.editor.wait(lambda: chat.status()["mode"] == mode, why=f"mode {mode}")


def test_a_projects_rules_count_once_they_are_trusted(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor, file = chat.editor, workspace / ".agentchat" / "rules.json"
    file.parent.mkdir()
    rules = [{"action": "allow", "tool": "bash", "words": ["touch"]}]
    file.write_text(json.dumps({"version": 1, "rules": rules}))
    assert "verdict   ask" in page(chat, "AgentApprovals explain bash touch m")
    editor.wait_notice("rules.json allow.*:AgentApprovals trust")
    chat.focus()
    editor.keys(":AgentApprovals trust<CR>")
    editor.wait_screen("[i]gnore")
    editor.keys("a")
    editor.wait_notice("is trusted with its current content")
    shown = page(chat, "AgentApprovals explain bash touch m")
    assert "because   rule: allow tool bash words touch (.agentchat/rules.json:1)" in shown
    model_server.script(calls(call("bash", {"command": "touch m"})), text("ok"))
    chat.play("go")
    assert (workspace / "m").exists()
