"""Tools of the user's own in a real Neovim: found, trusted, reloaded, mentioned."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

pytestmark = pytest.mark.timeout(240)

TOOL = '''\
from agentchat import tool

@tool(read_only=True)
def {name}(path: str) -> str:
    """Count the words in a file."""
    return str(len(open(path).read().split()))
'''


def write(folder: Path, name: str, content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(content)
    return path


def own_folder(home: Path) -> Path:
    return home / "config" / "nvim" / "agentchat" / "tools"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def open_editor(start: StartEditor, server: ModelServer, home: Path, **settings: object) -> Editor:
    return start({"tools": settings} if settings else None, env=connected(server), home=home)


def save(editor: Editor, path: Path, content: str) -> None:
    """Write a file as a user does: in Neovim."""
    lines = content.rstrip("\n").split("\n")
    editor.command(f"tabedit {path}")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", lines)
    editor.command("write | tabclose")


def test_a_tool_saved_while_a_chat_is_open_is_usable_at_the_next_send(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(own_folder(home), "broken.py", "import no_such_module\n")
    editor = open_editor(start_editor, model_server, home)
    chat = Chat.open(editor)
    assert "tools/broken.py:1: Module" in editor.wait_notice("broken")
    save(editor, own_folder(home) / "words.py", TOOL.format(name="word_count"))
    chat.type("@wo")
    editor.wait(lambda: known(editor, "word_count"), why="the mention is known")
    editor.keys("<C-x><C-o>")
    editor.wait_screen("@word_count")
    editor.keys("<C-e><C-u>")
    chat.type("@word_count please")
    editor.wait(lambda: "AgentChatMention" in editor.groups("@word_count"), why="it is highlighted")
    words = calls(call("word_count", {"path": "notes.txt"}))
    model_server.script(words, text("Three words."))
    editor.keys("<C-s>")
    chat.finished()
    assert "word_count" in model_server.requests[0].tools
    assert 'word_count path="notes.txt" · done\n    3' in chat.transcript()
    # Written by another program, it is read before the message goes out.
    write(own_folder(home), "late.py", TOOL.format(name="late"))
    model_server.script(text("ok"))
    chat.play("use @late")
    assert "late" in model_server.requests[2].tools
    (own_folder(home) / "late.py").unlink()
    model_server.script(text("ok"))
    chat.play("and now?")
    assert "late" not in model_server.requests[3].tools


def test_a_tool_that_was_mentioned_is_there_after_the_host_died(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(own_folder(home), "words.py", TOOL.format(name="word_count"))
    editor = open_editor(start_editor, model_server, home)
    chat = Chat.open(editor)
    model_server.script(text("ok"), text("ok"))
    chat.play("use @word_count")
    os.kill(editor.children()[0], signal.SIGKILL)
    editor.wait_notice("the Python host ended")
    chat.play("go on")
    assert ["word_count" in request.tools for request in model_server.requests] == [True, True]


def known(editor: Editor, name: str) -> bool:
    code = "return vim.tbl_map(function(n) return n.name end, ...)"
    names = "require('agentchat.chat.registry').all()[1].names"
    return name in editor.lua(code.replace("...", names))


def test_a_projects_tools_load_once_it_is_trusted(
    start_editor: StartEditor, model_server: ModelServer, home: Path, workspace: Path
) -> None:
    folder = workspace / ".agentchat" / "tools"
    mark = workspace / "was_run"
    content = f"open({str(mark)!r}, 'w').close()\n" + TOOL.format(name="of_project")
    path = write(folder, "mine.py", content)
    editor = open_editor(start_editor, model_server, home, default=["readonly", "of_project"])
    chat = Chat.open(editor)
    notice = editor.wait_notice("not trusted")
    assert "mine.py" in notice
    assert ":AgentTools trust" in notice
    model_server.script(text("ok"))
    chat.play("hello")
    assert "of_project" not in model_server.requests[0].tools
    assert not mark.exists()
    editor.command(f"tabedit {path} | trust | tabclose")
    model_server.script(text("ok"))
    chat.play("again")
    assert "of_project" in model_server.requests[1].tools
    path.write_text(f"{content}\n# another text")
    model_server.script(text("ok"))
    chat.play("and now")
    assert "of_project" not in model_server.requests[2].tools
    chat.focus()
    editor.keys(":AgentTools trust<CR>")
    editor.wait_screen("[i]gnore")
    editor.keys("a")
    editor.wait_notice("1 tool of your own from 1 file")
    model_server.script(text("ok"))
    chat.play("at last")
    assert "of_project" in model_server.requests[3].tools


def test_a_reload_reports_problems_and_the_number_of_tools(
    start_editor: StartEditor, model_server: ModelServer, home: Path, tmp_path: Path
) -> None:
    first = write(tmp_path / "more", "a.py", TOOL.format(name="same"))
    write(own_folder(home), "b.py", TOOL.format(name="same"))
    editor = open_editor(start_editor, model_server, home, paths=[str(first), "relative"])
    chat = Chat.open(editor)
    editor.wait_notice("relative is not an absolute path")
    assert 'name "same" is taken by tools/b.py:3' in editor.wait_notice("a.py:3: ")
    for _ in range(2):
        editor.command("AgentTools reload")
        editor.wait_notice("a.py:3: ")
        editor.wait_notice("1 tool of your own from 2 files")
    chat.focus()
    editor.command("AgentTools")
    editor.wait(lambda: "Files with tools" in editor.float_text(), why="the list")
    editor.keys("q")
    editor.command("AgentTools nonsense")
    editor.wait_notice("nonsense")


def test_tools_that_kill_and_hang_and_play_with_streams_break_nothing(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(
        own_folder(home),
        "streams.py",
        '''\
import os, subprocess, sys
from agentchat import tool

@tool(require_approval_before=False)
def streams() -> str:
    """Read and write what belongs to somebody else."""
    os.write(1, b"x" * 20_000_000)
    sys.stdout.write("shown")
    read = sys.stdin.read() + subprocess.run(["cat"], stdout=subprocess.PIPE, text=True).stdout
    subprocess.run(["head", "-c", "20000000", "/dev/zero"])
    return f"read {read!r}"

@tool(require_approval_before=False, timeout=1)
async def hangs() -> str:
    """Never return."""
    while True:
        pass

@tool(require_approval_before=False)
def kills() -> str:
    """End all processes of the group."""
    os.killpg(0, 9)
''',
    )
    names = ["streams", "hangs", "kills"]
    editor = open_editor(start_editor, model_server, home, default=names)
    chat = Chat.open(editor)
    model_server.script(calls(*map(call, [*names, "streams"])), text("ok"))
    chat.play("go")
    said = chat.transcript()
    assert said.count("read ''") == 2
    assert "kills failed: its process ended (killed by signal 9)" in said
    assert "hangs timed out after 1 s." in said


def test_a_stop_gives_back_what_waits_for_files(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    editor = open_editor(start_editor, model_server, home)
    chat = Chat.open(editor)
    editor.wait_event("AgentHostStarted")
    write(own_folder(home), "slow.py", "import time\ntime.sleep(5)\n" + TOOL.format(name="slow"))
    chat.send("use @slow")
    editor.settle(0.3)
    editor.keys("<C-c>")
    editor.wait(lambda: chat.prompt() == "use @slow", why="the text is back")
    chat.idle()
    assert model_server.requests == []


def test_many_tools_are_found_by_searching_but_for_those_that_are_always_loaded(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    names = [f"counts_{number}" for number in range(16)]
    groups = f"GROUPS = {{'counters': {names!r}}}\n"
    write(own_folder(home), "many.py", "".join(TOOL.format(name=name) for name in names) + groups)
    editor = open_editor(
        start_editor, model_server, home, default=["readonly", "counters"], always_load=["counts_3"]
    )
    chat = Chat.open(editor)
    model_server.script(
        calls(call("tool_search", {"query": "counts_7"})),
        calls(call("counts_7", {"path": "notes.txt"})),
        text("ok"),
    )
    chat.play("count")
    sent = [request.tools for request in model_server.requests]
    assert [name for name in sent[0] if name in names] == ["counts_3"]
    assert "tool_search" in sent[0]
    assert {"counts_3", "counts_7"} <= set(sent[1])
    assert "counts_9" not in sent[1]


MAKER = '''\
import os
from agentchat import register_tool, tool, unregister_tool

for word in ("left", "right"):
    register_tool(lambda word=word: word, name=f"go_{word}", description="Go.", read_only=True)

@tool(read_only=True)
def maker(factor: int, name: str = "times") -> str:
    """Make a tool."""
    def times(n: int) -> str:
        return str(n * factor)
    register_tool(times, name=name, read_only=True)
    return "made"

@tool(read_only=True)
def unmake() -> str:
    """Take it away."""
    return f"{unregister_tool('times')} {unregister_tool('times')}"

@tool(read_only=True)
def die() -> str:
    """End the process."""
    os._exit(3)
'''


def test_a_function_registers_a_tool_that_the_next_request_offers_until_it_is_unregistered(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(own_folder(home), "maker.py", MAKER)
    given = ["go_left", "go_right", "maker", "unmake", "times"]
    editor = open_editor(start_editor, model_server, home, default=given)
    chat = Chat.open(editor)
    model_server.script(
        calls(call("maker", {"factor": 3})),
        calls(call("times", {"n": 4}), call("go_right", {})),
        calls(call("maker", {"factor": 5}), call("maker", {"factor": 5, "name": "grep"})),
        calls(call("times", {"n": 4})),
        calls(call("unmake", {})),
        text("ok"),
    )
    chat.play("go")
    has = ["times" in request.tools for request in model_server.requests]
    assert has == [False, True, True, True, True, False]
    results = list(model_server.requests[-1].results.values())
    taken = 'The tool name "grep" is taken by the built-in tool grep.'
    assert results == ["made", "12", "right", "made", taken, "20", "True False"]


PRUNE = """
from agentchat import Context, DryRun, checkpoint, tool

