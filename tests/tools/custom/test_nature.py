"""What an own tool declares of itself decides how its calls are judged, undone and shown."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentchat.core.errors import DefinitionError
from agentchat.core.limits import RESULT_BYTES
from agentchat.core.messages import ToolResult
from agentchat.core.permissions.rules import parse_rules
from agentchat.core.tools.tool import Environment
from agentchat.nvim.render.approval import request_table
from agentchat.tools.custom.declaration.context import Context, Result
from agentchat.tools.custom.declaration.definition import tool
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls
from tests.tools.custom.making import loaded_file, made, start_pool
from tests.tools.custom.test_running import DONE, scene_of

BASH: dict[str, Any] = {"permission_class": "bash", "require_approval_before": None}


def runs(command: str) -> str:
    "Run a command somewhere."
    return f"ran {command}"


async def asked(scene: Scene) -> dict[str, Any]:
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    return request_table("p1", request, str(scene.workspace.root))


async def test_a_tool_of_the_class_bash_is_judged_as_a_command(tmp_path: Path) -> None:
    found = made(tmp_path, runs, name="remote", **BASH)
    given = '{"command": "git status && rm -rf /"}'
    scene = Scene(tmp_path, [calls(a_call("1", "remote", given)), DONE], found)
    table = await asked(scene)
    assert table["kind"] == "command"
    assert [fact[0] for fact in table["facts"]].count("danger") == 1
    await scene.answer("reject")
    await scene.finished()


@pytest.mark.parametrize(("command", "answers"), [("git status", []), ("git push", ["reject"])])
async def test_words_of_rules_count_for_a_tool_of_the_class_bash(
    tmp_path: Path, command: str, answers: list[str]
) -> None:
    found = made(
        tmp_path, runs, name="remote", permission_class="bash", require_approval_before=None
    )
    given = f'{{"command": "{command}"}}'
    scene = Scene(tmp_path, [calls(a_call("1", "remote", given)), DONE], found)
    rules, problems = parse_rules(
        [{"action": "allow", "tool": "remote", "words": ["git", "status"]}]
    )
    assert problems == ()
    scene.chat.policy.rules = rules
    await scene.play("go", *answers)
    assert scene.results()["1"].startswith("User rejected" if answers else f"ran {command}")


async def test_a_tool_of_the_class_file_is_judged_by_its_path(tmp_path: Path) -> None:
    def touches(path: str) -> str:
        return f"touched {path}"

    found = made(tmp_path, touches, name="t", permission_class="file")
    scene = Scene(
        tmp_path,
        [calls(a_call("1", "t", '{"path": "a"}'), a_call("2", "t", '{"path": ".env"}')), DONE],
        found,
    )
    await scene.play("go", "reject")
    assert scene.results() == {"1": "touched a", "2": "User rejected the t call."}


async def test_a_tool_of_the_class_webfetch_is_judged_by_its_address(tmp_path: Path) -> None:
    found = made(tmp_path, lambda url: "x", name="t", permission_class="webfetch", description="d")
    given = '{"url": "http://127.0.0.1/x"}'
    scene = Scene(tmp_path, [calls(a_call("1", "t", given)), DONE], found)
    await scene.play("go")
    assert "127.0.0.1 is a host of this computer" in scene.results()["1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"permission_class": "bash"}, "needs command=, or an argument named command"),
        ({"permission_class": "file"}, "needs reads= or writes="),
        ({"permission_class": "webfetch"}, "needs urls="),
        ({"undo_method": "manual"}, "needs undo_description"),
        ({"undo_method": "tool"}, "belong together"),
        ({"undo_tool": "x", "undo": lambda: None}, "not both"),
    ],
)
def test_a_nature_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        tool(name="t", **options)(lambda name: name)


async def test_how_a_call_is_undone_is_shown_before_it(tmp_path: Path) -> None:
    for options, text, level in (
        ({"undo_tool": "withdraw", "undo_description": "stops it"}, "by withdraw: stops it", 1),
        ({"undo_method": "manual", "undo_description": "phone Jo"}, "by hand: phone Jo", 0),
        ({"undo": lambda: "ok", "undo_description": "stops it"}, "stops it", 1),
    ):
        found = made(tmp_path, runs, name="t", require_approval_before=True, **options)
        scene = scene_of(tmp_path, found, given='{"command": "x"}')
        table = await asked(scene)
        assert ["undo", text] in [fact[:2] for fact in table["facts"]]
        assert table["safety"] == level
        await scene.answer("accept")
        await scene.finished()


async def test_a_description_may_depend_on_the_context(tmp_path: Path) -> None:
    await start_pool()

    def describes(ctx: Context) -> str:
        return f"Works in {os.path.basename(ctx.cwd)}."

    found = made(tmp_path, runs, name="t", description=describes)
    assert found.describe is not None
    assert found.describe(Environment(str(tmp_path))) == f"Works in {tmp_path.name}."
    assert found.description == "Run a command somewhere."


async def test_a_tool_runs_in_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    def where(ctx: Context) -> str:
        return f"{os.path.basename(os.getcwd())} {os.path.basename(ctx.cwd)}"

    scene = scene_of(tmp_path, made(tmp_path, where, name="t", cwd="sub"))
    await scene.play()
    assert scene.results()["1"] == "sub sub"
    command = made(tmp_path, lambda: None, name="t", cwd="sub", command="basename $PWD")
    scene = scene_of(tmp_path, command)
    await scene.play()
    assert scene.results()["1"] == "sub"


async def test_images_of_a_result_reach_the_model(tmp_path: Path) -> None:
    out = io.BytesIO()
    Image.new("RGB", (4000, 10), "red").save(out, "PNG")
    (tmp_path / "small.png").write_bytes(picture := _png(3))

    def draws() -> Result:
        return Result("Drawn.", images=["small.png", out.getvalue(), b"no picture"])

    scene = scene_of(tmp_path, made(tmp_path, draws, name="t"))
    await scene.play()
    result = next(m for m in scene.chat.history.messages if isinstance(m, ToolResult))
    assert result.images[0].data == picture
    assert [image.mime for image in result.images] == ["image/png"] * 2
    assert result.text.splitlines() == [
        "Drawn.",
        "[Scaled down from 4000x10 to 2000x5 pixels.]",
        "[image 3 is left out: it is no PNG, JPEG, GIF or WebP]",
    ]


def _png(size: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (size, size)).save(out, "PNG")
    return out.getvalue()


STORING = f"""
@tool(require_approval_before=False)
def long():
    'Return much.'
    return "x" * {RESULT_BYTES + 1}

