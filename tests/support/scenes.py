"""What the plugin looks like at its main moments: each scene leaves the editor there.

The replies are scripted, so a scene looks the same each time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from .chat import Chat
from .editor import Editor
from .model_server import ModelServer
from .replies import Hold, call, calls, stream, text

Scene = Callable[[Editor, ModelServer], None]

USAGE = (6200, 80)
"""Tokens as the server counts them: shown in the winbar, so they must not vary."""

ANSWER = """\
`greet` builds the greeting in **one** place:

```python
def greet(name):
    return "Hello, " + name
```

- `src/app.py` calls it once
- the test pins the text

Shall I rename it?"""


MARKUP = re.compile(r"```|\*\*|\|--|(^|│)---$", re.MULTILINE)
"""What is on the screen of an answer that is not rendered yet."""


HAS_COLOURS = """
local marks = vim.api.nvim_buf_get_extmarks(..., -1, 0, -1, { details = true })
return vim.iter(marks):any(function(mark) return mark[4].hl_group == 'AgentChatCodeKeyword' end)
"""


HAS_ADDED = """
local marks = vim.api.nvim_buf_get_extmarks(..., -1, 0, -1, { details = true })
return vim.iter(marks):any(function(mark) return mark[4].hl_group == 'AgentChatAddWord' end)
"""


def _wait_rendered(editor: Editor) -> None:
    editor.wait(lambda: not MARKUP.search("\n".join(editor.screen())), why="a rendered answer")


def chat(editor: Editor, server: ModelServer) -> None:
    """A chat beside a file: a call that is done, and an answer in Markdown."""
    editor.command("edit src/greet.py")
    chat = Chat.open(editor)
    server.script(
        calls(call("read", {"path": "src/greet.py"}), say="I look at it first.", usage=USAGE),
        text(ANSWER, usage=USAGE),
    )
    chat.play("Where is the greeting made?")
    _wait_rendered(editor)
    editor.wait(lambda: editor.lua(HAS_COLOURS, chat.buffer), why="coloured code")
    chat.type("Yes, rename it to @grep")
    editor.screen()


REPORT = """\
## Where it stands

1. **Prices** come from `src/app.py`, see [the notes](notes.txt); a long item goes on below its
   first word, not below its number.
2. The tests pin them.

> A quote of the notes: *one*, two, three.

| Module | Lines | What it does |
|---|--:|---|
| `greet` | 10 | builds the greeting and nothing else |
| `app` | 1,204 | 漢字 and the rest |

```lua
local function total(prices) return vim.iter(prices):fold(0, add) end
```

---

