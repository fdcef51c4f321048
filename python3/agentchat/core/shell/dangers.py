"""Commands that destroy something, marked for the user who is asked about them.

A mark decides nothing: ``policy.py`` asks about what no rule covers, marked or not. It reads the
parts of the parsed command, so quotes, wrappers like ``sudo`` and lists make no difference, and it
rather marks too much than too little.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from agentchat.core.frozen import frozen
from agentchat.core.shell.covers import base_name
from agentchat.core.shell.parse import Part, Script
from agentchat.core.shell.programs import INTERPRETERS

DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "fetch", "http", "https", "xh"})
DOWNLOADED = "runs downloaded code"
_EVALUATORS = frozenset({"eval", "source", "."})
_SHELLS = re.compile(r"(?:ba|da|k|z|c|tc|fi|a)?sh")
_SCRIPT_FLAG = re.compile("-[a-z]*c[a-z]*")
_SHORTEST = 4
"""Letters from which a shortened option is known, with its dashes."""


@frozen
class Danger:
    """A dangerous part of a command, and why it is one in a few words."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{' '.join(self.source.split())}: {self.reason}"


@frozen
class DangerEntry:
    """A line of the table: ``groups`` of which each must have one alternative among the words."""

    program: re.Pattern[str]
    commands: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    reason: str

    def describes(self, words: Sequence[str]) -> bool:
        """Whether a command with these words, the program first, is one of these."""
        if not self.program.fullmatch(base_name(words[0])):
            return False
        rest = list(words[1:])
        for command in self.commands:
            if command not in rest:
                return False
            rest.remove(command)
        return all(any(_is_among(rest, choice) for choice in group) for group in self.groups)


def find_dangers(script: Script) -> tuple[Danger, ...]:
    """Return the dangerous parts of a command in order, each reason of a part once."""
    found = [*_known_dangers(script.parts), *_downloaded_code(script.parts)]
    return tuple(dict.fromkeys(found))


def _known_dangers(parts: Sequence[Part]) -> Iterator[Danger]:
    for part in parts:
        for texts in (_texts(part), *_given_scripts(part)):
            yield from (
                Danger(part.source, entry.reason)
                for entry in read_dangers()
                if texts and entry.describes(texts)
            )


def _given_scripts(part: Part) -> Iterator[list[str]]:
    """Yield the words of each command in the script of ``sh -c SCRIPT``."""
    texts = part.texts
    if not _SHELLS.fullmatch(base_name(part.program)):
        return
    flag = next((i for i, text in enumerate(texts) if _SCRIPT_FLAG.fullmatch(text)), len(texts))
    for command in re.split(r"[;&|\n]+", "".join(texts[flag + 1 : flag + 2])):
        try:
            yield shlex.split(command)
        except ValueError:
            yield command.split()


def _downloaded_code(parts: Sequence[Part]) -> Iterator[Danger]:
    """Find ``curl … | sh``, ``sh <(curl …)`` and ``eval "$(curl …)"``."""
    loads = [part for part in parts if base_name(part.program) in DOWNLOADERS]
    for part in parts if loads else ():
        name = base_name(part.program)
        runs = INTERPRETERS.fullmatch(name) is not None
        nested = any(load.source != part.source and load.source in part.source for load in loads)
        if nested and (runs or name in _EVALUATORS):
            yield Danger(part.source, DOWNLOADED)
        elif runs and part.has_piped_input:
            yield Danger(f"{base_name(loads[0].program)} … | {part.source}", DOWNLOADED)


def _texts(part: Part) -> list[str]:
    """Return the words of a part, with all alternatives of braces."""
    return [text for word in part.words for text in word.others or (word.text,)]


def _is_among(words: Sequence[str], choice: str) -> bool:
    if len(choice) == 2 and choice[0] == "-" and choice[1].isalpha():
        letter = choice[1]
        return any(re.fullmatch(r"-[A-Za-z0-9]+", word) and letter in word for word in words)
    if choice.startswith("--") and len(choice) > 2:
        names = [word.partition("=")[0] for word in words]
        return any(choice == n or (len(n) >= _SHORTEST and choice.startswith(n)) for n in names)
    return any(re.fullmatch(choice, word) for word in words)


@lru_cache(1)
def read_dangers() -> tuple[DangerEntry, ...]:
    """Return the entries of the table."""
    lines = Path(__file__).with_name("dangers.txt").read_text("utf-8").splitlines()
    return tuple(_entries(line for line in lines if line and not line.startswith("#")))


def _entries(lines: Iterator[str]) -> Iterator[DangerEntry]:
    reason = ""
    for line in lines:
        if not line.startswith(" "):
            reason = line
            continue
        command, *groups = line.strip().split(" & ")
        programs, *commands = command.split()
        for names in itertools.product(*(name.split("|") for name in commands)):
            yield DangerEntry(
                program=re.compile(programs),
                commands=names,
                groups=tuple(tuple(group.split()) for group in groups),
                reason=reason,
            )
