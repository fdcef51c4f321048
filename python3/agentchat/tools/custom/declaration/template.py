"""Tools and steps that are a shell command, with values in place of ``{argument}``.

A value is quoted, so that it is one word of the command whatever it contains.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentchat.core.errors import DefinitionError, ToolError
from agentchat.core.frozen import frozen

NAME = re.compile(r"\{(\w+)\}")
SPECIAL = re.compile(r"<<(?!<)|\(\(|`|\$\[|\$'")
"""Here-documents, arithmetic, back-ticks and ``$'…'`` read a quoted word in ways of their own."""

QUOTES = {"": "", "in single quotes": "'", "in double quotes": '"'}

CODE = re.compile(
    r"(?<!grep)(?<!rg)(?<!wc)\s-\w*[ce]\w*\b|\$[({]|\b\w*sh\b"
    r"|\b(?:eval|source|trap|xargs|su|\w*awk|sed|jq|perl|ruby|node|python[\d.]*)\b"
)
"""Programs that may read a text in quotes as code; a value in it would be code, too."""


@frozen
class Template:
    """A command: pieces of shell text, and names of arguments at odd indexes."""

    parts: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments in it."""
        return self.parts[1::2]

    def fill(self, given: Mapping[str, Any]) -> str:
        """Return the command with the values quoted; nothing for ``None``.

        Raises:
            ToolError: a value contains NUL, which a command cannot.
        """
        text = list(self.parts)
        text[1::2] = [quote(given.get(name)) for name in self.names]
        return "".join(text)


def quote(value: Any) -> str:
    """Return a value as one word of the shell, the items of a list as a word each."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(quote(item) for item in value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if "\0" in text:
        raise ToolError("A command cannot hold the character NUL. Nothing was run.")
    return shlex.quote(text)


def parse(text: str, names: tuple[str, ...]) -> Template:
    """Parse a command line with ``names`` in braces.

    Raises:
        DefinitionError: an argument is unknown, or at a place where quoting would not protect it.
    """
    parts, start, quote_mark = [], 0, ""
    for match, state in _braces(text):
        name = match[1]
        if name not in names:
            if state or text[: match.start()].endswith("$"):
                continue  # the shell's own, like ${HOME} or awk's '{print}'
            _refuse_unknown(name, names)
        _refuse_place(text, match, state)
        before = quote_mark + text[start : match.start()]
        quote_mark = QUOTES[state]  # closed before the value, which has its own, then opened again
        parts += [before + quote_mark, name]
        start = match.end()
    return Template((*parts, quote_mark + text[start:]))


def parse_words(words: Iterable[str], names: tuple[str, ...]) -> Template:
    """Parse a program and its arguments with ``names`` in braces.

    Raises:
        DefinitionError: an argument is unknown.
    """
    parts = [""]
    for word in words:
        start = 0
        for match in NAME.finditer(word):
            _refuse_unknown(match[1], names)
            parts[-1] += _literal(word[start : match.start()])
            parts += [match[1], ""]
            start = match.end()
        # An empty word is a word.
        parts[-1] += (_literal(word[start:]) if start else shlex.quote(word)) + " "
    return Template(tuple(parts))


def _literal(text: str) -> str:
    return shlex.quote(text) if text else ""


def _refuse_unknown(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        known = ", ".join(names) or "none"
        raise DefinitionError(f"command: {{{name}}} is no argument; there are: {known}")


def _refuse_place(text: str, match: re.Match[str], state: str) -> None:
    if state not in QUOTES or (state and CODE.search(text)):
        reason = f"is {state}: write it bare, because the value is quoted already"
        raise DefinitionError(f"command: {match[0]} {reason}")
    if text[: match.start()].endswith(("$", "\\")):
        raise DefinitionError(f"command: {match[0]} is behind a $ or a backslash")
    special = SPECIAL.search(text)
    if special is not None:
        raise DefinitionError(f"command: {special[0]} and {match[0]} do not go together")


def _braces(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each name in braces with its place: in quotes, in a comment, or empty."""
    state, index = "", 0
    while index < len(text):
        match = NAME.match(text, index)
        if match is not None:
            yield match, state
            index = match.end()
        else:
            state, index = _next(text, index, state)


def _next(text: str, index: int, state: str) -> tuple[str, int]:
    char, after = text[index], index + 1
    if state == "in a comment":
        return ("" if char == "\n" else state), after
    if char == "\\" and state != "in single quotes":
        # A brace behind it is still a brace.
        return state, after + (text[after : after + 1] != "{")
    if char == "'" and state != "in double quotes":
        return ("" if state else "in single quotes"), after
    if char == '"' and state != "in single quotes":
        return ("" if state else "in double quotes"), after
    if char == "#" and not state and (index == 0 or text[index - 1] in " \t\n;&|("):
        return "in a comment", after
    return state, after
