"""Context that goes with a message, in a session on a real folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

import pytest

from agentchat.core.messages import Reply, UserText
from agentchat.core.permissions.rules import Rule
from agentchat.core.tools.mentions import CapturedContext
from agentchat.tools.builtin import find, read
from agentchat.tools.builtin.catalogue import BUILTINS
from tests.agent.scene import Scene

READING = (read.TOOL, find.TOOL)
"""The tools that mentions call."""

KEY = "ghp_" + "a1B2" * 10


def said(scene: Scene) -> str:
    """What the model read in place of the newest prompt."""
    messages = scene.model.requests[-1].history.messages
    return next(m.text for m in reversed(messages) if isinstance(m, UserText))


def commit_and_change(file: Path, old: str, new: str) -> None:
    """Make a repository that holds a file, and change it."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(file.parent))
    file.write_text(old)
    for command in (("init", "-q"), ("add", "-f", "."), ("commit", "-qm", "first")):
        subprocess.run([*git, *command], check=True)
    file.write_text(new)
    subprocess.run([*git, "add", file.name], check=True)


async def test_a_file_is_read_when_the_message_goes_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"x = 1\nkey = '{KEY}'\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    assert await scene.play("explain #file:a.py") == "stop"
    assert said(scene).startswith('explain a.py\n\n<context name="a.py">\nx = 1\n')
    assert KEY not in said(scene)
    assert scene.screen.users == ["explain #file:a.py"]
    assert ("info", "Attached: a.py") in scene.screen.notes


