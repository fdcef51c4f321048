"""The worked examples of the help, played."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from agentchat import Context
from agentchat.agent.execution.tool_runner import STAGED
from agentchat.core.messages import Reply
from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.declaration.definition import Options
from agentchat.tools.custom.declaration.file_import import import_source
from agentchat.tools.custom.declaration.files import Location
from agentchat.tools.trust import read_source
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls
from tests.docs.page import HELP
from tests.support import project
from tests.support.launch import CHECKOUT
from tests.tools.custom.making import a_registry

EXAMPLES = Location(CHECKOUT / "doc" / "examples").files()
DONE = Reply("Done.")


async def example(name: str, folder: Path) -> Tool:
    """Return the one tool of an example; all of them load."""
    registry, sources = a_registry(), [read_source(path) for path in EXAMPLES]
    loaded, problems = await registry.load(sources)
    assert problems == []
    found = {contents.source.path.stem: contents for contents in loaded}
    assert list(found) == ["batch_rename", "todos", "word_count"]
    (tool,) = found[name].tools(str(folder))
    return tool


async def test_words_are_counted_without_a_question(tmp_path: Path) -> None:
    project.build(tmp_path)
    call = calls(a_call("1", "word_count", '{"path": "notes.txt"}'))
    scene = Scene(tmp_path, [call, DONE], await example("word_count", tmp_path))
    await scene.play()
    assert scene.results() == {"1": "3"}


async def test_a_file_outside_the_workspace_asks(tmp_path: Path) -> None:
    call = calls(a_call("1", "word_count", '{"path": "/etc/hosts"}'))
    scene = Scene(tmp_path, [call, DONE], await example("word_count", tmp_path))
    await scene.play("go", "reject")
    assert scene.results() == {"1": "User rejected the word_count call."}


async def test_marks_are_counted_by_a_command_and_a_step(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# TODO one\n# TODO: two\n")
    (tmp_path / "b.py").write_text("# TODO three\n")
    call = calls(a_call("1", "todos"), a_call("2", "todos", '{"mark": "$(touch x)"}'))
    scene = Scene(tmp_path, [call, DONE], await example("todos", tmp_path))
    await scene.play()
    assert scene.results() == {"1": '{"./a.py":2,"./b.py":1}', "2": "{}"}
    assert not (tmp_path / "x").exists()
    assert scene.screen.blocks["1"][0].title == "todos: TODO in ."


@pytest.mark.parametrize(("action", "there"), [("apply", "new-1"), ("discard", "old-1")])
async def test_names_are_changed_when_the_preview_is_applied(
    tmp_path: Path, action: str, there: str
) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "old-1").touch()
    rename = a_call("1", "batch_rename", '{"folder": "pictures", "old": "old", "new": "new"}')
    resolve = a_call("2", "resolve", f'{{"action": "{action}", "reason": "as asked"}}')
    scene = Scene(
        tmp_path, [calls(rename), calls(resolve), DONE], await example("batch_rename", tmp_path)
    )
    await scene.play("go", *(["accept"] if action == "apply" else []))
    assert scene.results()["1"] == f"{STAGED}\npictures/old-1 -> new-1"
    assert [path.name for path in folder.iterdir()] == [there]


def test_the_help_names_every_option_and_the_examples() -> None:
    options = HELP.sections["agentchat-custom-options"]
    assert [name for name in Options.__annotations__ if f"{{{name}}}" not in options] == []
    chapter = HELP.sections["agentchat-custom-tools"]
    assert [path.name for path in EXAMPLES if f'"{path.name}"' not in chapter] == []
    context = HELP.sections["agentchat-custom-context"]
    public = [name for name in vars(Context) if not name.startswith("_")]
    assert [name for name in public if f"ctx.{name}" not in context] == []


def test_the_tool_of_the_help_is_a_tool(tmp_path: Path) -> None:
    code = re.search(r"word_count\.py\": >python\n(.*?)\n<3\.", HELP.text, re.DOTALL)
    assert code is not None
    path = tmp_path / "word_count.py"
    path.write_text(textwrap.dedent(code[1]))
    assert [d.spec.name for d in import_source(read_source(path)).definitions] == ["word_count"]
