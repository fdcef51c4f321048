"""Long chats: the meter, the summary that the user approves, and what the model is sent then."""

from __future__ import annotations

import json

import pytest

from tests.conftest import StartEditor, connected
from tests.scenarios.test_history import resumed
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer, content_text
from tests.support.replies import Reply, call, calls, raw, text

WINDOW = 20_000
FULL = (15_500, 60)
OVERFLOW = raw(
    json.dumps(
        {
            "error": {
                "message": "This model's maximum context length is 16385 tokens. However, your "
                "messages resulted in 20123 tokens. Please reduce the length of the messages.",
                "code": "context_length_exceeded",
            }
        }
    ).encode(),
    400,
)


def long_chat(start_editor: StartEditor, server: ModelServer, **settings: object) -> Chat:
    """Return a chat whose window is nearly full after a rejected command."""
    settings = {"model": {"context": WINDOW}, **settings}
    chat = Chat.open(start_editor(settings, env=connected(server)))
    rejected = calls(call("bash", {"command": "rm notes.txt"}, "c1"))
    server.script(rejected, text("I leave it.", usage=FULL))
    chat.send("Tidy up the notes")
    chat.asked("bash")
    chat.focus()
    chat.editor.command("AgentApprove reject keep my notes")
    chat.finished()
    return chat


def said(server: ModelServer, number: int = -1) -> str:
    """Return all that a request says beside the system prompt."""
    return "\n".join(map(content_text, server.requests[number].messages[1:]))


def used(chat: Chat) -> int:
    """Return the tokens that the meter shows."""
    return int(chat.status()["context"]["used"])


def test_the_meter_shows_the_tokens_and_the_window(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat = long_chat(start_editor, model_server)
    chat.editor.wait(lambda: used(chat) == sum(FULL), why="the tokens of the last request")
    assert chat.status()["context"] == {"used": sum(FULL), "window": WINDOW}
    assert "15.6k/20k" in "\n".join(chat.editor.screen())


@pytest.mark.smoke
def test_a_full_window_proposes_a_summary_that_the_user_edits_before_it_counts(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat = long_chat(start_editor, model_server)
    model_server.script(text("The user tidies notes."), text("Going on.", usage=(900, 10)))
    chat.send("And now the tests")
    question = chat.asked("compact")
    assert "The user tidies notes." in question.text
    assert "into this summary?" in question.title
    chat.focus()
    chat.editor.keys("ga")
    chat.editor.keys("e")
    chat.editor.keys("ccTidying; notes.txt stays.<Esc>")
    chat.editor.command("write")
    chat.event("AgentCompacted")
    chat.finished()
    request = said(model_server)
    assert "Tidying; notes.txt stays." in request
    assert "The user tidies notes." not in request
    assert "User rejected the bash call. Reason: keep my notes" in request
    assert request.endswith("And now the tests")
    assert "I leave it." in chat.transcript()
    assert used(chat) == 910


def test_an_overflow_of_the_server_leads_to_the_summary_and_the_turn_goes_on(
    editor: Editor, model_server: ModelServer
) -> None:
    chat = Chat.open(editor)
    model_server.script(text("It is a shop."))
    chat.play("What is this?")
    model_server.script(OVERFLOW, text("A shop was looked at."), text("Done."))
    chat.send("Go on")
    chat.asked("compact")
    chat.answer("a")
    chat.event("AgentCompacted")
    chat.finished()
    assert "A shop was looked at." in said(model_server)
    assert chat.status()["context"]["window"] == 16385


def test_the_command_compacts_undoes_and_survives_a_restart(
    editor: Editor, model_server: ModelServer
) -> None:
    chat = Chat.open(editor)
    model_server.script(text("First answer."), text("Second answer."))
    chat.play("one")
    chat.play("two")
    model_server.script(text("They counted."))
    chat.focus()
    editor.command("AgentCompact the numbers")
    chat.asked("compact")
    assert "the numbers" in said(model_server)
    chat.answer("a")
    chat.event("AgentCompacted")
    chat.idle()
    editor.command("AgentCompact undo")
    editor.wait_text("taken back", chat.buffer)
    model_server.script(text("Third answer."))
    chat.play("three")
    assert "First answer." in said(model_server)
    model_server.script(text("They counted to three."))
    chat.focus()
    editor.command("AgentCompact")
    chat.asked("compact")
    chat.answer("a")
    chat.event("AgentCompacted")
    chat.idle()
    editor.command(f"bdelete! {chat.buffer}")
    again = resumed(editor, "AgentHistory")
    editor.wait_text("First answer.", again.buffer)
    model_server.script(text("Fourth answer."))
    again.play("four")
    assert "They counted to three." in said(model_server)
    assert "First answer." not in said(model_server)


def test_a_summary_that_fails_is_one_clear_line_and_the_turn_goes_on(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat = long_chat(start_editor, model_server)
    model_server.script(Reply(status=400, body=b'{"error": {"message": "no"}}'), text("Fine."))
    chat.play("Go on")
    assert "The summary failed, nothing is compacted" in chat.transcript()
    assert "I leave it." in said(model_server)


def test_a_pending_preview_stays_word_for_word_and_can_be_applied(
    editor: Editor, model_server: ModelServer
) -> None:
    chat = Chat.open(editor)
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    staging = calls(call("ast_edit", {"ops": ops, "lang": "python"}, "c1"))
    model_server.script(staging, text("Apply it?"), text("It waits."), text("A rename is staged."))
    chat.play("Rename greet")
    chat.play("Wait")
    chat.focus()
    editor.command("AgentCompact")
    chat.asked("compact")
    chat.answer("a")
    chat.event("AgentCompacted")
    chat.idle()
    resolving = call("resolve", {"action": "apply", "reason": "asked for"}, "c2")
    model_server.script(calls(resolving), text("Renamed."))
    chat.send("Apply it")
    chat.asked("resolve")
    assert model_server.requests[1].result in said(model_server)
    chat.answer("a")
    chat.finished()
    assert "Applied" in model_server.requests[-1].result