Shall I go on?"""


def answer(editor: Editor, server: ModelServer) -> None:
    """What an answer can have, below reasoning, calls that read, an error and a todo list."""
    chat = Chat.open(editor)
    items = [
        {"content": "Read the sources", "status": "completed"},
        {"content": "Report where it stands", "status": "in_progress"},
        {"content": "Tidy up", "status": "pending"},
    ]
    server.script(
        calls(
            call("read", {"path": "src/greet.py"}, "1"),
            call("grep", {"pattern": "greet"}, "2"),
            call("read", {"path": "src/app.py"}, "3"),
            usage=USAGE,
        ),
        calls(
            call("read", {"path": "src/prices.py"}, "4"),
            call("todo", {"todos": items}, "5"),
            say="I look at the tests.",
            usage=USAGE,
        ),
        text(REPORT, usage=USAGE),
    )
    chat.play("Where do we stand?")
    _wait_rendered(editor)
    editor.screen()


def prompt(editor: Editor, server: ModelServer) -> None:
    """The completion of slash commands."""
    editor.command("edit src/greet.py")
    editor.lua(
        "vim.fn.mkdir('.claude/commands', 'p')\n"
        "vim.fn.writefile({ 'Review $1' }, '.claude/commands/review.md')"
    )
    chat = Chat.open(editor)
    server.script(text("Fine."))
    chat.play("/review it")
    chat.type("/")
    editor.wait("#vim.lsp.get_clients({ name = 'agentchat' }) == 1")
    editor.keys("<C-x><C-o>")
    editor.screen()


def attached(editor: Editor, server: ModelServer) -> None:
    """A prompt with attachments."""
    editor.command("edit src/greet.py")
    chat = Chat.open(editor)
    chat.type("Does #buffer need #dir:src and #file:gone.py? Use @grep")
    editor.screen()


def streaming(editor: Editor, server: ModelServer) -> None:
    """A chat in the middle of a reply."""
    chat = Chat.open(editor)
    server.script(stream(*ANSWER[:90], Hold(threading.Event())))
    chat.send("Where is the greeting made?")
    editor.wait_text("one", chat.buffer)


def command(editor: Editor, server: ModelServer) -> None:
    """The approval of a shell command, the first of two."""
    editor.lua("require('agentchat').setup({ commands = { unasked = 'none' } })")
    chat = Chat.open(editor)
    run = call("bash", {"command": "python -m pytest -q test_greet.py && git status --short"})
    server.script(
        calls(run, call("bash", {"command": "rm -r build"}), say="I run the tests.", usage=USAGE)
    )
    chat.send("Do the tests pass?")
    chat.asked("bash")


def diff(editor: Editor, server: ModelServer) -> None:
    """The approval of an edit, with its diff."""
    editor.command("edit src/greet.py")
    chat = Chat.open(editor)
    edits = [
        {"old_text": '"Hello, " + name', "new_text": 'f"Hello, {name}!"'},
        {
            "old_text": "def farewell(name):\n",
            "new_text": 'def farewell(name):\n    """Return a farewell."""\n',
        },
    ]
    server.script(
        calls(call("edit", {"path": "src/greet.py", "edits": edits}), say="I edit it.", usage=USAGE)
    )
    chat.send("Make the greeting louder")
    chat.asked("edit")


def review(editor: Editor, server: ModelServer) -> None:
    """The review of a structural rename that is staged."""
    chat = Chat.open(editor)
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    server.script(
        calls(call("ast_edit", {"ops": ops, "lang": "python"}), say="I stage it.", usage=USAGE),
        text("I staged the rename: apply it?", usage=USAGE),
    )
    chat.play("Rename the calls of greet to welcome")
    chat.focus()
    # Where it came up depends on how far the reply was; opened again it has its place.
    for keys in ("gr", "q", "gr"):
        editor.keys(keys)
    editor.wait(editor.floats, why="the review is shown")


def staged(editor: Editor, server: ModelServer) -> None:
    """The review of edits in several files that were staged together."""
    editor.lua("require('agentchat').setup({ tools = { edits = 'stage' } })")
    chat = Chat.open(editor)
    louder = {"old_text": '"Hello, " + name', "new_text": 'f"Hello, {name}!"'}
    source = (editor.workspace / "notes.txt").read_text()
    server.script(
        calls(
            call("edit", {"path": "src/greet.py", "edits": [louder]}, "1"),
            call("delete", {"path": "notes.txt"}, "2"),
            call("write", {"path": "doc/notes.txt", "content": source + "done: louder\n"}, "3"),
            say="I edit them.",
            usage=USAGE,
        ),
        text("I staged the changes: apply them?", usage=USAGE),
    )
    chat.play("Make the greeting louder and move the notes")
    chat.focus()
    editor.keys("gr")
    editor.wait(editor.floats, why="the review is shown")


SUMMARY = """\
The user wants a friendlier greeting in `src/greet.py`.

- `greet` builds it in one place and `src/app.py` calls it once; the user rejected `rm notes.txt`.
- Done: the greeting ends with an exclamation mark. The tests pass (`pytest -q`, 12 passed).

