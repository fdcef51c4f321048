"""Slash commands from Markdown files of the user and of the project.

A project's files are text that is sent only when the user types their name, so they need no trust.
What they call asks like a call of the model (``core.turn.prompt_calls``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentchat.agent.prompts.front_matter import parse_markdown
from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.limits import KIB
from agentchat.core.prompts.command import (
    Expansion,
    PromptFile,
    SlashCommand,
    command_name,
    parse_prompt_file,
)
from agentchat.core.prompts.markdown_file import FrontMatterError, MarkdownFile
from agentchat.core.prompts.template import fill_template
from agentchat.disk.regular import read_regular
from agentchat.tools.custom.declaration.files import FileProblem
from agentchat.tools.trust import stamp

PROJECT_FOLDERS = (
    ".agentchat/commands",
    ".claude/commands",
    ".opencode/command",
    ".opencode/commands",
)
"""Folders of a project, the nearest first."""

LARGEST = 256 * KIB
MOST_FILES = 1_000
"""Files of one folder that are read."""


@frozen
class MarkdownFolder:
    """A folder with Markdown files; ``root`` is the project that its files must not leave."""

    path: Path
    root: Path | None = None

    def files(self) -> list[Path]:
        """Return the files, sorted, those of folders below included."""
        return sorted(self._walk())[:MOST_FILES]

    def _walk(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (Path(folder, name) for name in names if name.endswith(".md"))

    def read(self, path: Path) -> MarkdownFile:
        """Return a file; raises OSError or UserError."""
        return parse_markdown(read_markdown(path, self.root))

    def shown(self, path: Path) -> str:
        """Return the name of a file for the user."""
        return shown_path(path, self.root)


def read_markdown(path: Path, root: Path | None) -> str:
    """Return the text of a file of the user's, or of the project ``root``.

    Raises:
        OSError: it cannot be read.
        UserError: it is outside of its project, too large, or no text.
    """
    if root is not None and Path(os.path.realpath(root)) not in path.resolve().parents:
        raise UserError("it is a link to a file outside of the project")
    data = read_regular(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise UserError(f"it is larger than {LARGEST // KIB} KiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"it is not UTF-8 text: byte {error.start}") from error


def shown_path(path: Path, root: Path | None) -> str:
    """Return a path for the user: relative to the project, or to the home directory."""
    if root is not None:
        return str(path.relative_to(root))
    home = Path.home()
    return f"~/{path.relative_to(home)}" if home in path.parents else str(path)


class CommandFiles:
    """The commands of the files there are, read again when one changes.

    Args:
        root: the project; ``None`` for a workspace on another machine, which has no files here.
        config: the folder of the user's Neovim configuration.
    """

    def __init__(self, root: Path | None, config: Path) -> None:
        own = [MarkdownFolder(config / "agentchat" / "commands")] if config.is_absolute() else []
        names = PROJECT_FOLDERS if root is not None else ()
        self._folders = [*(MarkdownFolder(Path(root or "", name), root) for name in names), *own]
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._files: dict[str, PromptFile] = {}
        self._problems: list[str] = []

    @property
    def problems(self) -> Sequence[str]:
        """A line for each file that is not used, with the line of the problem."""
        return self._problems

    def refresh(self) -> None:
        """Read the files again if one was added, changed or removed."""
        found = [(folder, path) for folder in self._folders for path in folder.files()]
        current = stamp(path for _, path in found)
        if current == self._stamp:
            return
        self._stamp, self._files, self._problems = current, {}, []
        for folder, path in found:
            self._read(folder, path)

    def list(self) -> Sequence[SlashCommand]:
        """Return the commands; of several files with one name only the nearest."""
        return [file.command for file in self._files.values()]

    async def expand(self, name: str, arguments: str) -> Expansion:
        """Return what a command of the list stands for."""
        file = self._files[name]
        parts = fill_template(file.template, arguments)
        return Expansion(parts, file.command.origin, file.tools, file.model)

    def _read(self, folder: MarkdownFolder, path: Path) -> None:
        shown = folder.shown(path)
        try:
            name = command_name(path.relative_to(folder.path))
            file = parse_prompt_file(name, folder.read(path), shown)
        except FrontMatterError as error:
            self._problems.append(str(FileProblem(Path(shown), error.line, str(error))))
        except (OSError, UserError) as error:
            text = getattr(error, "strerror", None) or str(error)
            self._problems.append(str(FileProblem(Path(shown), 0, text)))
        else:
            self._add(file)

    def _add(self, file: PromptFile) -> None:
        name, origin = file.command.name, file.command.origin
        if name not in self._files:
            self._files[name] = file
            return
        nearest = self._files[name].command.origin
        self._problems.append(f"{origin}: not used, /{name} is {nearest}")
