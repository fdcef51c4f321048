"""Tools of the user's own in a session: what they are given, what becomes of what they do."""

from __future__ import annotations

import asyncio
import enum
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentchat import Context, DryRun, Result, ToolError
from agentchat.agent.execution.tool_runner import STAGED
from agentchat.core.messages import Reply, ToolResult
from agentchat.core.tools.tool import NO_STORE, Tool
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.journal.log_text import render_log
from agentchat.journal.records import DecisionMade
from agentchat.nvim.render.approval import IRREVERSIBLE, request_table
from agentchat.tools.custom.declaration.context import MOST_CHARACTERS
from agentchat.tools.custom.remote_tool import RemoteTool
from agentchat.tools.trust import read_source
from agentchat.workspace.process.sandbox import IMPOSSIBLE
from tests.agent.scene import Scene, Script
from tests.agent.undo.test_commands import UndoScene, write
from tests.core.turn.world import a_call, a_tool, calls
from tests.support.launch import CHECKOUT
from tests.tools.custom.making import OPEN, a_registry, loaded_file, made, start_pool, tools_of

pytestmark = pytest.mark.slow

DONE = Reply("Done.")
ALONE = """
@tool(require_approval_before=False)
def process() -> str:
    'Return the process.'
    return str(os.getpid())

"""


def scene_of(folder: Path, *tools: Tool, given: str = "{}", **more: Any) -> Scene:
    """A session whose model calls each tool once, in order, in one reply."""
    batch = calls(*(a_call(str(n), tool.name, given) for n, tool in enumerate(tools, 1)))
    replies: list[Script] = [batch, DONE]
    return Scene(folder, replies, *{tool.name: tool for tool in tools}.values(), **more)


async def result_of(folder: Path, function: Callable[..., Any], **options: Any) -> ToolResult:
    """Call the tool that a function makes; another call after it must go well, too."""
    given = options.pop("given", "{}")
    found = made(folder, function, name="t", **options)
    after = made(folder, lambda: "after", name="after")
    batch = calls(a_call("1", "t", given), a_call("2", "after"))
    scene = Scene(folder, [batch, DONE], found, after)
    assert await scene.play() == "stop"
    assert scene.results()["2"] == "after"
    (result,) = (
        m for m in scene.chat.history.messages if isinstance(m, ToolResult) and m.call_id == "1"
    )
    return result


# --- what comes back --------------------------------------------------------------------------


class Odd:
    """Neither text nor JSON."""

    def __str__(self) -> str:
        raise ValueError("no text")


