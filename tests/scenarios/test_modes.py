"""Modes and rules: what asks, what runs, what is forbidden, seen from the chat."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

WRITE = call("write", {"path": "new.txt", "content": "x"}, "w")
EDIT = call("edit", {"path": "notes.txt", "edits": [{"old_text": "one", "new_text": "1"}]}, "e")
TOUCH = call("bash", {"command": "touch m"}, "b")
READ = call("read", {"path": "notes.txt"}, "r")
PROTECTED = call("write", {"path": ".vscode/tasks.json", "content": "{}"}, "p")


MODES = [
    ("ask", WRITE, "asks"),
    ("edit", WRITE, "runs"),
    ("edit", EDIT, "runs"),
    ("edit", TOUCH, "asks"),
    ("edit", PROTECTED, "asks"),
    ("yolo", WRITE, "runs"),
    ("yolo", TOUCH, "runs"),
    ("yolo", PROTECTED, "asks"),
    ("plan", READ, "runs"),
    ("plan", WRITE, "Not allowed in plan mode: write."),
    ("plan", TOUCH, "runs"),  # isolated, what it changes is dropped
]


def choose(chat: Chat, mode: str) -> None:
    chat.focus()
    chat.editor.command(f"AgentMode {mode}")
    chat.editor.wait(lambda: chat.status()["mode"] == mode, why=f"mode {mode}")


def test_a_mode_decides_what_asks_and_what_runs(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    seen = []
    for mode, wanted, _ in MODES:
        choose(chat, mode)
        model_server.script(calls(wanted), text("done"))
        chat.send("go")
        asked = chat.asks()
        if asked:
            chat.asked(wanted.name)
            editor.command("AgentApprove reject")
        chat.finished()
        told = model_server.requests[-1].result
        ended = chat.event("AgentToolFinished")["status"]
        assert (workspace / "m").exists() == (mode == "yolo" and wanted is TOUCH)
        (workspace / "m").unlink(missing_ok=True)
        seen.append((mode, wanted, "asks" if asked else "runs" if ended == "success" else told))
    assert seen == MODES


def test_the_mode_of_one_chat_is_not_that_of_another(chat: Chat, editor: Editor) -> None:
    choose(chat, "yolo")
    other = Chat.open(editor, "vertical AgentChat!")
    assert other.status()["mode"] == "ask"


def test_a_rule_denies_before_anything_is_asked(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    rules = [
        {"action": "allow", "tool": "bash", "words": ["echo"]},
        {"action": "deny", "tool": "bash", "words": ["touch"]},
    ]
    chat = Chat.open(start_editor({"rules": rules}, env=connected(model_server)))
    both = call("bash", {"command": "echo hi && touch m"}, "c")
    model_server.script(calls(both, call("bash", {"command": "echo hi"}, "d")), text("done"))
    chat.play("go")
    assert model_server.requests[1].results["c"].startswith("Denied by rule: ")
    assert model_server.requests[1].results["d"].strip() == "hi"
    assert not (workspace / "m").exists()
    assert chat.event("AgentToolFinished")["status"] == "denied"
