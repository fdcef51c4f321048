r"""The body of a slash command: text with places for arguments, commands and files.

``$ARGUMENTS`` is all that the user typed after the name, ``$1`` to ``$9`` are its words. A line
``!command`` or ``!`command``` stands for the command's output, ``@path`` for the file's text. They
are found before arguments are put in: what the user types is no template.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentchat.core.frozen import frozen

_CALL = re.compile(
    r"!`(?P<inline>[^`\n]+)`"
    r"|^[ \t]*!(?P<line>[\w./~$][^\n]*)$"
    r"|(?<![\w@`/.])@(?P<path>[\w$~./][\w$~./-]*)",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"\$(?:ARGUMENTS\b|(?P<number>[1-9])(?!\d))")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_AFTER_A_PATH = ".,;:!?"


@frozen
class CommandPart:
    """A shell command whose output goes here."""

    command: str


@frozen
class FilePart:
    """A file whose text goes here, if it is there; else ``@path`` is plain text."""

    path: str


Part = str | CommandPart | FilePart


def parse_template(body: str) -> tuple[Part, ...]:
    """Return the parts of a body, in order."""
    return tuple(part for part in _iter_parts(body) if part != "")


def fill_template(parts: Sequence[Part], arguments: str) -> tuple[Part, ...]:
    """Put the arguments in; those that no part has a place for go below the text."""
    filled = tuple(_fill(part, arguments) for part in parts)
    if arguments and not any(_ARGUMENT.search(_text(part)) for part in parts):
        return (*filled, f"\n\nArguments: {arguments}")
    return filled


def split_arguments(arguments: str) -> list[str]:
    """Return the words of the arguments: in quotes one word; as they are if a quote is open."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _iter_parts(body: str) -> Iterator[Part]:
    end = 0
    for match in _CALL.finditer(body):
        if match["line"] and len(_FENCE.findall(body, 0, match.start())) % 2:
            continue  # a code block shows such a line
        yield body[end : match.start()]
        if match["path"]:
            path = match["path"].rstrip(_AFTER_A_PATH)
            end = match.start("path") + len(path)
            yield FilePart(path)
        else:
            end = match.end()
            yield CommandPart((match["inline"] or match["line"]).strip())
    yield body[end:]


def _text(part: Part) -> str:
    if isinstance(part, CommandPart):
        return part.command
    return part.path if isinstance(part, FilePart) else part


def _fill(part: Part, arguments: str) -> Part:
    words = split_arguments(arguments)

    def value(match: re.Match[str]) -> str:
        if match["number"] is None:
            return arguments
        index = int(match["number"]) - 1
        return words[index] if index < len(words) else ""

    text = _ARGUMENT.sub(value, _text(part))
    if isinstance(part, CommandPart):
        return replace(part, command=text)
    return replace(part, path=text) if isinstance(part, FilePart) else text
