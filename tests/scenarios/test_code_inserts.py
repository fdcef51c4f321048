"""Code of an answer that the user puts into a file."""

from __future__ import annotations

from pathlib import Path

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import text

CODE = "Use this:\n\n```python\ndef bye(name):\n    return 'Bye'\n```\n"


def test_code_is_put_into_the_last_code_window_as_a_preview_to_review(
    editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    file = workspace / "src/greet.py"
    before = file.read_text()
    editor.command("edit src/greet.py")
    editor.command("1")
    chat = Chat.open(editor)
    model_server.script(text(CODE))
    chat.play("how?")
    chat.focus()
    editor.keys("<C-\\><C-n>")
    editor.command("call search('return .Bye', 'bw')")
    editor.keys("gp")
    editor.wait_event("AgentPreviewStaged", label="Code: 2 lines into src/greet.py", source="code")
    assert file.read_text() == before
    chat.focus()
    editor.command("AgentResolve apply")
    editor.wait_event("AgentPreviewResolved", action="apply", status="success")
    first, rest = before.split("\n", 1)
    assert file.read_text() == f"{first}\ndef bye(name):\n    return 'Bye'\n{rest}"
