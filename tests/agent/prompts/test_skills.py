"""Skills of the user and of the project, in a session on a real folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from agentchat.agent.prompts.skills import Skills
from agentchat.core.messages import Reply, ToolCall, UserText
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS, BUILTINS
from tests.agent.scene import Scene

TEXT = "---\nname: pdf\ndescription: Work with PDF files.\n---\nRun scripts/fill.py FILE.\n"


def write(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class Ground:
    """A project, the user's folders and the trust database."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.trust = folder / "trust"
        self.registry = Registry()
        self.home = folder / "home"
        self.skills = Skills(
            self.root, folder / "config", self.home, trust=self.trust, registry=self.registry
        )

    def names(self) -> list[str]:
        """Read the files again and return what is offered."""
        self.skills.refresh()
        return [name for name, _ in self.skills.offer()]


def test_a_skill_of_the_project_counts_once_it_is_trusted(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    file = write(ground.root / ".claude/skills/pdf/SKILL.md")
    assert not ground.names()
    assert ground.skills.problems == [
        ".claude/skills: not trusted, so not used: pdf. Run :AgentTools trust"
    ]
    assert ground.registry.get("skill") is None
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    ground.trust.write_text(f"{digest} {file.resolve()}\n")
    assert ground.names() == ["pdf"]
    assert ground.registry.get("skill") is not None
    write(file, TEXT + "Changed.")
    assert not ground.names()
    assert ground.registry.get("skill") is None


def test_the_nearest_of_two_counts_and_what_cannot_be_read_is_named(
    tmp_path: Path,
) -> None:
    ground = Ground(tmp_path)
    write(tmp_path / "config/agentchat/skills/pdf/SKILL.md")
    write(ground.home / ".agents/skills/pdf/SKILL.md")
    write(ground.home / ".claude/skills/bad/SKILL.md", "no front matter")
    assert ground.names() == ["pdf"]
    other, bad = ground.skills.problems
    assert other.startswith(f"{ground.home}/.agents/skills/pdf/SKILL.md: not used, the skill pdf")
    assert bad.startswith(f"{ground.home}/.claude/skills/bad/SKILL.md:1: a skill needs")


def chat_with(ground: Ground) -> Chat:
    """A chat that has the group ``agent``."""
    for tool in BUILTINS:
        ground.registry.register(tool)
    return Chat("a", Toolset(ground.registry, BUILTIN_GROUPS, ("agent",)), Environment("/"))


async def test_the_model_knows_names_and_reads_the_body_when_it_needs_it(
    tmp_path: Path,
) -> None:
    ground = Ground(tmp_path)
    write(ground.home / ".agents/skills/pdf/SKILL.md")
    write(ground.home / ".agents/skills/pdf/scripts/fill.py", "print()")
    call = ToolCall("c1", "skill", '{"name": "pdf"}')
    replies = [Reply(calls=(call,)), Reply("done"), Reply("done")]
    chat = chat_with(ground)
    scene = Scene(ground.root, [*replies], chat=chat, skills=ground.skills)
    assert await scene.play("go") == "stop"
    system = scene.model.requests[0].system
    assert "- pdf: Work with PDF files." in system
    assert "fill.py" not in system
    folder = ground.home / ".agents/skills/pdf"
    body = f"Run scripts/fill.py FILE.\n\nFiles of this skill, in {folder}:\nscripts/fill.py"
    assert scene.results()["c1"] == body
    await scene.play("/pdf fill it in")
    said = [m.text for m in chat.history.messages if isinstance(m, UserText)]
    assert said[-1] == f"{body}\n\nTask: fill it in"