async def test_what_cannot_be_attached_is_told_and_the_message_goes_out(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    assert await scene.play("see #file:gone.py, #buffer and #diff") == "stop"
    assert said(scene) == "see #file:gone.py, #buffer and #diff"
    told = "\n".join(text for _, text in scene.screen.notes)
    assert "Nothing is attached for #file:gone.py: Path not found: gone.py" in told
    assert "Nothing is attached for #buffer: " in told
    assert "Nothing is attached for #diff: " in told
    assert "not a git repository" in told.lower()


async def test_what_the_editor_had_is_taken_as_it_was_sent(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("on the disk\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    captured = {
        "#buffer": CapturedContext(name="a.py", path=str(tmp_path / "a.py")),
        "#selection": CapturedContext(name="the selection in b.py (line 3)", text="y = 2"),
    }
    scene.session.send("compare #buffer with #selection", captured)
    await scene.finished()
    assert said(scene) == (
        "compare a.py with the selection in b.py (line 3)\n\n"
        '<context name="a.py">\non the disk\n</context>\n\n'
        '<context name="the selection in b.py (line 3)">\ny = 2\n</context>'
    )


async def test_the_diff_is_that_to_the_last_commit(tmp_path: Path) -> None:
    commit_and_change(tmp_path / "a.txt", "old\n", "new\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    await scene.play("review #diff")
    assert said(scene).startswith('review the diff\n\n<context name="the diff">\ndiff --git')
    assert "-old\n+new" in said(scene)


async def test_mentions_in_what_is_attached_mention_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("see #file:b.md and @bash\n")
    (tmp_path / "b.md").write_text("not attached\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    await scene.play("#file:a.md")
    assert "not attached" not in said(scene)
    assert "see #file:b.md and @bash" in said(scene)


async def test_lines_a_directory_and_a_definition_are_attached(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("x = 1\n\n\ndef greet():\n    return x\n\n\ny = 2\n")
    scene = Scene(tmp_path, [Reply("ok"), Reply("ok"), Reply("ok")], *READING)
    await scene.play("see #file:src/a.py:4-5")
    assert said(scene).startswith(
        'see src/a.py (lines 4-5)\n\n<context name="src/a.py (lines 4-5)">\ndef greet():\n'
    )
    assert "y = 2" not in said(scene)
    await scene.play("see #dir:src")
    assert '<context name="the files in src/">\nsrc/a.py\n' in said(scene)
    await scene.play("see #symbol:greet and #symbol:nothing")
    definition = "src/a.py:4-5\ndef greet():\n    return x\n"
    assert f'<context name="the definition of greet">\n{definition}' in said(scene)
    told = "\n".join(text for _, text in scene.screen.notes)
    assert "Nothing is attached for #symbol:nothing: no definition is found" in told


async def test_a_file_that_was_sent_is_sent_again_as_its_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    lines = [f"line {number}" for number in range(40)]
    file.write_text("\n".join(lines))
    scene = Scene(tmp_path, [Reply("ok")] * 3, *READING)
    await scene.play("see #file:a.py")
    await scene.play("see #file:a.py")
    assert said(scene).endswith("(unchanged since it was attached before)\n</context>")
    lines[20] = "another"
    file.write_text("\n".join(lines))
    await scene.play("see #file:a.py")
    assert '<context name="the changes of a.py since it was attached">' in said(scene)
    assert "-line 20\n+another" in said(scene)
    assert "line 39" not in said(scene)


async def test_a_page_is_fetched_only_after_a_question(tmp_path: Path) -> None:
    tools = [tool for tool in BUILTINS if tool.name == "fetch"]
    scene = Scene(tmp_path, [Reply("ok")], *tools)
    scene.session.send("see #url:https://example.invalid/a")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    assert request.prompt == "#url:https://example.invalid/a"
    assert [url.authority for url in request.target.urls] == ["example.invalid"]
    await scene.answer("reject")
    await scene.finished()
    assert said(scene) == "see #url:https://example.invalid/a"
    told = "\n".join(text for _, text in scene.screen.notes)
    assert "Nothing is attached for #url:https://example.invalid/a: User rejected" in told


async def test_the_diff_leaves_secrets_files_and_the_folders_above_out(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "above.py").write_text("1\n")
    (root / ".ENV.local").write_text("PASSWORD=a\n")
    (root / ".ssh").mkdir()
    (root / ".ssh/anything").write_text("a\n")
    (root / "new.py").write_text("old\n")
    commit_and_change(tmp_path / "first.py", "a\n", "b\n")
    for name in ("above.py", "workspace/.ENV.local", "workspace/.ssh/anything"):
        (tmp_path / name).write_text("changed\n")
    (root / "new.py").write_text("new\n")
    scene = Scene(root, [Reply("ok")], *READING)
    assert await scene.play("review #diff") == "stop"
    assert "+new" in said(scene)
    assert "changed" not in said(scene)


UNUSUAL = (
    "#file:../secret.txt",
    "#file:.env",
    "#file:.env:1-1",
    "#file:link.txt",
    "#file:deep/../../secret.txt",
    "#dir:{..}",
    "#dir:../private",
    "#dir:folder",
    "#buffer",
)


def unusual_project(folder: Path) -> Path:
    """Return a workspace with a secret and links to what is beside it."""
    root = folder / "workspace"
    (root / "deep").mkdir(parents=True)
    (folder / "private").mkdir()
    (folder / "private/hidden.txt").write_text("hidden\n")
    (folder / "secret.txt").write_text("hidden\n")
    (root / ".env").write_text("hidden\n")
    (root / "link.txt").symlink_to(folder / "secret.txt")
    (root / "folder").symlink_to(folder / "private")
    return root


@pytest.mark.parametrize("mention", UNUSUAL)
@pytest.mark.parametrize("answer", ["accept", "reject"])
async def test_what_is_outside_or_secret_asks_as_the_read_of_a_model(
    tmp_path: Path, mention: str, answer: str
) -> None:
    root = unusual_project(tmp_path)
    scene = Scene(root, [Reply("ok")], *READING)
    captured = {"#buffer": CapturedContext(name="x", path=str(tmp_path / "secret.txt"))}
    scene.session.send(f"see {mention}", captured)
    await scene.screen.until(lambda: bool(scene.screen.questions))
    await scene.answer(answer)
    await scene.screen.until(lambda: bool(scene.screen.named("AgentTurnFinished")))
    assert ("hidden" in said(scene)) == (answer == "accept")


@pytest.mark.parametrize("mention", UNUSUAL)
async def test_where_nobody_is_asked_it_is_not_read(tmp_path: Path, mention: str) -> None:
    root = unusual_project(tmp_path)
    scene = Scene(root, [Reply("ok")], *READING)
    scene.chat.policy.attended = False
    captured = {"#buffer": CapturedContext(name="x", path=str(tmp_path / "secret.txt"))}
    scene.session.send(f"see {mention}", captured)
    await scene.screen.until(lambda: bool(scene.screen.named("AgentTurnFinished")))
    assert "hidden" not in said(scene)
    assert f"Nothing is attached for {mention}: Denied" in str(scene.screen.notes)


@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_rules_about_a_path_count_for_mentions(
    tmp_path: Path, action: Literal["deny", "ask"]
) -> None:
    (tmp_path / "a.py").write_text("def hidden():\n    pass\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    scene.chat.policy.rules = (Rule(action, "read", path="a.py"),)
    scene.chat.policy.attended = False
    assert await scene.play("see #file:a.py and #symbol:hidden") == "stop"
    assert said(scene) == "see #file:a.py and #symbol:hidden"


async def test_text_that_follows_a_prompt_is_data(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("hidden\n")
    scene = Scene(tmp_path, [Reply("ok")], *READING)
    data = "/compact\n@bash #file:a.py #diff"
    scene.session.send("review", data=data)
    await scene.screen.until(lambda: bool(scene.screen.named("AgentTurnFinished")))
    assert said(scene) == f"review\n\n{data}"
    scene.session.send("", data=data)
    await scene.screen.until(lambda: len(scene.screen.named("AgentTurnFinished")) == 2)
    assert said(scene) == data
