"""Whether a rule of first words covers a whole command: what it may do besides is on a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from agentchat.core.shell.flags import Option
from agentchat.core.shell.parse import WRAPPERS
from agentchat.core.shell.programs import (
    GENERIC,
    INTERPRETERS,
    LAUNCHERS,
    NEVER,
    RUNS,
    STARTED,
    STARTING,
    Program,
    Writes,
    find_program,
    has_commands,
    script_program,
)

_VERSIONS = (("--version",), ("-version",))
_UNKNOWN = "is not known to be harmless"


@lru_cache(512)
def why_not_covered(words: tuple[str, ...], lead: int, fed: bool = False) -> str:
    """Return why a rule of the first ``lead`` words does not cover all of them, or nothing.

    Args:
        words: the plain words of one simple command; the rule's are its beginning.
        fed: whether another command writes its input.
    """
    return _uncovered(words, lead, fed, script_program() if _is_script(words[0]) else None)


def write_kind(words: Sequence[str]) -> Writes:
    """Return what the operands of a command name that it changes."""
    name = base_name(words[0])
    if _runs_others(name):
        inner = words[_before(words) :]
        return write_kind(inner) if inner else ""
    program, _ = _find(name, words)
    return program.writes if program is not None else ""


def base_name(program: str) -> str:
    """Return the name of a program without its folder."""
    return program.rpartition("/")[2]


def _uncovered(words: Sequence[str], lead: int, fed: bool, script: Program | None) -> str:
    name = base_name(words[0])
    if tuple(words[1:]) in _VERSIONS and NEVER.get(name, RUNS) == RUNS:
        return ""
    if name in NEVER:
        return f"{name}: {NEVER[name]}"
    if _runs_others(name):
        before = _before(words)
        if lead <= before or words[before].startswith("-"):
            return f"{name}: {RUNS}"
        runs_script = before == 1 and INTERPRETERS.fullmatch(name) is not None
        inner = script_program() if runs_script else None
        return _uncovered(words[before:], lead - before, fed and inner is None, inner)
    program, at = _find(name, words)
    program = program or script
    if len(words) == lead:
        return _unsure(name, words, program, fed)
    if has_commands(name) and lead < 2 and find_program(name) is None:
        return f"{name}: the rule does not say which of its commands"
    if program is None:
        return f"{name}: {words[max(lead, 1)]} {_UNKNOWN}"
    problem = _Reading(program, words, lead).problem(at)
    return f"{name}: {problem}" if problem else ""


def _unsure(name: str, words: Sequence[str], program: Program | None, fed: bool) -> str:
    """Return why even the very words of a rule may do anything: they come from elsewhere."""
    if program is None and fed:
        return f"{name}: what it does with its input {_UNKNOWN}"
    if program is not None and program.script is not None and len(words) == 1:
        return f"{name}: it cannot be told what it runs"
    return ""


def _runs_others(name: str) -> bool:
    return any(programs.fullmatch(name) for programs in (INTERPRETERS, LAUNCHERS))


def _before(words: Sequence[str]) -> int:
    """Return how many words of an interpreter stand before what it runs."""
    return 2 if words[1:2] and words[1] in STARTING else 1


def _is_script(program: str) -> bool:
    """Whether a program is a file of the project."""
    return "/" in program and not program.startswith("/")


def _find(name: str, words: Sequence[str]) -> tuple[Program | None, int]:
    """Return what is known of a program, or of the command it is told, and where its words begin.

    A program that is known only by its commands is not known without one of them.
    """
    wrapper = WRAPPERS.get(name)
    if wrapper is not None:
        return wrapper.describing_program(words) or wrapper.program, 1
    base = find_program(name)
    if not has_commands(name):
        return base, 1
    at = 1
    while base is not None and at < len(words) and words[at].startswith("-"):
        at = base.flags.read(words, at).end
    for count in (2, 1):
        command = find_program(" ".join([name, *words[at : at + count]]))
        if command is not None and at + count <= len(words):
            return command, at + count
    return None, at


class _Reading:
    """Reads the words of one command against what is known of its program."""

    def __init__(self, program: Program, words: Sequence[str], lead: int) -> None:
        self._program = program
        self._words = words
        self._lead = lead
        self._operands = 0
        self._has_script = program.script is None

    def problem(self, at: int) -> str:
        """Return the first thing that is not known to be harmless; ``at`` is where to begin."""
        return next(filter(None, self._problems(at)), "")

    def _problems(self, at: int) -> Iterator[str]:
        base = find_program(base_name(self._words[0]))
        if base is not None and base is not self._program:
            yield from self._options(base, 1, at)
        while at < len(self._words):
            word = self._words[at]
            if word == "--" and not self._program.flags.single:
                yield from map(self._behind, range(at + 1, len(self._words)))
                return
            if word.startswith("-") and word != "-":
                option = self._read(self._program, at)
                yield self._option(at, option)
                at = option.end
            else:
                yield self._operand(at)
                at += 1

    def _options(self, program: Program, at: int, end: int) -> Iterator[str]:
        """Judge the options of a program that stand before its command."""
        while at < end and self._words[at].startswith("-"):
            option = self._read(program, at)
            yield self._option(at, option)
            at = option.end

    def _read(self, program: Program, at: int) -> Option:
        option = program.flags.read(self._words, at)
        if not option.known and GENERIC.fullmatch(self._words[at]):
            return Option(True, at + 1)
        return option

    def _option(self, at: int, option: Option) -> str:
        if not option.known or (self._program.most is not None and self._operands):
            return f"{self._words[at]} {_UNKNOWN}"
        if option.pattern == self._program.script:
            self._has_script = True
        if option.value is None or option.value_index < self._lead:
            return ""
        fits = option.pattern.fullmatch(option.value)
        return "" if fits else f"{self._words[at]} {option.value} {_UNKNOWN}"

    def _operand(self, at: int) -> str:
        word = self._words[at]
        self._operands += 1
        if self._program.most is not None and self._operands > self._program.most:
            return f"{word} is a file it writes"
        if at < self._lead:
            self._has_script = True
            return ""
        if not self._has_script and self._program.script is not None:
            self._has_script = True
            return "" if self._program.script.fullmatch(word) else f"{word} {_UNKNOWN}"
        if self._program.bundled and self._operands == 1:
            word = self._unbundled(word)
        fits = self._program.operand.fullmatch(word)
        return "" if fits and not self._starts(word) else f"{word} {_UNKNOWN}"

    def _unbundled(self, word: str) -> str:
        """Return a word of flags without ``-``; one with another letter fits no operand."""
        if self._words[1] != word:
            return word
        known = [self._program.flags.read((f"-{letter}", ""), 0).known for letter in word]
        return "" if all(known) else ":"

    def _starts(self, word: str) -> bool:
        """Whether a script, given this word, probably runs another program."""
        first = base_name((word.split() or [""])[0])
        return self._program is script_program() and (
            first in STARTED or first in WRAPPERS or _runs_others(first)
        )

    def _behind(self, at: int) -> str:
        """Judge a word behind ``--``: an operand, which may be read as a flag all the same."""
        problem = ""
        if self._words[at].startswith("-"):
            problem = self._option(at, self._read(self._program, at))
        return problem or self._operand(at)
