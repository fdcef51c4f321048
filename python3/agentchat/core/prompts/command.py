"""A slash command: what ``/name arguments`` in the prompt stands for."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Literal

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.prompts.markdown_file import MarkdownFile
from agentchat.core.prompts.template import Part, parse_template

CommandKind = Literal["prompt", "skill", "mcp"]

_TYPED = re.compile(r"/(?P<name>[\w.-]+(?::[\w.-]+)*)(?:\s+(?P<arguments>.*))?\Z", re.DOTALL)
NAME = re.compile(r"[\w.-]+\Z")


@frozen
class SlashCommand:
    """One entry of the list of commands; ``origin`` is the file or the server that it is from."""

    name: str
    kind: CommandKind
    description: str = ""
    argument_hint: str = ""
    origin: str = ""


@frozen
class Expansion:
    """What a command stands for with its arguments.

    ``tools`` are given to the chat; ``model`` answers the turn. Both may be empty.
    """

    parts: tuple[Part, ...]
    origin: str
    tools: tuple[str, ...] = ()
    model: str = ""


@frozen
class TypedCommand:
    """A prompt that begins with a command."""

    name: str
    arguments: str


@frozen
class PromptFile:
    """A Markdown file that is a command: see ``Expansion`` for its last fields."""

    command: SlashCommand
    template: tuple[Part, ...]
    tools: tuple[str, ...] = ()
    model: str = ""


def parse_typed_command(text: str) -> TypedCommand | None:
    """Return the command that a prompt begins with; ``None`` for other text, like a path."""
    match = _TYPED.match(text.rstrip())
    if match is None:
        return None
    return TypedCommand(match["name"], (match["arguments"] or "").strip())


def command_name(relative: PurePath) -> str:
    """Return the name of a command from the path of its file below the folder: ``git:commit``.

    Raises:
        UserError: no such name can be typed.
    """
    names = relative.with_suffix("").parts
    if not all(map(NAME.match, names)):
        name = ":".join(names)
        raise UserError(f'"{name}" is no name of a command: use letters, digits, ".", "-" and "_"')
    return ":".join(names)


def parse_prompt_file(name: str, file: MarkdownFile, origin: str) -> PromptFile:
    """Return the command of a Markdown file."""
    command = SlashCommand(
        name=name,
        kind="prompt",
        description=file.text("description") or _first_line(file),
        argument_hint=file.text("argument-hint"),
        origin=origin,
    )
    tools = tuple(dict.fromkeys(map(_tool_name, file.items("allowed-tools"))))
    return PromptFile(command, parse_template(file.body), tools, file.text("model"))


def _first_line(file: MarkdownFile) -> str:
    return file.body.partition("\n")[0].lstrip("# ")[:100]


def _tool_name(text: str) -> str:
    """Return the tool of an entry like ``Bash(git status:*)``."""
    return text.partition("(")[0].strip()