@result_processor
def keep(text, path):
    size = os.path.getsize(path)
    return Result(f"It is long: {{size}}", details={{"stored_at": "s3://bucket/1"}})

@tool(requires_checkpoint=True)
def risky():
    'Change something.'
    return "changed"

@checkpoint
def committed(tool):
    if os.path.exists("dirty"):
        return "commit your changes first"
"""


async def test_a_processor_may_store_a_result_elsewhere(tmp_path: Path) -> None:
    loaded = await loaded_file(tmp_path, STORING)
    tools = {found.name: found for found in loaded.tools(str(tmp_path))}
    scene = scene_of(tmp_path, tools["long"])
    (processor,) = loaded.result_processors(str(tmp_path))
    scene.chat.toolset.set_result_processor(processor)
    await scene.play()
    result = next(m for m in scene.chat.history.messages if isinstance(m, ToolResult))
    assert result.text == f"It is long: {RESULT_BYTES + 1}"
    assert result.details == {"truncated": True, "stored_path": "s3://bucket/1"}
    assert result.full_text_path is None
    assert list(tmp_path.glob("*.txt")) == []


async def test_a_handler_that_only_confirms_promises_no_undo(tmp_path: Path) -> None:
    loaded = await loaded_file(tmp_path, STORING)
    tools = {found.name: found for found in loaded.tools(str(tmp_path))}
    risky = tools["risky"]
    scene = Scene(tmp_path, [calls(a_call("1", "risky"), a_call("2", "risky")), DONE], risky)
    scene.chat.toolset.set_checkpoint_handlers(loaded.handlers(str(tmp_path)))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    table = request_table("p1", request, str(tmp_path))
    assert table["safety"] == 0
    assert ["checkpoint", "committed confirms it, and restores nothing"] in table["facts"]
    await scene.answer("accept")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    subprocess.run(["touch", str(tmp_path / "dirty")], check=True)  # noqa: ASYNC221
    await scene.answer("accept")
    await scene.finished()
    assert scene.results() == {
        "1": "changed",
        "2": 'Checkpoint failed: commit your changes first. "risky" was not run.',
    }