def plan(table):
    return DryRun(summary="Deletes old rows", would_affect=f"table {table}", reversible=False)

def load(saved, ctx: Context):
    open("db.txt", "w").write(saved)

@checkpoint(restore=load, tools="prune")
def dump(ctx: Context):
    return ctx.read("db.txt")

@tool(dry_run=plan, audit_operation="delete", requires_checkpoint=True,
      requires_reverse_thinking=True)
def prune(table: str) -> str:
    "Delete the old rows of a table."
    open("db.txt", "w").write("pruned\\n")
    return "12 rows deleted"
"""


def test_the_safety_of_a_tool_is_shown_acted_on_and_undone(
    start_editor: StartEditor, model_server: ModelServer, home: Path, workspace: Path
) -> None:
    write(own_folder(home), "prune.py", PRUNE)
    database = write(workspace, "db.txt", "old\n")
    editor = open_editor(start_editor, model_server, home, default=["prune"])
    chat = Chat.open(editor)
    thinking = {
        "hidden_assumptions": ["nobody reads them"], "failure_scenarios": ["a report is empty"],
        "verdict": "abort", "verdict_reason": "the year is not over",
    }  # fmt: skip
    going_on = {**thinking, "verdict": "proceed", "verdict_reason": "the year is over"}
    model_server.script(
        calls(call("prune", {"table": "orders", "_reverse_thinking": thinking})),
        calls(call("prune", {"table": "orders", "_reverse_thinking": going_on})),
        text("Done."),
    )
    chat.send("prune it")
    editor.wait_screen("prune wants to run")
    assert "verdict in _reverse_thinking is abort. Reason: the year is not" in (
        model_server.requests[1].result
    )
    shown = "\n".join(editor.screen())
    for line in (
        "does        Deletes old rows",
        "kind        delete",
        "affects     table orders",
        "assumes     nobody reads them",
        "risks       a report is empty",
        "verdict     proceed: the year is over",
        "checkpoint  made by dump",
    ):
        assert line in shown
    assert "cannot be undone" not in shown
    editor.command("AgentApprove accept")
    chat.finished()
    assert database.read_text() == "pruned\n"
    editor.command("AgentUndo")
    editor.wait_screen("restores what it saved")
    assert database.read_text() == "old\n"


def test_a_registered_tool_ends_with_the_process_that_registered_it(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(own_folder(home), "maker.py", MAKER)
    given = ["maker", "die", "times"]
    editor = open_editor(start_editor, model_server, home, default=given)
    chat = Chat.open(editor)
    made = calls(call("maker", {"factor": 3}), call("die", {}), call("times", {"n": 4}))
    model_server.script(made, text("ok"), text("ok"))
    chat.play("go")
    chat.play("and now")
    results = list(model_server.requests[1].results.values())
    assert "process ended" in results[1]
    assert "times" not in model_server.requests[2].tools


LISTER = """\
import json
from agentchat import Context, registry, tool

@tool(read_only=True, undo=lambda: None, aliases="lists")
def lister() -> str:
    "List the tools."
    assert registry.get("lists") == registry.get("lister")
    assert registry.get("nothing") is None
    return json.dumps([t for t in registry.list() if t["name"] in ("lister", "read", "bash")])
"""


def test_a_function_lists_the_tools_as_lua_does(
    start_editor: StartEditor, model_server: ModelServer, home: Path
) -> None:
    write(own_folder(home), "lister.py", LISTER)
    editor = open_editor(start_editor, model_server, home, default=["lister", "read"])
    chat = Chat.open(editor)
    model_server.script(calls(call("lister", {})), text("ok"))
    chat.play("go")
    (result,) = model_server.requests[-1].results.values()
    listed = {tool["name"]: tool for tool in json.loads(result)}
    shown = editor.lua(f"return require('agentchat').tools({chat.buffer})")
    assert listed == {tool["name"]: tool for tool in shown if tool["name"] in listed}
    assert {name: tool["state"] for name, tool in listed.items()} == {
        "lister": "active",
        "read": "active",
        "bash": "inactive",
    }
    assert listed["lister"]["capability"]["reversible"]
