"""The flags of a program that are known to be harmless: a notation for them, and how to read them.

One text lists the flags of a program, with blanks between them:

=============  ===============================================================================
``-abc``       letters without a value, alone or together
``-x:``        a letter whose value is the rest of its word, or the next word
``-x?``        a letter whose value, if there is one, is the rest of its word
``-x=RE``      like ``-x:``, for values that match; ``=!`` matches none
``-#``         a number
``--name``     an option that stands alone or has its value behind ``=``
``--name:``    an option whose value is behind ``=``, or the next word; ``--name=RE`` as above
``~RE``        every word that matches
``*``          every flag: the program has none that runs or writes anything
=============  ===============================================================================

Where a program takes ``-name`` for one option, ``single`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"(-#|--?[^=:?]*)(=!|[:?=]?)(.*)", re.DOTALL)
_ANYTHING = re.compile(".*", re.DOTALL)
_NOTHING = re.compile("(?!)")
_NUMBER = re.compile(r"-\d+")


@dataclass(frozen=True, slots=True)
class Option:
    """One flag of a command, as it was read.

    ``value`` is the word at ``value_index``, or a part of it, and should match ``pattern``;
    ``end`` is the index of the next word. A flag that is not ``known`` may mean anything.
    """

    known: bool
    end: int
    value: str | None = None
    value_index: int = 0
    pattern: re.Pattern[str] = _ANYTHING


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of one program: by name those without a value, with one, and with one attached."""

    alone: frozenset[str] = frozenset()
    valued: Mapping[str, re.Pattern[str]] | None = None
    attached: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = ()
    single: bool = False

    def read(self, words: Sequence[str], at: int) -> Option:
        """Return the flag at ``at``: a word that begins with ``-``."""
        word = words[at]
        if any(pattern.fullmatch(word) for pattern in self.patterns):
            return Option(True, at + 1)
        if word.startswith("--") or self.single or word == "-":
            return self._name(words, at)
        return self._letters(words, at)

    def _name(self, words: Sequence[str], at: int) -> Option:
        name, joined, value = words[at].partition("=")
        if self.single and name.startswith("--") and not self._lists(name):
            name = name[1:]
        if name in self.alone:
            return Option(True, at + 1)
        return self._value(name, words, at, value if joined else None)

    def _lists(self, name: str) -> bool:
        return name in self.alone or name in (self.valued or {})

    def _letters(self, words: Sequence[str], at: int) -> Option:
        word = words[at]
        for index, letter in enumerate(word[1:], 2):
            flag = f"-{letter}"
            if flag in self.attached:
                return Option(True, at + 1)
            if flag not in self.alone:
                return self._value(flag, words, at, word[index:] or None)
        return Option(True, at + 1)

    def _value(self, flag: str, words: Sequence[str], at: int, value: str | None) -> Option:
        """Return a flag with the value in its own word, or the next word as its value."""
        pattern = (self.valued or {}).get(flag)
        if pattern is None:
            return Option(False, at + 1)
        if value is not None:
            return Option(True, at + 1, value, at, pattern)
        if at + 1 == len(words):
            return Option(False, at + 1)
        return Option(True, at + 2, words[at + 1], at + 1, pattern)


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
        one = name.startswith("--") or single or name == "-"
        names = [name] if one else [f"-{letter}" for letter in name[1:]]
        if mark in (":", "=", "=!"):
            pattern = {":": _ANYTHING, "=!": _NOTHING}.get(mark) or re.compile(rest, re.DOTALL)
            valued.update(dict.fromkeys(names, pattern))
        else:
            (attached if mark else alone).update(names)
    return Flags(frozenset(alone), valued, frozenset(attached), tuple(patterns), single)


def _split(token: str) -> tuple[str, str, str]:
    found = _TOKEN.fullmatch(token)
    assert found is not None, token
    return found[1], found[2], found[3]