def round_and_round() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize(
    ("value", "text", "is_error"),
    [
        ("text", "text", False),
        (None, "(no output)", False),
        ({"a": [1, True, None]}, '{"a":[1,true,null]}', False),
        ((1, 2), "[1,2]", False),
        (b"bytes \xff", "bytes \ufffd", False),
        ("\ud800", "?", False),
        (Path("/x"), '"/x"', False),
        (Result("bad", is_error=True), "bad", True),
        (Result({"a": 1}), '{"a":1}', False),
        (Odd(), "t returned a value of type Odd that is no text and no JSON", True),
        (round_and_round(), "t returned a value of type list that is no text", True),
        (Result("x", details={"odd": Odd()}), "t returned a value of type dict that", True),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_a_function_returns_is_the_result_or_refused(
    tmp_path: Path, value: Any, text: str, is_error: bool
) -> None:
    result = await result_of(tmp_path, lambda: value)
    assert result.text.startswith(text)
    assert result.is_error == is_error


@pytest.mark.parametrize("details", [0, "", False, [1, "a"], {}], ids=repr)
async def test_any_json_value_can_be_the_details(tmp_path: Path, details: Any) -> None:
    assert (await result_of(tmp_path, lambda: Result("text", details))).details == details


async def test_details_arrive_as_plain_data(tmp_path: Path) -> None:
    class Colour(enum.Enum):
        RED = "red"

    details = {"exitCode": 3, "big": 2**70, "where": Path("/x"), "c": (Colour.RED, None, 1.5)}
    result = await result_of(tmp_path, lambda: Result("text", details, shown="for the user"))
    assert result.details == {"exitCode": 3, "big": 2**70, "where": "/x", "c": ["red", None, 1.5]}
    assert result.display_text == "for the user"


async def test_a_text_without_end_is_cut(tmp_path: Path) -> None:
    result = await result_of(tmp_path, lambda: "x" * (MOST_CHARACTERS + 100))
    assert "bytes truncated; full output:" in result.text
    assert len(result.text) < 70_000


async def test_an_iterator_is_a_list_and_one_without_end_times_out(tmp_path: Path) -> None:
    assert (await result_of(tmp_path, lambda: iter("ab"))).text == '["a","b"]'
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False, timeout=0.1)
def numbers():
    'Count.'
    while True:
        yield 1
""",
    )
    scene = scene_of(tmp_path, tools["numbers"])
    await scene.play()
    assert scene.results() == {"1": "numbers timed out after 0.1 s."}


# --- what goes wrong --------------------------------------------------------------------------


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("not even a message")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "t failed: bad"),
        (ToolError("Say it again."), "Say it again."),
        (ValueError(), "t failed: ValueError"),
        (TimeoutError("the server"), "t failed: the server"),
        (SystemExit(3), "t failed: 3"),
        (KeyboardInterrupt(), "t failed: KeyboardInterrupt"),
        (asyncio.CancelledError(), "t failed: CancelledError"),
        (Mute(), "t failed: Mute"),
        (ValueError("\ud800"), "t failed: ?"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_what_a_function_raises_is_an_error_result(
    tmp_path: Path,
    error: BaseException,
    text: str,
    is_async: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A lone surrogate in the captured log cannot travel from a test worker to its master.
    caplog.set_level(logging.CRITICAL + 1)

    def fails() -> None:
        raise error

    async def fails_later() -> None:
        await asyncio.sleep(0)
        raise error

    result = await result_of(tmp_path, fails_later if is_async else fails)
    assert (result.text, result.is_error) == (text, True)


def raises() -> None:
    raise ValueError("bad")


@pytest.mark.parametrize(
    ("hook", "text"),
    [
        ("setup", "t failed: bad"),
        ("on_exit", "fine"),
        ("dry_run", "t failed: bad"),
        ("render_call", "fine"),
        ("render_result", "fine"),
        ("steps", "t failed: bad"),
    ],
)
async def test_a_hook_that_raises_ends_its_call_at_most(
    tmp_path: Path, hook: str, text: str
) -> None:
    found = made(
        tmp_path, lambda: "fine", name="t",
        require_approval_before=hook == "dry_run", **{hook: lambda *first: raises()},
    )  # fmt: skip
    scene = scene_of(tmp_path, found, made(tmp_path, lambda: "after", name="after"))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": text, "2": "after"}


async def test_a_condition_that_raises_means_asking(tmp_path: Path) -> None:
    found = made(tmp_path, lambda: "ran", name="t", require_approval_before=raises)
    scene = scene_of(tmp_path, found)
    await scene.play("go", "accept")
    assert scene.results() == {"1": "ran"}


NEVER = {
    "sleeps": "time.sleep(60)",
    "spins": "while True: pass",
    "catches": """
    while True:
        try: time.sleep(0.01)
        except Exception: continue
""",
    "holds": "import ctypes; ctypes.PyDLL(None).sleep(60)",
    "awaits": "import asyncio; await asyncio.Event().wait()",
    "never_awaits": "while True: pass",
}


@pytest.mark.parametrize("name", NEVER)
async def test_a_function_that_never_returns_times_out_and_all_else_goes_on(
    tmp_path: Path, name: str
) -> None:
    kind = "async def" if "awaits" in name else "def"
    tools = await tools_of(
        tmp_path,
        f"{ALONE}@tool(timeout=0.2, require_approval_before=False)\n"
        f"{kind} t():\n    'Never return.'\n    {NEVER[name]}\n",
    )
    before = time.monotonic()
    scene = scene_of(tmp_path, tools["process"], tools["t"], tools["process"])
    assert await scene.play() == "stop"
    results = scene.results()
    assert results["2"] == "t timed out after 0.2 s."
    # What Ctrl-C would end is ended; the process of anything else ends with it.
    assert (results["1"] == results["3"]) == (name != "holds")
    assert time.monotonic() - before < 20


async def test_a_stop_ends_a_function_and_the_program_it_runs(tmp_path: Path) -> None:
    def runs(ctx: Context) -> str:
        return ctx.run("echo $$; sleep 60").output

    scene = scene_of(tmp_path, made(tmp_path, runs, name="t"))
    scene.session.send("go")
    shown = scene.screen.blocks.setdefault("1", [])
    await scene.screen.until(lambda: any(block.append for block in shown))
    pid = int(next(block.append for block in shown if block.append).split()[0])
    scene.session.stop()
    await scene.finished()
    assert scene.results() == {"1": "Cancelled by the user."}
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# --- what it is given -------------------------------------------------------------------------


async def test_a_function_works_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one two")
    tools = await tools_of(
        tmp_path,
        """
import subprocess

@tool(require_approval_before=False)
def looks(path: str):
    'Look.'
    pwd = subprocess.run(["pwd"], capture_output=True, text=True, check=True).stdout
    return f"{open(path).read()} in {os.path.basename(pwd.strip())}"
""",
    )
    here = Path.cwd()
    scene = scene_of(tmp_path, tools["looks"], given='{"path": "notes.txt"}')
    await scene.play()
    assert scene.results() == {"1": f"one two in {tmp_path.name}"}
    assert Path.cwd() == here


async def test_a_workspace_that_is_gone_is_an_error(tmp_path: Path) -> None:
    tools = await tools_of(
        tmp_path, "@tool(setup=lambda: None)\ndef t(): 'Do nothing.'", cwd=tmp_path / "gone"
    )
    remote = tools["t"].arguments
    assert isinstance(remote, RemoteTool)
    with pytest.raises(ToolError, match=r"^Working directory not found: .*gone. Nothing was run"):
        await remote.call("hook", {}, role="setup")


async def test_a_context_reads_runs_and_shows_progress(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")

    async def uses(ctx: Context) -> str:
        ctx.progress("half way")
        ran = ctx.run("printf out; exit 3")
        return (
            f"{ctx.read('a.txt')} {ran.code} {ran.output} {ctx.cwd == str(tmp_path)} {ctx.call_id}"
        )

    scene = scene_of(tmp_path, made(tmp_path, uses, name="t"))
    await scene.play()
    assert scene.results() == {"1": "text 3 out True 1"}
    assert "half way\n" in "".join(block.append or "" for block in scene.screen.blocks["1"])


async def test_printed_text_is_shown_and_bounded_and_no_result(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False)
def t():
    'Print.'
    sys.stdout.write("x" * 10_000_000)
    sys.stderr.write("and here\\n")
    sys.stdout.buffer.write(b"bytes\\n")
    for _ in range(20_000):
        sys.stdout.write("flood\\n")
    return "done"
""",
    )
    scene = scene_of(tmp_path, tools["t"])
    await scene.play()
    shown = "".join(block.append or "" for block in scene.screen.blocks["1"])
    assert shown.endswith("flood\n")
    assert len(shown) < 1_000_000
    assert scene.results() == {"1": "done"}
    assert capfd.readouterr() == ("", "")


