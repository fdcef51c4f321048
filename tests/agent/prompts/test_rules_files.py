"""Rules files for agents, in a session on a real folder."""

from __future__ import annotations

from pathlib import Path

from agentchat.core.messages import Note, Reply, ToolCall
from agentchat.tools.builtin.catalogue import BUILTINS
from tests.agent.scene import Scene

TOOLS = tuple(tool for tool in BUILTINS if tool.name != "resolve")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def reading(path: str, id: str = "c1") -> Reply:
    return Reply(calls=(ToolCall(id, "read", f'{{"path": "{path}"}}'),))


def notes(scene: Scene) -> list[str]:
    return [m.text for m in scene.chat.history.messages if isinstance(m, Note)]


async def test_rules_of_a_folder_are_sent_after_a_file_in_it_was_read(tmp_path: Path) -> None:
    write(tmp_path / "AGENTS.md", "Root rules.")
    write(tmp_path / "src/AGENTS.md", "Use tabs.")
    write(tmp_path / "src/deep/CLAUDE.md", "Go deep.")
    write(tmp_path / "other/AGENTS.md", "Not these.")
    write(tmp_path / "src/deep/a.py", "x = 1\n")
    scene = Scene(tmp_path, [reading("src/deep/a.py"), Reply("done")], *TOOLS)
    await scene.play("go")
    first, second = scene.model.requests
    assert "# AGENTS.md\nRoot rules." in first.system
    assert first.system == second.system
    assert notes(scene) == [
        "Project rules for src/, from src/AGENTS.md:\nUse tabs.",
        "Project rules for src/deep/, from src/deep/CLAUDE.md:\nGo deep.",
    ]
    assert second.history.messages[: len(first.history.messages)] == first.history.messages
    assert scene.session.rules_files.names() == [
        "AGENTS.md", "src/AGENTS.md", "src/deep/CLAUDE.md",
    ]  # fmt: skip


async def test_a_change_counts_from_the_next_turn_and_is_sent_once(tmp_path: Path) -> None:
    write(tmp_path / "src/AGENTS.md", "Use tabs.")
    write(tmp_path / "src/a.py", "x = 1\n")
    scene = Scene(tmp_path, [Reply("ok"), Reply("ok"), Reply("ok"), Reply("ok")], *TOOLS)
    await scene.play("see #file:src/a.py")
    await scene.play("again")
    write(tmp_path / "src/AGENTS.md", "Use blanks.")
    await scene.play("again")
    (tmp_path / "src/AGENTS.md").unlink()
    await scene.play("again")
    assert notes(scene) == [
        "Project rules for src/, from src/AGENTS.md:\nUse tabs.",
        "Project rules for src/, from src/AGENTS.md:\nUse blanks.",
        "The project rules in src/AGENTS.md were removed: they no longer apply.",
    ]
    assert ("info", "Rules: src/AGENTS.md") in scene.screen.notes


async def test_two_names_of_one_text_are_one_file(tmp_path: Path) -> None:
    write(tmp_path / "AGENTS.md", "Root rules.")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    write(tmp_path / "src/AGENTS.md", "Use tabs.")
    write(tmp_path / "src/CLAUDE.md", "@AGENTS.md\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/AGENTS.md").symlink_to("/etc/passwd")
    scene = Scene(tmp_path, [Reply("ok")], *TOOLS)
    await scene.play("see #file:src/AGENTS.md and #file:out/x")
    assert scene.model.requests[0].system.count("Root rules.") == 1
    assert notes(scene) == ["Project rules for src/, from src/AGENTS.md:\nUse tabs."]
