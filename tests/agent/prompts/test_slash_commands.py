"""Slash commands of files, in a session on a real folder."""

from __future__ import annotations

import os
from pathlib import Path

from agentchat.agent.prompts.command_files import CommandFiles
from agentchat.agent.prompts.expanded_prompt import PromptExpander
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.core.messages import Reply, UserText
from agentchat.core.permissions.rules import parse_rules
from agentchat.core.tools.tool import Tool
from agentchat.models.select import ModelSelection
from agentchat.tools.builtin.catalogue import BUILTINS
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import Scene

TOOLS = tuple(tool for tool in BUILTINS if tool.name != "resolve")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read_commands(root: Path, config: Path = Path()) -> SlashCommands:
    commands = SlashCommands(CommandFiles(root, config))
    commands.refresh()
    return commands


def scene_with(root: Path, *replies: Reply, tools: tuple[Tool, ...] = TOOLS) -> Scene:
    scene = Scene(root, [*replies], *tools)
    scene.session.commands.add(CommandFiles(root, Path()))
    return scene


def said(scene: Scene) -> str:
    """What the model read in place of the newest prompt."""
    messages = scene.model.requests[-1].history.messages
    return next(m.text for m in reversed(messages) if isinstance(m, UserText))


def test_the_nearest_file_wins_and_the_others_are_named(tmp_path: Path) -> None:
    project, config = tmp_path / "project", tmp_path / "config"
    write(project / ".agentchat/commands/fix.md", "nearest")
    write(project / ".claude/commands/fix.md", "other")
    write(project / ".opencode/command/deep/er.md", "deep")
    write(config / "agentchat/commands/mine.md", "mine")
    write(project / ".claude/commands/bad.md", "---\nx: [\n---\n")
    os.symlink("/etc/passwd", project / ".claude/commands/out.md")
    commands = read_commands(project, config)
    assert {c.name: c.description for c in commands.list()} == {
        "fix": "nearest",
        "deep:er": "deep",
        "mine": "mine",
    }
    problems = "\n".join(commands.problems)
    assert ".claude/commands/fix.md: not used, /fix is .agentchat/commands/fix.md" in problems
    assert '.claude/commands/bad.md:2: "x" is not valid YAML' in problems
    assert ".claude/commands/out.md: it is a link to a file outside of the project" in problems


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / ".claude/commands/fix.md"
    write(file, "one")
    commands = read_commands(tmp_path)
    write(file, "another")
    commands.refresh()
    assert [command.description for command in commands.list()] == ["another"]
    file.unlink()
    commands.refresh()
    assert not commands.list()


async def test_commands_ask_and_files_are_read_before_the_message_goes_out(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "x = 1\n")
    body = "Review $1: @a.py, @nobody\n!`echo from the shell`\n"
    write(tmp_path / ".agentchat/commands/review.md", body)
    scene = scene_with(tmp_path, Reply("done"))
    assert await scene.play("/review it", "accept") == "stop"
    text = "Review it: a.py, @nobody\nfrom the shell\n\n"
    assert said(scene) == f'{text}<context name="a.py">\nx = 1\n</context>'
    assert scene.screen.users == ["/review it"]
    note = "\n".join(text for _, text in scene.screen.notes)
    assert "/review: .agentchat/commands/review.md\n  read a.py\n  ran echo from the shell" in note
    assert not scene.screen.blocks
    assert not scene.results()


async def test_a_question_about_a_command_names_the_prompt(tmp_path: Path) -> None:
    write(tmp_path / ".agentchat/commands/go.md", "!`touch made`")
    scene = scene_with(tmp_path, Reply("done"))
    scene.session.send("/go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    assert (request.prompt, request.target.command) == ("/go", "touch made")
    await scene.answer("reject")
    await scene.finished()
    assert said(scene) == "User rejected the bash call."
    assert not (tmp_path / "made").exists()


async def test_a_file_outside_asks_as_if_the_model_read_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(tmp_path / "secret.txt", "secret")
    write(project / ".claude/commands/go.md", "See @../secret.txt")
    scene = scene_with(project, Reply("done"))
    assert await scene.play("/go", "reject") == "stop"
    assert "secret\n" not in said(scene)
    assert "User rejected the read call." in said(scene)


async def test_a_denied_command_is_not_run(tmp_path: Path) -> None:
    write(tmp_path / ".claude/commands/go.md", "!`touch made`")
    scene = scene_with(tmp_path, Reply("done"))
    scene.chat.policy.rules, _ = parse_rules([{"action": "deny", "tool": "bash"}])
    assert await scene.play("/go") == "stop"
    assert said(scene).startswith("Denied by rule:")
    assert not (tmp_path / "made").exists()


async def test_cancelling_the_question_returns_the_prompt(tmp_path: Path) -> None:
    write(tmp_path / ".claude/commands/go.md", "!`touch made`")
    scene = scene_with(tmp_path)
    assert await scene.play("/go", "cancel") == "cancelled"
    assert scene.screen.given_back == 1
    assert not scene.model.requests


async def test_a_command_gives_the_chat_the_tools_it_names(tmp_path: Path) -> None:
    write(tmp_path / ".claude/commands/go.md", "---\nallowed-tools: Fetch, Nothing\n---\nGo")
    scene = scene_with(tmp_path, Reply("done"))
    scene.chat.toolset.remove("fetch")
    await scene.play("/go")
    assert "fetch" in [tool.name for tool in scene.model.requests[-1].tools]


async def test_the_model_of_a_command_answers_its_turn_alone(tmp_path: Path) -> None:
    for name in ("small", "mistral/none", "opus"):
        write(tmp_path / f".claude/commands/{name[:3]}.md", f"---\nmodel: {name}\n---\nGo")
    models = ModelSelection({"base_url": "http://127.0.0.1:9/v1", "name": "large"})
    expander = PromptExpander(read_commands(tmp_path), LocalWorkspace(str(tmp_path)), models)

    async def named_by(command: str) -> tuple[str, str]:
        expanded = await expander.expand(command)
        assert expanded is not None
        told = expander.use_model(expanded.expansion.model)
        asked = models.current().name
        expander.end_turn()
        assert models.current().name == "large"
        return asked, "".join(told)

    assert await named_by("/sma") == ("small", "Model of this turn: small")
    assert await named_by("/opu") == ("large", "")  # a name of another program
    asked, told = await named_by("/mis")
    assert asked == "large"
    assert told.startswith("The model mistral/none is not used: No key: set")
    await models.close()