async def test_every_function_is_given_the_arguments_it_names(tmp_path: Path) -> None:
    events: list[Any] = []

    def word(path: str, most: int = 3) -> str:
        return "worked"

    def asks(path: str) -> bool:
        events.append(("asks", path))
        return True

    def would(args: Any) -> str:
        events.append(("dry_run", args.path, args["most"]))
        return "Would work."

    found = made(
        tmp_path, word, name="t",
        require_approval_before=asks, dry_run=would,
        setup=lambda: events.append("setup"),
        on_exit=lambda **all: events.append(("exit", all)),
        render_call=lambda path: f"word of {path}",
        render_result=lambda result, path: f"{result.text} on {path}",
    )  # fmt: skip
    await start_pool()
    scene = scene_of(tmp_path, found, given='{"path": "p"}')
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    question = next(iter(scene.screen.questions.values()))
    assert question.preview is not None
    assert question.preview.text.startswith("Would work.\n\nArguments:\n{")
    await scene.answer("accept")
    await scene.finished()
    assert "setup" in events
    assert ("asks", "p") in events
    assert ("dry_run", "p", 3) in events
    assert events[-1] == ("exit", {"path": "p", "most": 3})
    assert scene.screen.blocks["1"][0].title == "word of p"
    result = scene.chat.history.messages[-2]
    assert isinstance(result, ToolResult)
    assert (result.text, result.display_text) == ("worked", "worked on p")


async def test_what_a_set_up_returns_is_dropped(tmp_path: Path) -> None:
    found = made(tmp_path, lambda: "fine", name="t", setup=object, on_exit=object)
    scene = scene_of(tmp_path, found)
    await scene.play()
    assert scene.results() == {"1": "fine"}


async def test_a_rejected_call_exits_once_and_is_reported_once(tmp_path: Path) -> None:
    events: list[str] = []
    found = made(
        tmp_path, lambda: events.append("run"), name="t", require_approval_before=True,
        setup=lambda: events.append("setup"), on_exit=lambda: events.append("exit"),
    )  # fmt: skip
    scene = scene_of(tmp_path, found)
    await scene.play("go", "reject")
    assert events.count("exit") == 1
    assert "run" not in events
    finished = scene.screen.named("AgentToolFinished")
    assert [event["status"] for event in finished] == ["rejected"]


async def test_set_up_and_exit_of_neighbours_are_shared_where_asked(tmp_path: Path) -> None:
    events: list[str] = []
    found = made(
        tmp_path, lambda: events.append("run"), name="t", setup_once=True,
        setup=lambda: events.append("setup"), on_exit=lambda: events.append("exit"),
    )  # fmt: skip
    scene = scene_of(tmp_path, found, found)
    await scene.play()
    assert events == ["setup", "run", "run", "exit"]


async def test_steps_are_given_what_came_before(tmp_path: Path) -> None:
    async def second(words: list[str], ctx: Context, path: str) -> dict[str, Any]:
        return {"count": len(words), "path": path}

    found = made(
        tmp_path, lambda path: ["a", "b"], name="t", steps=[second, "cat; printf ' %s' {path}"]
    )
    scene = scene_of(tmp_path, found, given='{"path": "it\'s"}')
    await scene.play()
    assert scene.results() == {"1": '{"count":2,"path":"it\'s"} it\'s'}
    shown = "".join(block.append or "" for block in scene.screen.blocks["1"])
    assert '["a","b"]\n' in shown


async def test_a_step_that_says_it_failed_is_the_last(tmp_path: Path) -> None:
    result = await result_of(
        tmp_path, lambda: Result("no", is_error=True), steps=[lambda given: "not reached"]
    )
    assert (result.text, result.is_error) == ("no", True)


async def test_eight_megabytes_of_arguments_arrive(tmp_path: Path) -> None:
    given = json.dumps({"text": "é" * 4_000_000, "big": 2**80})

    def takes(text: str, big: int) -> str:
        return f"{len(text)} {big == 2**80}"

    assert (await result_of(tmp_path, takes, given=given)).text == "4000000 True"


async def test_arguments_that_are_json_in_json_are_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    result = await result_of(
        tmp_path, lambda text: ran.append(text), given=json.dumps('{"text": "x"}')
    )
    assert result.text.startswith('Arguments for "t" are not valid JSON: expected an object, got a')
    assert ran == []


# --- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("printf '\\033[31mred\\033[0m %s' {word}", "red it's $HOME"),
        ("true", "(no output)"),
        ("echo out; exit 3", "out\n\nCommand exited with code 3"),
        ("kill -9 0", "(no output)\n\nCommand was killed by signal 9"),
        ("cat", "(no output)"),
    ],
)
async def test_a_command_is_a_tool(tmp_path: Path, command: str, text: str) -> None:
    def ignored(word: str) -> None: ...

    result = await result_of(tmp_path, ignored, command=command, given='{"word": "it\'s $HOME"}')
    assert result.text == text
    assert result.is_error == ("Command" in text)
    assert result.details == {"exitCode": {"out": 3, "(no": 0}.get(text[:3], 0)} or result.is_error


async def test_a_command_and_its_steps_may_be_lists_of_words(tmp_path: Path) -> None:
    def ignored(word: str) -> None: ...

    result = await result_of(
        tmp_path, ignored, given='{"word": "b a; exit 3"}',
        command=["printf", "%s\\n", "{word}", "$HOME"], steps=[["sort", "-r"], "tr a-z A-Z"],
    )  # fmt: skip
    assert result.text == "B A; EXIT 3\n$HOME"


async def test_a_command_leaves_a_flag_behind(tmp_path: Path) -> None:
    def read_flags(ctx: Context) -> dict[str, bool]:
        return dict(ctx.flags)

    fails = made(tmp_path, lambda: None, name="t", command="exit 1", flag="tests")
    scene = scene_of(tmp_path, fails, made(tmp_path, read_flags, name="flags"))
    await scene.play()
    assert scene.results()["2"] == '{"tests":false}'


