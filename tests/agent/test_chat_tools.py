"""Tools are given by mention or command, and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentchat.core.messages import Reply
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from tests.agent.scene import Scene
from tests.agent.undo.test_commands import UndoScene
from tests.core.turn.world import a_call, a_tool, calls

DONE = Reply("Done.")


def a_scene(folder: Path, replies: list[Any]) -> Scene:
    """A chat that was given nothing yet."""
    tools: list[Tool] = [a_tool("one", snippet="First"), a_tool("two"), a_tool("three")]
    groups = [Group("both", ("one", "two")), Group("wide", ("two", "three"), collapse=False)]
    chat = Chat("c", Toolset(Registry(tools), groups, []), Environment(str(folder)))
    return Scene(folder, replies, chat=chat)


def notes(scene: Scene) -> list[str]:
    return [text for _, text in scene.screen.notes]


async def test_a_mention_shows_what_it_gives_once(tmp_path: Path) -> None:
    scene = a_scene(tmp_path, [DONE, DONE])
    await scene.play("use @both and @three")
    await scene.play("use @both and @{wide}")
    assert notes(scene) == ["Tools: both\nTools: three", "Tools: two\nTools: three"]


async def test_what_is_removed_is_neither_sent_nor_run(tmp_path: Path) -> None:
    scene = a_scene(tmp_path, [DONE, calls(a_call("1", "one")), DONE])
    await scene.play("use @both")
    assert "- one: First" in scene.model.requests[0].system
    scene.session.tools.remove("one")
    await scene.play("go on")
    assert [tool.name for tool in scene.model.requests[1].tools] == ["two"]
    assert "- one: First" not in scene.model.requests[1].system
    assert scene.results()["1"] == 'Tool "one" not found. Available tools: two.'
    assert notes(scene)[1:] == ["Tools removed: one"]


async def test_the_user_gives_and_takes_by_name(tmp_path: Path) -> None:
    scene = a_scene(tmp_path, [])
    tools = scene.session.tools
    for act, name in (
        (tools.add, "both"),
        (tools.add, "both"),
        (tools.add, "nothing"),
        (tools.remove, "both"),
        (tools.remove, "both"),
    ):
        act(name)
    assert notes(scene) == [
        "Tools: both",
        "This chat has both already.",
        'There is no tool or group "nothing".',
        "Tools removed: both",
        'This chat has no tool or group "both".',
    ]


async def test_what_was_given_and_taken_holds_after_a_restart(tmp_path: Path) -> None:
    scene = UndoScene(tmp_path, a_tool("late"))
    await scene.turn()
    before = [tool.name for tool in scene.model.requests[0].tools]
    scene.session.tools.remove("bash")
    scene.restart()
    await scene.turn()
    after = [tool.name for tool in scene.model.requests[0].tools]
    assert after == [name for name in before if name != "bash"]
    scene.session.tools.add("bash")
    scene.restart()
    await scene.turn()
    assert {tool.name for tool in scene.model.requests[0].tools} == set(before)
    scene.journal.close()
