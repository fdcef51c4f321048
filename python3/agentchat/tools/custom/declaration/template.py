"""Tools and steps that are a shell command, with values in place of ``{argument}``.

A value is quoted, so that it is one word of the command whatever it contains. It is never an
option: one that begins with ``-`` is refused where it begins a word, unless ``--`` is before it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentchat.core.errors import DefinitionError, ToolError
from agentchat.core.frozen import frozen
from agentchat.core.text import clip

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
            ToolError: a value contains NUL, which a command cannot, or would be an option.
        """
        text = list(self.parts)
        for index in range(1, len(text), 2):
            value = given.get(text[index])
            if not _ends_options(self.parts[:index:2]):
                _refuse_option(text[index], _words(value, "".join(text[:index])))
            text[index] = quote(value)
        return "".join(text)


_END_OF_OPTIONS = re.compile(r"\s--\s[^;&|\n]*\Z")
"""A ``--`` in the same simple command."""


def _begins_word(command: str) -> bool:
    """Whether a new word begins after a command; quotes around nothing are no part of one."""
    before = command.rstrip("'\"")
    return not before or before[-1] in " \t\n;&|()<>"


def _ends_options(parts: Iterable[str]) -> bool:
    """Whether these pieces of a command end in operands: ``--`` is before them, not in quotes."""
    text = "".join(parts)
    found = _END_OF_OPTIONS.search(text)
    before = text[: found.start()] if found is not None else ""
    return found is not None and not before.count("'") % 2 and not before.count('"') % 2


def _words(value: Any, before: str) -> Sequence[Any]:
    """Return what of a value begins a word, behind a part of the command."""
    items = value if isinstance(value, (list, tuple)) else (value,)
    return items if _begins_word(before) else items[1:]


def _refuse_option(name: str, words: Sequence[Any]) -> None:
    """Raise ToolError for a value that a program would read as an option."""
    for each in words:
        text = each if isinstance(each, str) else json.dumps(each, default=str)
        if text.startswith("-"):
            reason = f"the command would read {clip(text)} as an option"
            raise ToolError(f"{name} must not begin with '-': {reason}. Nothing was run.")


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