async def test_a_command_is_shown_in_full_and_remembered_as_its_tool(tmp_path: Path) -> None:
    def ignored(word: str) -> None: ...

    found = made(tmp_path, ignored, name="t", command="echo {word}", require_approval_before=None)
    first, second = a_call("1", "t", '{"word": "a"}'), a_call("2", "t", '{"word": "b; c"}')
    scene = Scene(tmp_path, [calls(first, second), DONE], found)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    question = next(iter(scene.screen.questions.values()))
    assert question.target.command == "echo a"
    await scene.answer("always")
    await scene.finished()
    assert scene.results() == {"1": "a", "2": "b; c"}


async def test_a_command_is_confined_as_bash_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "ws"
    root.mkdir()

    def runs(ctx: Context) -> str:
        return ctx.run("touch ../by_context").output

    found = made(root, lambda: None, name="t", command="touch ../by_command")
    scene = scene_of(root, found, made(root, runs, name="runs"))
    scene.workspace.confinement.setting = "required"
    monkeypatch.setenv("PATH", str(root))  # there is no sandbox to be found
    await scene.play()
    assert scene.results() == dict.fromkeys("12", f"Nothing was run: {IMPOSSIBLE}.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ws", "ws.state"]


async def test_a_command_out_of_time_is_killed(tmp_path: Path) -> None:
    result = await result_of(tmp_path, lambda: None, command="sleep 30 & sleep 30", timeout=0.2)
    assert result.text == "t timed out after 0.2 s."


async def test_nul_in_an_argument_is_refused(tmp_path: Path) -> None:
    result = await result_of(
        tmp_path, lambda word: None, command="echo {word}", given='{"word": "a\\u0000b"}'
    )
    assert result.text == "A command cannot hold the character NUL. Nothing was run."


# --- previews ---------------------------------------------------------------------------------


def a_resolve(call_id: str, action: str) -> Reply:
    given = f'{{"action": "{action}", "reason": "ok", "extra": {{"n": 1}}}}'
    return calls(a_call(call_id, "resolve", given))


def stager(events: list[Any], **more: Any) -> Callable[..., str]:
    async def apply(reason: str, extra: Any) -> Result:
        events.append(("apply", reason, dict(extra or {})))
        return Result("Applied it.", details={"files": 2})

    def stages(ctx: Context) -> str:
        ctx.stage("Batch: 2\nfiles", apply, preview="a -> b", **more)
        return "a -> b"

    return stages


def resolving(folder: Path, action: str, function: Callable[..., Any]) -> Scene:
    replies: list[Script] = [calls(a_call("1", "t")), a_resolve("2", action), DONE]
    return Scene(folder, replies, made(folder, function, name="t"))


@pytest.mark.parametrize(
    ("action", "answers", "text", "said"),
    [
        ("apply", ["accept"], "Applied it.", [("apply", "ok", {"n": 1})]),
        ("discard", [], "Discarded: Batch: 2 files. Reason: ok", []),
    ],
)
async def test_a_function_stages_a_preview(
    tmp_path: Path, action: str, answers: list[str], text: str, said: list[Any]
) -> None:
    events: list[Any] = []
    scene = resolving(tmp_path, action, stager(events))
    await scene.play("go", *answers)
    assert scene.results() == {"1": f"{STAGED}\na -> b", "2": text}
    assert events == said
    result = scene.chat.history.messages[-2]
    assert isinstance(result, ToolResult)
    assert result.details is not None
    assert result.details["sourceToolName"] == "custom_tool"
    assert ("sourceResultDetails" in result.details) == (action == "apply")


async def test_details_of_a_preview_are_in_its_events_and_its_result(tmp_path: Path) -> None:
    scene = resolving(tmp_path, "apply", stager([], details={"ticket": 7}))
    await scene.play("go", "accept")
    names = ("AgentPreviewStaged", "AgentPreviewResolved")
    assert [scene.screen.named(name)[0]["details"] for name in names] == [{"ticket": 7}] * 2
    result = scene.chat.history.messages[-2]
    assert isinstance(result, ToolResult)
    assert result.details is not None
    assert result.details["details"] == {"ticket": 7}
    assert scene.screen.blocks["2"][-1].body == ["Reason: ok", "Applied it."]


async def test_a_tool_may_set_a_standing_handler_that_is_offered_while_nothing_is_pending(
    tmp_path: Path,
) -> None:
    applied: list[str] = []

    def apply(reason: str) -> str:
        applied.append(reason)
        return f"Published {len(applied)}."

    def begin(ctx: Context) -> str:
        ctx.set_standing_resolve_handler("Publish", apply, source="blog", preview="The post")
        return "Write the post, then call resolve."

    def end(ctx: Context) -> str:
        ctx.clear_standing_resolve_handler()
        return "over"

    tools = [made(tmp_path, begin), made(tmp_path, end)]
    talk = [calls(a_call("1", "begin")), a_resolve("2", "apply"), a_resolve("3", "apply")]
    script: list[Script] = [*talk, calls(a_call("4", "end")), a_resolve("5", "apply"), DONE]
    scene = Scene(tmp_path, script, *tools)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    table = request_table("p1", request, str(tmp_path))
    assert (table["title"], table["safety"]) == ("Publish: carry it out?", 0)
    assert table["doc"]["lines"] == ["The post", "", "ok"]
    for _ in range(2):
        await scene.answer("accept")
    await scene.finished()
    results = scene.results()
    assert results["1"] == "Write the post, then call resolve."
    assert (results["2"], results["3"]) == ("Published 1.", "Published 2.")
    assert results["5"] == "No pending action to resolve. Nothing to apply or discard."
    offered = [any(t.name == "resolve" for t in asked.tools) for asked in scene.model.requests]
    assert offered == [False, True, True, True, False, False]
    assert [asked.forced for asked in scene.model.requests] == [None] * 6


async def test_a_rejecting_callback_may_take_the_reason_only(tmp_path: Path) -> None:
    events: list[Any] = []
    scene = resolving(tmp_path, "discard", stager(events, reject=lambda reason: f"No: {reason}"))
    await scene.play()
    assert scene.results()["2"] == "No: ok"