Next: the same for `farewell`, without changing what it is called."""


def compact(editor: Editor, server: ModelServer) -> None:
    """A summary of a long chat that is proposed before the next request."""
    editor.lua("require('agentchat').setup({ model = { context = 128000 } })")
    chat = Chat.open(editor)
    server.script(
        calls(call("read", {"path": "src/greet.py"}), say="I look at it first.", usage=USAGE),
        text(ANSWER, usage=(108_100, 80)),
        text(SUMMARY),
    )
    chat.play("Where is the greeting made?")
    chat.send("Now the farewell")
    chat.asked("compact")


def stage(editor: Editor, server: ModelServer) -> None:
    """What a turn in stage mode did: edits, a command and a commit are one preview."""
    chat = Chat.open(editor)
    chat.focus()
    editor.command("AgentMode stage")
    editor.wait(lambda: chat.status()["mode"] == "stage", why="the overlay works")
    edits = [{"old_text": "Hello", "new_text": "Welcome"}]
    command = (
        "git init -q && git add -A && git -c user.name=a -c user.email=a commit -qm all\n"
        "mv notes.txt NOTES.txt && ln -s NOTES.txt notes && chmod +x src/app.py && make -s build"
    )
    server.script(
        calls(call("edit", {"path": "src/greet.py", "edits": edits}), usage=USAGE),
        calls(call("bash", {"command": command}), usage=USAGE),
        text("I renamed the notes and committed everything.", usage=USAGE),
    )
    chat.play("Tidy up and commit.")
    chat.event("AgentPreviewStaged")
    chat.focus()
    editor.keys("gr")
    editor.wait(editor.floats, why="the review is shown")


def tried(editor: Editor, server: ModelServer) -> None:
    """A command that ran isolated: its output, and what it changed."""
    editor.lua("require('agentchat').setup({ ui = { prompt_delay_ms = 0 } })")
    chat = Chat.open(editor)
    command = "sed -i s/Hello/Welcome/ src/greet.py && echo 'renamed in 1 file'"
    server.script(calls(call("bash", {"command": command}), usage=USAGE), text("Done."))
    chat.send("Say welcome.")
    chat.asked("bash")
    editor.screen()


def edited(editor: Editor, server: ModelServer) -> None:
    """A chat after its changes: the block of each holds its diff; the last one is open."""
    editor.lua("require('agentchat').setup({ rules = { { tool = 'edit', action = 'allow' } } })")
    editor.command("edit src/app.py")
    chat = Chat.open(editor)
    edits = [
        {"old_text": '"Hello, " + name', "new_text": 'f"Hello, {name}!"'},
        {
            "old_text": "def farewell(name):\n",
            "new_text": 'def farewell(name):\n    """Return a farewell."""\n',
        },
    ]
    renamed = [{"old_text": "greet", "new_text": "welcome", "replace_all": True}]
    server.script(
        calls(call("edit", {"path": "src/app.py", "edits": renamed}, "1"), usage=USAGE),
        calls(call("edit", {"path": "src/greet.py", "edits": edits}, "2"), usage=USAGE),
        text("The greeting is louder now.", usage=USAGE),
    )
    chat.play("Make the greeting louder")
    chat.focus()
    editor.keys("gg")
    editor.lua("vim.fn.search('edit src/greet')")
    editor.keys("za")
    editor.wait(lambda: editor.lua(HAS_ADDED, chat.buffer), why="a coloured diff")
    editor.screen()


def changes(editor: Editor, server: ModelServer) -> None:
    """The review of all that a chat changed."""
    edited(editor, server)
    editor.command("AgentChanges")
    editor.wait(editor.floats, why="the changes are shown")
    editor.screen()


SCENES: dict[str, Scene] = {
    "edited": edited,
    "changes": changes,
    "chat": chat,
    "answer": answer,
    "prompt": prompt,
    "attached": attached,
    "streaming": streaming,
    "command": command,
    "diff": diff,
    "review": review,
    "staged": staged,
    "compact": compact,
    "stage": stage,
    "tried": tried,
}
