"""Model servers good and bad, and the offline model, seen from the chat."""

from __future__ import annotations

import re
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Hold, Raw, Reply, call, calls, raw, status, stream, text

# --- choice of the model --------------------------------------------------------------------


def test_settings_name_the_server_before_the_environment_does(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    model = {
        "provider": "openai",
        "name": "chosen",
        "base_url": model_server.url,
        "api_key_env": "MY_KEY",
    }
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MY_KEY": "mine", "OPENAI_API_KEY": "no"}
    chat = Chat.open(start_editor({"model": model}, env=env))
    model_server.script(text("ok"))
    chat.play("hello")
    assert model_server.requests[0].body["model"] == "chosen"
    assert model_server.requests[0].headers["authorization"] == "Bearer mine"


def test_a_local_server_needs_no_key(start_editor: StartEditor, model_server: ModelServer) -> None:
    chat = Chat.open(start_editor(env={"OPENAI_BASE_URL": model_server.url}))
    model_server.script(text("no key needed"))
    chat.play("hello")
    assert "no key needed" in chat.transcript()


SELECT = """
vim.ui.select = function(items, opts, choose)
  vim.g.offered = { opts.prompt, items }
  vim.schedule(function() choose(items[1], 1) end)
end
"""
"""Takes the first that is offered."""


def test_the_model_of_a_chat_can_be_shown_and_chosen(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    editor.wait_event("AgentHostStarted")
    chat.focus()
    editor.command("AgentModel other-model")
    editor.wait(lambda: chat.status()["model"] == "other-model", why="the model in the status")
    model_server.script(text("ok"))
    chat.play("hello")
    assert model_server.requests[0].body["model"] == "other-model"
    model_server.models = ["big-model", "small-model"]
    editor.lua(SELECT)
    chat.focus()
    editor.command("AgentModel")
    editor.wait(lambda: chat.status()["model"] == "big-model", why="what was selected")
    prompt, offered = editor.eval("g:offered")
    assert prompt == "Model (now other-model):"
    assert offered[:3] == ["big-model", "other-model", "small-model"]
    model_server.script(text("ok"))
    chat.play("hello")
    assert model_server.requests[-1].body["model"] == "big-model"


def test_the_names_of_models_complete(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    editor.wait_event("AgentHostStarted")
    model_server.models = ["big-model", "small-model"]
    chat.focus()
    assert "offline" in editor.eval("getcompletion('AgentModel ', 'cmdline')")
    editor.wait(
        lambda: editor.eval("getcompletion('AgentModel all', 'cmdline')") == ["small-model"],
        why="the server's list",
    )


# --- servers that fail ----------------------------------------------------------------------


def failed(chat: Chat, *words: str) -> str:
    """Send, and return what the chat says of the error: one line, in the chat or a notice."""
    chat.send("hello")
    chat.finished("error")
    chat.idle()
    told = [n.text for n in chat.editor.notices] + chat.text().split("\n")
    lines = [line for line in told if all(re.search(word, line, re.I) for word in words)]
    assert lines, chat.text()
    assert "Traceback" not in chat.text()
    chat.editor.allow(".")
    return lines[0]


FAILURES: list[tuple[Reply, list[str]]] = [
    (status(401, "Incorrect API key provided"), ["401|key", "OPENAI_API_KEY|api_key"]),
    (status(403, "no access"), ["403|no access"]),
    (status(404, "model not found"), ["404|not found"]),
    (status(400, "maximum context length is 10 tokens"), ["context"]),
    (raw(b"<html>login</html>", Content_Type="text/html"), ["html|not .*model|answer"]),
    (stream(Raw(b'data: {"object":"error","message":"boom"}\n\n'), done=False), ["boom"]),
    (stream("part", Raw(b'data: {"error":{"message":"crash"}}\n\n'), done=False), ["crash"]),
    (stream("part", finish="content_filter"), ["filter"]),
]


def test_an_error_of_the_server_is_one_clear_line_and_is_not_tried_again(
    chat: Chat, model_server: ModelServer
) -> None:
    for reply, words in FAILURES:
        before = len(model_server.requests)
        model_server.script(reply)
        failed(chat, *words)
        assert len(model_server.requests) == before + 1, words
    model_server.script(text("well again"))
    chat.play("again")
    assert "well again" in chat.transcript()


def test_a_wrong_address_is_one_clear_line(start_editor: StartEditor) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    editor = start_editor(env={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"})
    chat = Chat.open(editor)
    assert url.removeprefix("http://") in failed(chat, re.escape(url.removeprefix("http://")))


def test_a_wrong_path_on_the_server_is_one_clear_line(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    env = {"OPENAI_BASE_URL": model_server.url + "/wrong", "OPENAI_API_KEY": "k"}
    model_server.script(status(404, "no such path"))
    failed(Chat.open(start_editor(env=env)), "404|no such path")


def test_a_busy_server_is_asked_again_after_the_time_it_names(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(status(429, "slow down", Retry_After="1"), text("now"))
    before = time.monotonic()
    chat.play("hello")
    assert time.monotonic() - before >= 1
    assert len(model_server.requests) == 2
    assert "now" in chat.transcript()


def test_waiting_for_a_busy_server_can_be_stopped(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(status(429, "slow down", Retry_After="30"))
    chat.send("hello")
    editor.wait(lambda: "30" in chat.text() or "30" in "".join(editor.screen()), why="the wait")
    editor.command("AgentStop")
    chat.finished("cancelled")


def test_a_stream_that_only_keeps_alive_can_be_stopped(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(stream(Raw(b": KEEPALIVE\n\n"), Hold(threading.Event())))
    chat.send("hello")
    editor.wait(lambda: model_server.requests)
    editor.command("AgentStop")
    chat.finished("cancelled")
    assert model_server.requests[0].hung_up.wait(2)


def test_odd_characters_do_no_harm(chat: Chat, model_server: ModelServer) -> None:
    odd = ["\x1b[31mred", "a\u202eb", "nul\x00nul", "tab\tbell\x07", "\r\nlines\r"]
    for number, content in enumerate(odd):
        model_server.script(text(f"{content} end {number}", size=1000))
        chat.play("say odd things")
        assert f"end {number}" in chat.transcript()


def test_the_key_that_a_command_prints_is_written_nowhere(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    key = "key-of-a-command-0123456789"
    model = {"base_url": model_server.url, "name": "m", "api_key_cmd": ["echo", key]}
    editor = start_editor({"model": model})
    chat = Chat.open(editor)
    model_server.script(text(f"your key is {key}"))
    chat.play("what is my key?")
    assert model_server.requests[0].headers["authorization"] == f"Bearer {key}"
    state = Path(editor.eval("stdpath('state')"))
    (journal,) = state.rglob("journals/*.msgpack")
    assert b"your key is [secret]" in journal.read_bytes()
    assert [path for path in state.rglob("*") if path.is_file() and holds(path, key)] == []


def holds(path: Path, words: str) -> bool:
    return words.encode() in path.read_bytes()


def test_reasoning_in_tags_is_folded_and_not_sent_back_as_text(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(text("<think>I wonder.</think>\n\nHello.", size=4), text("ok"))
    chat.play("hello")
    assert "think>" not in chat.text()
    assert chat.text().count("Hello.") == 1
    chat.play("again")
    assert "I wonder" not in str(model_server.requests[1].messages)
    assert model_server.requests[1].messages[-2]["content"] == "Hello."


# --- offline --------------------------------------------------------------------------------


@pytest.fixture
def offline(offline_editor: Editor) -> Chat:
    """A chat on the offline model."""
    return Chat.open(offline_editor)


def test_the_offline_model_says_what_it_is_and_how_to_connect_one(offline: Chat) -> None:
    offline.play("hello, who are you?")
    said = offline.transcript()
    assert re.search("not a (large )?language model", said)
    assert "OPENAI_BASE_URL" in said or "OPENAI_API_KEY" in said or "g:agentchat" in said
    assert offline.status()["model"] == "offline"


def test_the_offline_model_reads_and_searches(offline: Chat) -> None:
    for wish, tool, shown in [
        ("read notes.txt", "read", "three"),
        ("find *.py", "find", "src/greet.py"),
        ("search farewell", "grep", "src/app.py"),
    ]:
        offline.play(wish)
        assert offline.event("AgentToolFinished", tool=tool)["status"] == "success"
        assert shown in offline.text()


def test_the_offline_model_edits_with_consent(offline: Chat, workspace: Path) -> None:
    offline.send("replace 'Hello' with 'Hi' in src/greet.py")
    offline.asked("edit")
    offline.answer("a")
    offline.finished()
    assert '"Hi, " + name' in (workspace / "src/greet.py").read_text()


def test_the_offline_model_renames_by_a_preview(offline: Chat, workspace: Path) -> None:
    offline.send("rename greet to welcome in src")
    offline.event("AgentPreviewStaged")
    editor = offline.editor
    editor.wait(
        lambda: (
            any(e.name == "AgentApprovalRequested" for e in editor.events)
            or offline.status()["state"] == "idle"
        )
    )
    if offline.status()["state"] == "idle":
        offline.focus()
        editor.command("AgentResolve apply")
    else:
        editor.command("AgentApprove accept")
    offline.event("AgentPreviewResolved", action="apply")
    assert "def welcome(name)" in (workspace / "src/greet.py").read_text()
    assert 'welcome("world")' in (workspace / "src/app.py").read_text()
    offline.idle()


def test_the_offline_model_runs_a_command_with_consent_and_hears_a_no(
    offline: Chat, workspace: Path
) -> None:
    offline.send("run: touch m")
    offline.asked("bash")
    offline.editor.command("AgentApprove reject not today")
    offline.finished()
    assert not (workspace / "m").exists()
    assert "not today" in offline.text()


def test_the_offline_model_minds_an_error(offline: Chat) -> None:
    offline.play("read nowhere.txt")
    assert offline.event("AgentToolFinished")["status"] == "error"
    assert "nowhere.txt" in offline.transcript()


def test_a_server_can_be_the_model_after_offline(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat = Chat.open(start_editor(env=connected(model_server)))
    model_server.script(calls(call("ls")), text("a model speaks"))
    chat.play("list")
    assert "a model speaks" in chat.transcript()


@pytest.mark.parametrize(
    "reply",
    [
        '<tool_call>\n{"name": "read", "arguments": {"path": "notes.txt"\n</tool_call>',
        '{"name": "open_it", "parameters": {"path": "notes.txt"}}',
        '[TOOL_CALLS][{"name": "read", "arguments": ',
        'I read it.\n<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>\nDone.',
    ],
)
def test_a_call_that_is_written_as_text_is_named_as_such(
    chat: Chat, model_server: ModelServer, reply: str
) -> None:
    model_server.script(text(reply))
    chat.play("Read the notes")
    assert "The model wrote a tool call as text. It was not run" in chat.transcript()


def test_an_answer_about_calls_is_no_call(chat: Chat, model_server: ModelServer) -> None:
    fenced = "```\n<tool_call>{}</tool_call>\n```"
    model_server.script(text(f"Models write <tool_call>{{…}} there.\n{fenced}\nSo."))
    chat.play("How do models call?")
    assert "as text" not in chat.transcript()