async def test_a_callback_that_raises_leaves_the_preview_pending(tmp_path: Path) -> None:
    def stages(ctx: Context) -> None:
        ctx.stage("it", lambda reason, extra: raises())

    scene = resolving(tmp_path, "apply", stages)
    scene.model.replies.append(DONE)
    await scene.play("go", "accept")
    assert scene.results()["2"] == "Apply failed: bad"
    assert len(scene.chat.previews) == 1


async def test_staging_outside_a_run_is_refused(tmp_path: Path) -> None:
    def stages(ctx: Context) -> None:
        ctx.stage("it", lambda reason, extra: "done")

    found = made(tmp_path, lambda: "ran", name="t", setup=stages)
    scene = scene_of(tmp_path, found)
    await scene.play()
    assert scene.results() == {"1": NO_STORE}


async def test_always_is_void_when_the_file_changed(tmp_path: Path) -> None:
    def function() -> str:
        return "ran"

    first = made(tmp_path, function, name="t", require_approval_before=None)
    second = replace(first, source="another digest")
    assert first.definition != second.definition
    assert first.definition == replace(first).definition


async def test_checks_of_the_model_come_before_the_function(tmp_path: Path) -> None:
    ran: list[Any] = []

    def function(word: str) -> str:
        ran.append(word)
        return word

    found = made(tmp_path, function, name="t", min_confidence=70)
    batch = calls(
        a_call("1", "t", '{"word": "a"}'),
        a_call("2", "t", '{"word": "a", "_confidence": 60}'),
        a_call("3", "t", '{"word": 3, "_confidence": 90}'),
        a_call("4", "t", '{"word": "x", "_confidence": 85}'),
    )
    scene = Scene(tmp_path, [batch, DONE], found, a_tool("other"))
    await scene.play()
    assert scene.results() == {
        "1": "requires _confidence (0-100) in input, min=70",
        "2": "confidence 60 below required 70",
        "3": 'Validation failed for tool "t":\n  - word: Input should be a valid string',
        "4": "x",
    }
    assert ran == ["x"]


# --- what a call affects ------------------------------------------------------------------------


async def test_a_structured_dry_run_is_shown_in_the_question_and_kept_in_the_journal(
    tmp_path: Path,
) -> None:
    def plan(table: str) -> DryRun:
        return DryRun(
            would_affect=[f"table {table}", "its index"],
            preview="DELETE FROM old",
            estimated_impact={"rows": 120},
            summary="Deletes old rows",
            reversible=False,
        )

    def prune(table: str) -> str:
        return f"pruned {table}"

    found = made(
        tmp_path, prune, dry_run=plan, require_approval_before=True,
        permission_class="database", audit_operation="delete",
        affected_resources=lambda table: [f"db/{table}", "network"],
    )  # fmt: skip
    scene = scene_of(tmp_path, found, given='{"table": "old"}')
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    table = request_table("p1", request, str(tmp_path))
    assert [fact for fact in table["facts"] if fact[0] != "in"] == [
        ["does", "Deletes old rows"],
        ["kind", "database, delete"],
        ["resources", "db/old, network"],
        ["affects", "table old\nits index"],
        ["impact", "rows: 120"],
    ]
    assert table["doc"]["lines"][:3] == ["DELETE FROM old", "", "Arguments:"]
    assert table["warning"] == IRREVERSIBLE
    await scene.answer("accept")
    await scene.finished()
    effects = {
        "permission_class": "database", "audit_operation": "delete",
        "affected_resources": ["db/old", "network"], "summary": "Deletes old rows",
        "would_affect": ["table old", "its index"], "estimated_impact": {"rows": 120},
        "reversible": False,
    }  # fmt: skip
    decisions = [one for one in scene.journal.records() if isinstance(one, DecisionMade)]
    assert [one.effects for one in decisions] == [effects]
    log = "\n".join(render_log(decisions))
    assert 'would affect: ["table old", "its index"]' in log
    assert "permission class: database" in log


async def test_resources_that_cannot_be_named_are_shown_as_unknown(tmp_path: Path) -> None:
    found = made(
        tmp_path, lambda: "ran", name="t", require_approval_before=True,
        affected_resources=lambda: 1 / 0,
    )  # fmt: skip
    scene = scene_of(tmp_path, found)
    await scene.play("go", "accept")
    decision = next(one for one in scene.journal.records() if isinstance(one, DecisionMade))
    (resource,) = decision.effects["affected_resources"]
    assert "unknown" in resource
    assert "division by zero" in resource


# --- taking back -------------------------------------------------------------------------------


