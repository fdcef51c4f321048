"""Skills of the user and of the project, which the model reads with the tool ``skill``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentchat.agent.prompts.command_files import read_markdown, shown_path
from agentchat.agent.prompts.front_matter import parse_markdown
from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.prompts.command import Expansion, SlashCommand
from agentchat.core.prompts.markdown_file import FrontMatterError
from agentchat.core.prompts.skill import FILE, Skill, parse_skill
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.system_prompt import SKILL
from agentchat.tools.builtin.skill import skill_tool
from agentchat.tools.custom.declaration.files import FileProblem
from agentchat.tools.trust import Source, is_trusted, read_trust, stamp

PROJECT_FOLDERS = (".agentchat/skills", ".agents/skills", ".claude/skills")
"""Folders of a project, the nearest first."""

USER_FOLDERS = (".agents/skills", ".claude/skills")
"""Folders below the home directory."""

MOST_FILES = 50
"""Files of a skill that are named."""


@frozen
class SkillFolder:
    """A folder with a folder per skill; ``root`` is the project it belongs to."""

    path: Path
    root: Path | None = None

    def files(self) -> list[Path]:
        """Return the files that say what a skill is, sorted."""
        return sorted(self.path.glob(f"*/{FILE}"))


class Skills:
    """The skills there are, read again when one changes. They are slash commands, too.

    Args:
        root: the project; ``None`` for a workspace on another machine.
        config: the folder of the user's Neovim configuration; ``home`` the home directory.
        trust: the file of Neovim's trust database: a project's skills count once it is trusted.
        registry: gets the tool ``skill`` as long as there are skills.
    """

    def __init__(
        self, root: Path | None, config: Path, home: Path, *, trust: Path, registry: Registry
    ) -> None:
        project = [SkillFolder(root / name, root) for name in PROJECT_FOLDERS] if root else []
        own = [SkillFolder(home / name) for name in USER_FOLDERS]
        if config.is_absolute():
            own.insert(0, SkillFolder(config / "agentchat" / "skills"))
        self._folders = [*project, *own]
        self._trust = trust
        self._registry = registry
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._skills: dict[str, Skill] = {}
        self._problems: list[str] = []
        self._untrusted: dict[str, list[str]] = {}
        """The names of a project's skills by their folder."""

    @property
    def problems(self) -> Sequence[str]:
        """A line for each skill that is not used, and for each folder that is not trusted."""
        untrusted = (
            f"{folder}: not trusted, so not used: {', '.join(names)}. Run :AgentTools trust"
            for folder, names in self._untrusted.items()
        )
        return [*self._problems, *untrusted]

    def refresh(self) -> None:
        """Read the files again if one was added, changed, removed or trusted."""
        found = [(folder, path) for folder in self._folders for path in folder.files()]
        current = stamp([self._trust, *(path for _, path in found)])
        if current != self._stamp:
            self._stamp, self._skills, self._problems, self._untrusted = current, {}, [], {}
            trust = read_trust(self._trust)
            for folder, path in found:
                self._read(folder, path, trust)

    def offer(self) -> tuple[tuple[str, str], ...]:
        """Offer the tool if there are skills; return their names and descriptions."""
        if not self._skills:
            self._registry.unregister(SKILL)
        elif self._registry.get(SKILL) is None:
            self._registry.register(skill_tool(self.read))
        return tuple((skill.name, skill.description) for skill in self._skills.values())

    def find(self, name: str) -> Skill:
        """Return a skill; raises ToolError that names those there are."""
        if name not in self._skills:
            names = ", ".join(self._skills) or "none"
            raise ToolError(f'There is no skill "{name}". Skills: {names}.')
        return self._skills[name]

    def read(self, name: str) -> str:
        """Return what the model reads of a skill; raises ToolError that names those there are."""
        return instructions(self.find(name))

    def list(self) -> Sequence[SlashCommand]:
        """Return the skills as commands."""
        return [
            SlashCommand(skill.name, "skill", skill.description, "[task]", skill.origin)
            for skill in self._skills.values()
        ]

    async def expand(self, name: str, arguments: str) -> Expansion:
        """Return the instructions of a skill, with what the user typed below."""
        skill = self.find(name)
        task = f"\n\nTask: {arguments}" if arguments else ""
        return Expansion((instructions(skill) + task,), skill.origin)

    def _read(self, folder: SkillFolder, path: Path, trust: Mapping[str, str]) -> None:
        shown = shown_path(path, folder.root)
        try:
            text = read_markdown(path, folder.root)
            skill = parse_skill(parse_markdown(text), str(path.parent), shown)
        except FrontMatterError as error:
            self._problems.append(str(FileProblem(Path(shown), error.line, str(error))))
            return
        except (OSError, UserError) as error:
            problem = getattr(error, "strerror", None) or str(error)
            self._problems.append(str(FileProblem(Path(shown), 0, problem)))
            return
        source = Source(path, text.encode())
        if folder.root is not None and not is_trusted(source, folder.root, trust):
            self._untrusted.setdefault(shown_path(folder.path, folder.root), []).append(skill.name)
        elif skill.name in self._skills:
            nearest = self._skills[skill.name].origin
            self._problems.append(f"{shown}: not used, the skill {skill.name} is {nearest}")
        else:
            self._skills[skill.name] = skill


def instructions(skill: Skill) -> str:
    """Return what the model reads of a skill: its text, and where its other files are."""
    files = list(_other_files(Path(skill.folder)))[: MOST_FILES + 1]
    if not files:
        return skill.body
    names = [*files[:MOST_FILES], *(["…"] if len(files) > MOST_FILES else [])]
    return "\n".join([skill.body, "", f"Files of this skill, in {skill.folder}:", *names])


def _other_files(folder: Path) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        relative = os.path.relpath(path, folder)
        for name in sorted(names):
            if (relative, name) != (".", FILE):
                yield os.path.normpath(os.path.join(relative, name))
