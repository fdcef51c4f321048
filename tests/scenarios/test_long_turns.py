"""Turns that go on and on, and turns that the user stops."""

from __future__ import annotations

import threading

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Hold, Reply, call, calls, stream, text


def looks(count: int) -> list[Reply]:
    return [calls(call("ls", {})) for _ in range(count)]


def test_a_model_that_repeats_its_calls_is_told_so_and_then_the_user_is_asked(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(*looks(5), text("I give up."))
    chat.send("List the files")
    question = chat.asked("rounds")
    assert "Go on? The model made the same calls 5 times in a row" in question.text
    assert "ls {}" in question.text
    assert "A always" not in question.footer
    assert "e edit" not in question.footer
    told = [
        any("same tool calls 3 times" in str(message) for message in request.messages)
        for request in model_server.requests
    ]
    assert told == [False, False, False, True, True]
    chat.answer("a")
    chat.finished()


def test_the_user_who_says_no_ends_the_turn(chat: Chat, model_server: ModelServer) -> None:
    model_server.script(*looks(5))
    chat.send("List the files")
    chat.asked("rounds")
    chat.editor.command("AgentApprove reject use the tree")
    chat.finished()
    assert "The user ended the turn here" in chat.transcript()
    assert len(model_server.requests) == 5
    model_server.script(text("Sorry."))
    chat.play("What now?")
    assert "Reason: use the tree" in str(model_server.requests[-1].messages)


def test_max_rounds_asks_before_the_turn_goes_on(editor: Editor, model_server: ModelServer) -> None:
    editor.lua("require('agentchat').setup({ max_rounds = 2 })")
    chat = Chat.open(editor)
    reads = [calls(call("read", {"path": path})) for path in ("notes.txt", "README.md")]
    model_server.script(*reads, text("Done."))
    chat.send("Read")
    assert "Go on? This turn has made 2 requests" in chat.asked("rounds").title
    chat.answer("a")
    chat.finished()


def test_a_stopped_reply_is_marked_and_the_model_is_told_that_it_was_cut_off(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(stream("One, two, ", Hold(threading.Event())))
    chat.send("Count")
    chat.editor.wait_text("two,", chat.buffer)
    chat.editor.command("AgentStop")
    chat.finished("cancelled")
    assert chat.transcript().rstrip().endswith("Stopped by you.")
    model_server.script(text("three."))
    chat.play("Go on")
    sent = [message["content"] for message in model_server.requests[-1].messages[1:]]
    assert sent[1:] == [
        "One, two, ",
        "The user stopped you here: your reply was cut off.",
        "Go on",
    ]