async def test_a_function_of_the_users_takes_its_calls_back(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    tools = await tools_of(
        tmp_path / "tools",
        """
from pathlib import Path

def undo(path: Path, ctx: Context):
    if path.name == "locked":
        raise ToolError("It is locked.")
    path.unlink()
    return f"removed {path} in {os.path.basename(ctx.cwd)}"

@tool(undo=undo, setup=lambda: Path("set-up").touch())
def touch(path: Path, times: int = 1):
    'Make a file.'
    path.touch()
""",
        cwd=tmp_path / "ws",
    )
    scene = UndoScene(tmp_path, *tools.values())
    await scene.turn(("touch", {"path": "a"}), ("touch", {"path": "locked"}))
    assert set(scene.files()) == {"a", "locked", "set-up"}
    scene.restart()
    assert (await scene.undo()).splitlines()[1:] == [
        '- could not undo touch `path="locked"`: It is locked.',
        '- undone: touch `path="a"` (touch takes it back): removed a in ws',
    ]
    assert set(scene.files()) == {"locked", "set-up"}
    assert 'not redoable: touch `path="a"`' in await scene.redo()
    scene.journal.close()


async def test_undo_sees_the_result_and_redo_does_again_what_undo_reverted(
    tmp_path: Path,
) -> None:
    (tmp_path / "tools").mkdir()
    tools = await tools_of(
        tmp_path / "tools",
        """
def log(line):
    with open("log", "a") as file:
        print(line, file=file)

def take_back(arguments, result):
    log(f"undo {arguments.env} {result.text} {result.details['id']}")

def again(env, result: Result):
    log(f"redo {env} {result.details['id']}")

@tool(undo=take_back, redo=again)
def deploy(env: str):
    return Result("deployed", details={"id": 7})

@tool(undo=lambda env: log(f"undo {env}"))
def notify(env: str):
    'Send a message.'
""",
        cwd=tmp_path / "ws",
    )
    scene = UndoScene(tmp_path, *tools.values())
    await scene.turn(("deploy", {"env": "x"}), ("notify", {"env": "y"}))
    await scene.undo()
    scene.restart()
    assert (await scene.redo()).splitlines() == [
        "Redo of turn 1 leaves out these calls: their tools have no redo.",
        '- not redoable: notify `env="y"`',
        "Redo of turn 1:",
        '- redone: deploy `env="x"` (deploy does it again)',
    ]
    assert 'undone: deploy `env="x"`' in await scene.undo()
    assert 'redone: deploy `env="x"`' in await scene.redo()
    assert scene.files()["log"][0].splitlines() == [
        "undo y", "undo x deployed 7", "redo x 7", "undo x deployed 7", "redo x 7",
    ]  # fmt: skip
    scene.journal.close()


@pytest.mark.parametrize("way", ["raise", "return"])
async def test_an_undo_that_is_impossible_says_what_to_do_by_hand_and_the_rest_goes_on(
    tmp_path: Path, way: str
) -> None:
    (tmp_path / "tools").mkdir()
    code = """
def take_back(to):
    WAY Irreversible(manual_guide=f"Write to {to} again.")

@tool(undo=take_back)
def mail(to: str):
    'Send a mail.'
"""
    tools = await tools_of(tmp_path / "tools", code.replace("WAY", way), cwd=tmp_path / "ws")
    scene = UndoScene(tmp_path, *tools.values())
    await scene.turn(write("a.txt", "a\n"), ("mail", {"to": "eve"}))
    assert (await scene.undo()).splitlines()[1:] == [
        '- not undoable: mail `to="eve"`. By hand: Write to eve again.',
        "- removed: a.txt",
    ]
    scene.journal.close()


# --- large results -----------------------------------------------------------------------------

PROCESSOR = """
@result_processor
def summarize(tool, path, ctx: Context):
    ctx.progress("counting")
    return f"{tool}: {open(path).read().count('x')} in {ctx.cwd}"

@tool(require_approval_before=False)
def floods() -> str:
    'Print much.'
    return "x" * 100_000
"""


async def test_a_processor_of_a_file_shortens_large_results(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    loaded = await loaded_file(tmp_path / "tools", PROCESSOR)
    root = tmp_path / "ws"
    root.mkdir()
    scene = scene_of(root, *loaded.tools(str(root)))
    scene.chat.toolset.set_result_processor(*loaded.result_processors(str(root)))
    await scene.play()
    assert scene.results() == {"1": f"floods: 100000 in {root}"}
    assert any("counting" in (block.append or "") for block in scene.screen.blocks["1"])


# --- checkpoints -------------------------------------------------------------------------------

CHECKPOINTS = """
def back(saved, arguments):
    with open(arguments["name"], "w") as file:
        file.write(saved)

@checkpoint(restore=back, tools="migrate")
def copy(tool, arguments, ctx: Context):
    return ctx.read(arguments["name"])

def again(name, ctx: Context):
    with open(name, "a") as file:
        file.write("again\\n")

@tool(requires_checkpoint=True, redo=again)
def migrate(name: str):
    'Change a database.'
    with open(name, "a") as file:
        file.write("migrated\\n")
    if name == "bad":
        raise ValueError("half way")

@tool(requires_checkpoint=True)
def publish():
    'Publish.'

@tool(requires_checkpoint=True, writes="out", affected_resources=lambda files: files)
def build(out: str, files: list[str]):
    'Change files.'
    for name in files:
        os.remove(name)
    open(out, "w").write("built")
"""


async def checkpoint_scene(folder: Path) -> UndoScene:
    (folder / "tools").mkdir()
    loaded = await loaded_file(folder / "tools", CHECKPOINTS)
    root = str(folder / "ws")
    return UndoScene(folder, *loaded.tools(root), handlers=loaded.handlers(root))


async def test_a_call_with_a_checkpoint_handler_runs_and_is_undone_to_its_checkpoint(
    tmp_path: Path,
) -> None:
    scene = await checkpoint_scene(tmp_path)
    for name in ("db", "bad"):
        scene.write(name, "old\n")
    await scene.turn(
        ("migrate", {"name": "db"}), ("migrate", {"name": "bad"}),
        ("migrate", {"name": "missing"}), ("publish", {}),
    )  # fmt: skip
    results = {m.call_id: m.text for m in scene.chat.history.messages if isinstance(m, ToolResult)}
    assert scene.files()["db"][0] == scene.files()["bad"][0] == "old\nmigrated\n"
    assert "missing" not in scene.files()
    assert results["c3"].startswith("Checkpoint failed: ")
    assert results["c3"].endswith('. "migrate" was not run.')
    assert results["c4"] == (
        'Checkpoint required: no handler is registered, so "publish" was not run.'
    )
    scene.restart()
    undone = "(checkpoint copy restores what it saved)"
    lines = (await scene.undo()).splitlines()
    assert f'- undone: migrate `name="bad"` {undone}' in lines
    assert f'- undone: migrate `name="db"` {undone}' in lines
    assert {text for text, _ in scene.files().values()} == {"old\n"}
    assert 'redone: migrate `name="db"` (migrate does it again)' in await scene.redo()
    assert scene.files()["db"][0] == "old\nagain\n"
    assert "undone: migrate" in await scene.undo()
    assert scene.files()["db"][0] == "old\n"
    scene.journal.close()


async def test_the_files_that_a_call_declares_are_its_checkpoint_without_a_handler(
    tmp_path: Path,
) -> None:
    scene = await checkpoint_scene(tmp_path)
    for name in ("a", "b"):
        scene.write(name, f"{name}\n", 0o640)
    given = {"out": "new", "files": ["a", "b"]}
    await scene.turn(("build", given), ("build", {"out": "new", "files": ["no file"]}))
    assert scene.files().keys() == {"new"}
    assert "no handler is registered" in scene.chat.history.messages[-2].text
    scene.restart()
    lines = (await scene.undo()).splitlines()[1:]
    assert sorted(lines) == ["- brought back: a", "- brought back: b", "- removed: new"]
    assert scene.files() == {"a": ("a\n", 0o640), "b": ("b\n", 0o640)}
    await scene.redo()
    assert scene.files().keys() == {"new"}
    log = "\n".join(render_log(scene.journal.records()))
    assert "checkpoint before c1: files" in log
    scene.journal.close()


async def test_a_call_that_is_stopped_half_way_is_undone_to_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    code = """
@tool(requires_checkpoint=True, writes="name")
def fill(name: str, ctx: Context):
    'Write a file, slowly.'
    open(name, "w").write("half")
    ctx.progress("half")
    time.sleep(60)
"""
    loaded = await loaded_file(tmp_path / "tools", code)
    scene = UndoScene(tmp_path, *loaded.tools(str(tmp_path / "ws")))
    scene.write("a", "old\n")
    scene.model.replies += [calls(a_call("1", "fill", '{"name": "a"}'))]
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.session.answer(next(iter(scene.screen.questions)), ApprovalResponse("accept"))
    await scene.screen.until(lambda: any(b.append for b in scene.screen.blocks["1"]))
    scene.session.stop()
    await scene.screen.until(lambda: bool(scene.screen.named("AgentTurnFinished")))
    assert scene.files()["a"][0] == "half"
    assert "restored: a" in await scene.undo()
    assert scene.files()["a"][0] == "old\n"
    scene.journal.close()


# --- the process they run in ------------------------------------------------------------------


DEATHS = {
    "os.killpg(0, 9)": "killed by signal 9",
    "os._exit(3)": "exit code 3",
    "import ctypes; ctypes.string_at(0)": "killed by signal 11",
    "os.closerange(3, 64)": "killed by signal 9",
}


@pytest.mark.parametrize("code", DEATHS)
async def test_a_function_that_ends_its_process_fails_and_the_next_call_has_another(
    tmp_path: Path, code: str
) -> None:
    tools = await tools_of(
        tmp_path,
        f"{ALONE}@tool(require_approval_before=False)\ndef t():\n    'End.'\n    {code}\n",
    )
    scene = scene_of(tmp_path, tools["process"], tools["t"], tools["process"])
    assert await scene.play() == "stop"
    results = scene.results()
    assert results["2"] == f"t failed: its process ended ({DEATHS[code]})"
    assert results["1"] != results["3"]
    assert int(results["3"]) not in (0, os.getpid())


async def test_rendering_survives_the_end_of_a_process(tmp_path: Path) -> None:
    tools = await tools_of(
        tmp_path,
        f"""{ALONE}
@tool(require_approval_before=False, render_call=lambda: "rendered")
def t():
    'End.'
    os._exit(3)
""",
    )
    replies: list[Script] = [
        calls(a_call("1", "t")), calls(a_call("2", "t"), a_call("3", "process")),
        calls(a_call("4", "process")), calls(a_call("5", "t")), DONE,
    ]  # fmt: skip
    scene = Scene(tmp_path, replies, *tools.values())
    await scene.play()
    assert scene.screen.blocks["1"][0].title == "rendered"
    assert scene.screen.blocks["5"][0].title == "rendered"


async def test_a_rendering_that_hangs_costs_a_moment_and_is_not_tried_again(
    tmp_path: Path,
) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False, render_call=lambda: time.sleep(60))
def t():
    'Return.'
    return "fine"
""",
    )
    scene = scene_of(tmp_path, tools["t"], tools["t"])
    before = time.monotonic()
    await scene.play()
    assert scene.results() == {"1": "fine", "2": "fine"}
    assert [scene.screen.blocks[call][0].title for call in "12"] == ["t", "t"]
    assert time.monotonic() - before < 10


async def test_a_call_fails_with_the_reason_when_the_files_are_reloaded(tmp_path: Path) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False)
def t(ctx: Context):
    'Wait.'
    ctx.progress("begun")
    time.sleep(60)
""",
    )
    scene = scene_of(tmp_path, tools["t"])
    scene.session.send("go")
    shown = scene.screen.blocks.setdefault("1", [])
    await scene.screen.until(lambda: any(block.append for block in shown))
    OPEN[-1].close()
    await scene.finished()
    why = "its process was ended: the files with tools were reloaded"
    assert scene.results() == {"1": f"t failed: {why}"}


