"""The harmless flags of a program: a notation for them, and how to read them.

A text lists the flags of a program, separated by blanks:

=============  ===============================================================================
``-abc``       letters without a value, alone or together
``-x:``        a letter whose value is the rest of its word, or the next word
``-x?``        a letter whose optional value is the rest of its word
``-x=RE``      like ``-x:``, for values that match; ``=!`` matches none
``-#``         a number
``--name``     an option without a value, or with a value after ``=``
``--name:``    an option whose value is after ``=``, or the next word; ``--name=RE`` as above
``~RE``        every word that matches
``*``          every flag: the program has none that runs or writes something
=============  ===============================================================================

``single`` means that the program takes ``-name`` as one option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agentchat.core.frozen import frozen

_TOKEN = re.compile(r"(-#|--?[^=:?]*)(=!|[:?=]?)(.*)", re.DOTALL)
_ANYTHING = re.compile(".*", re.DOTALL)
_NOTHING = re.compile("(?!)")
_NUMBER = re.compile(r"-\d+")


@frozen
class Option:
    """One flag of a command.

    ``value`` is the word at ``value_index``, or a part of it, and should match ``pattern``;
    ``end`` is the index of the next word. A flag that is not ``known`` may mean anything.
    """

    known: bool
    end: int
    value: str | None = None
    value_index: int = 0
    pattern: re.Pattern[str] = _ANYTHING


@frozen
class Flags:
    """The flags of one program by name: without a value, with a value, with an attached value."""

    alone: frozenset[str] = frozenset()
    valued: Mapping[str, re.Pattern[str]] | None = None
    attached: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = ()
    single: bool = False

    def read(self, words: Sequence[str], index: int) -> Option:
        """Return the flag in the word at ``index``, which begins with ``-``."""
        word = words[index]
        if any(pattern.fullmatch(word) for pattern in self.patterns):
            return Option(True, index + 1)
        if word.startswith("--") or self.single or word == "-":
            return self._read_name(words, index)
        return self._read_letters(words, index)

    def _read_name(self, words: Sequence[str], index: int) -> Option:
        name, joined, value = words[index].partition("=")
        if self.single and name.startswith("--") and not self._has_name(name):
            name = name[1:]
        if name in self.alone:
            return Option(True, index + 1)
        return self._read_value(name, words, index, value if joined else None)

    def _has_name(self, name: str) -> bool:
        return name in self.alone or name in (self.valued or {})

    def _read_letters(self, words: Sequence[str], index: int) -> Option:
        word = words[index]
        for rest, letter in enumerate(word[1:], 2):
            flag = f"-{letter}"
            if flag in self.attached:
                return Option(True, index + 1)
            if flag not in self.alone:
                return self._read_value(flag, words, index, word[rest:] or None)
        return Option(True, index + 1)

    def _read_value(self, flag: str, words: Sequence[str], index: int, value: str | None) -> Option:
        """Return a flag with the value in its own word, or the next word as its value."""
        pattern = (self.valued or {}).get(flag)
        if pattern is None:
            return Option(False, index + 1)
        if value is not None:
            return Option(
                known=True, end=index + 1, value=value, value_index=index, pattern=pattern
            )
        if index + 1 == len(words):
            return Option(False, index + 1)
        value = words[index + 1]
        return Option(
            known=True, end=index + 2, value=value, value_index=index + 1, pattern=pattern
        )


def parse_flags(text: str, single: bool = False) -> Flags:
    """Return the flags that a text in the notation lists."""
    alone, attached, patterns = set[str](), set[str](), list[re.Pattern[str]]()
    valued: dict[str, re.Pattern[str]] = {}
    for token in text.split():
        if token in ("*", "-#") or token.startswith("~"):
            known = {"*": _ANYTHING, "-#": _NUMBER}
            patterns.append(known.get(token) or re.compile(token[1:]))
            continue
        name, mark, rest = _split(token)
        is_name = name.startswith("--") or single or name == "-"
        names = [name] if is_name else [f"-{letter}" for letter in name[1:]]
        if mark in (":", "=", "=!"):
            pattern = {":": _ANYTHING, "=!": _NOTHING}.get(mark) or re.compile(rest, re.DOTALL)
            valued.update(dict.fromkeys(names, pattern))
        else:
            (attached if mark else alone).update(names)
    return Flags(frozenset(alone), valued, frozenset(attached), tuple(patterns), single)


def _split(token: str) -> tuple[str, str, str]:
    match = _TOKEN.fullmatch(token)
    assert match is not None, token
    return match[1], match[2], match[3]