async def test_neighbours_of_a_function_that_cannot_be_stopped_come_to_their_end(
    tmp_path: Path,
) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(concurrency_safe=True, read_only=True, timeout=0.2)
def blocks():
    'Block.'
    import ctypes
    ctypes.PyDLL(None).sleep(60)

@tool(concurrency_safe=True, read_only=True)
def slow():
    'Take longer than the other one may.'
    time.sleep(3.5)
    return str(os.getpid())

@tool(read_only=True)
def process():
    'Return the process.'
    return str(os.getpid())
""",
    )
    scene = scene_of(tmp_path, tools["slow"], tools["blocks"], tools["process"])
    await scene.play()
    results = scene.results()
    assert results["2"] == "blocks timed out after 0.2 s."
    assert results["1"].isdigit()
    assert results["3"].isdigit()


async def test_a_process_serves_many_calls_without_the_environment_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    tools = await tools_of(
        tmp_path,
        """
SEEN = []

@tool(require_approval_before=False)
def t():
    'Count.'
    SEEN.append(1)
    alone = os.getpgrp() == os.getpid() == os.getsid(0)
    return [len(SEEN), alone, os.environ.get("OPENAI_API_KEY"), "" in sys.path]
""",
    )
    scene = scene_of(tmp_path, tools["t"], tools["t"])
    await scene.play()
    assert scene.results() == {"1": "[1,true,null,false]", "2": "[2,true,null,false]"}


async def test_a_preview_whose_process_ended_can_be_discarded_but_not_applied(
    tmp_path: Path,
) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False)
def t(ctx: Context):
    'Stage.'
    ctx.stage("it", lambda reason: os._exit(3), lambda reason: "No.")
""",
    )
    replies: list[Script] = [
        calls(a_call("1", "t")), a_resolve("2", "apply"), a_resolve("3", "apply"),
        a_resolve("4", "discard"), DONE,
    ]  # fmt: skip
    scene = Scene(tmp_path, replies, tools["t"])
    await scene.play("go", "accept", "accept")
    message = "its process ended (exit code 3). Discard the preview and call t again."
    assert scene.results()["2"] == f"Apply failed: {message}"
    assert scene.results()["3"] == f"Apply failed: {message}"
    assert scene.results()["4"] == "Discarded: it. Reason: ok"
    assert len(scene.chat.previews) == 0


async def test_a_standing_handler_whose_process_ended_is_offered_no_longer(tmp_path: Path) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False)
def t(ctx: Context):
    'Begin.'
    ctx.set_standing_resolve_handler("Publish", lambda reason: os._exit(3))
""",
    )
    script: list[Script] = [
        calls(a_call("1", "t")), a_resolve("2", "apply"), a_resolve("3", "apply"), DONE,
    ]  # fmt: skip
    scene = Scene(tmp_path, script, tools["t"])
    await scene.play("go", "accept")
    assert scene.results()["2"] == "Apply failed: its process ended (exit code 3). Call t again."
    assert scene.results()["3"] == "No pending action to resolve. Nothing to apply or discard."
    offered = [any(t.name == "resolve" for t in asked.tools) for asked in scene.model.requests]
    assert offered == [False, True, False, False]


@pytest.mark.parametrize(("text", "level", "reasons"), [("a -> b", 2, ["ok"]), ("", 0, [])])
async def test_a_question_about_a_preview_has_the_reason_of_the_model_and_claims_no_dry_run(
    tmp_path: Path, text: str, level: int, reasons: list[str]
) -> None:
    def stages(ctx: Context) -> None:
        ctx.stage("it", lambda reason: "done", preview=text)

    found = made(tmp_path, stages, name="t", destructive=True)
    scene = Scene(tmp_path, [calls(a_call("1", "t")), a_resolve("2", "apply"), DONE], found)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    table = request_table("p1", request, str(tmp_path))
    assert table["safety"] == level
    assert [fact[1] for fact in table["facts"] if fact[0] == "reason"] == reasons
    assert ["danger", "custom_tool is marked destructive"] in [f[:2] for f in table["facts"]]
    await scene.answer("accept")
    await scene.finished()


async def test_a_gigabyte_of_output_is_shown_in_parts(tmp_path: Path) -> None:
    tools = await tools_of(
        tmp_path,
        """
@tool(require_approval_before=False)
def t():
    'Print.'
    for _ in range(100):
        sys.stdout.write("x" * 5_000_000)
        os.write(1, b"y" * 5_000_000)
    print("the end")
    return "done"
""",
    )
    scene = scene_of(tmp_path, tools["t"])
    await scene.play()
    assert scene.results() == {"1": "done"}
    shown = "".join(block.append or "" for block in scene.screen.blocks["1"])
    assert shown.endswith("the end\n")
    assert len(shown) < 2_000_000


async def test_a_process_ends_when_the_files_are_reloaded(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(f"import os, time\nfrom agentchat import tool\n{ALONE}")
    registry = a_registry()
    source = read_source(path)
    pids = []
    for _ in range(2):
        (loaded,), _ = await registry.load([source])
        (found,) = loaded.tools(str(tmp_path))
        scene = scene_of(tmp_path, found)
        await scene.play()
        pids.append(int(scene.results()["1"]))
        registry.clear()
    assert pids[0] != pids[1]
    for pid in pids:
        await gone(pid)


HOST = """
import asyncio, os, signal, sys
from pathlib import Path
from agentchat.tools.trust import read_source
from tests.tools.custom.making import OPEN, a_registry

async def main():
    registry, source = a_registry(), read_source(Path(sys.argv[1]))
    (loaded,), _ = await registry.load([source])
    (holds,) = loaded.tools("/")
    call = asyncio.ensure_future(holds.arguments.call("hook", {}, role="setup"))
    while not os.path.exists(sys.argv[2]):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_a_process_that_blocks_ends_with_a_host_that_was_killed(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    (tmp_path / "a.py").write_text(
        f"""
import ctypes, os
from agentchat import tool

def hold():
    with open({str(mark)!r} + '.new', 'w') as file:
        file.write(str(os.getpid()))
    os.rename({str(mark)!r} + '.new', {str(mark)!r})
    ctypes.PyDLL(None).sleep(600)

@tool(setup=hold)
def holds():
    'Hold the lock of the interpreter while it is set up.'
"""
    )
    host = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path / "a.py"), str(mark)],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": "python3:."},
    )
    assert host.returncode == -9
    asyncio.run(gone(int(mark.read_text())))


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{pid} is still there")
