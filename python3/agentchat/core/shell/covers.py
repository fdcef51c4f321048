"""Whether a rule of first words covers a whole command: all other words must be known ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from agentchat.core.shell.flags import Option
from agentchat.core.shell.parse import UNKNOWN_PROGRAM, WRAPPERS
from agentchat.core.shell.programs import (
    GENERIC,
    INTERPRETERS,
    LAUNCHERS,
    NEVER,
    RUNS,
    STARTED,
    STARTING,
    Program,
    find_program,
    has_commands,
    script_program,
)

_VERSIONS = (("--version",), ("-version",))
_UNKNOWN = "is not known to be harmless"


@lru_cache(512)
def why_not_covered(words: tuple[str, ...], lead: int, piped: bool = False) -> str:
    """Return why a rule of the first ``lead`` words does not cover them all; empty if it does.

    Args:
        words: the plain words of one simple command; the rule's words are the first ones.
        piped: whether another command writes its input.
    """
    return _check_words(words, lead, piped, script_program() if _is_script(words[0]) else None)


def entry_of(words: Sequence[str]) -> Program | None:
    """Return the entry for the program that does the work of a command, if there is one."""
    name = base_name(words[0])
    if _runs_others(name):
        inner = words[_launcher_length(words) :]
        return entry_of(inner) if inner else None
    return _find_entry(name, words)[0]


def words_decide(words: Sequence[str]) -> bool:
    """Whether the words alone decide what a command does: its input and its files are data.

    All else depends on the directory in which it runs.
    """
    entry = entry_of(words) if not _is_script(words[0]) else None
    return entry is not None and entry.words_decide and not _runs_others(base_name(words[0]))


def takes_any_flag(words: Sequence[str]) -> bool:
    """Whether no flag makes the command run, write or follow something."""
    entry = entry_of(words)
    return entry is not None and entry.writes == "" and entry.flags.read(("-\0",), 0).known


def base_name(program: str) -> str:
    """Return the name of a program without its folder."""
    return program.rpartition("/")[2]


def _check_words(words: Sequence[str], lead: int, piped: bool, script: Program | None) -> str:
    name = base_name(words[0])
    if tuple(words[1:]) in _VERSIONS and NEVER.get(name, RUNS) == RUNS:
        return ""
    if name in NEVER:
        return f"{name}: {NEVER[name]}"
    if _runs_others(name):
        before = _launcher_length(words)
        if lead <= before or words[before].startswith("-"):
            return f"{name}: {RUNS}"
        runs_script = before == 1 and INTERPRETERS.fullmatch(name) is not None
        inner = script_program() if runs_script else None
        return _check_words(words[before:], lead - before, piped and inner is None, inner)
    program, start = _find_entry(name, words)
    program = program or script
    problem = _input_problem(program if script is None else None, words, piped)
    if problem:
        return f"{name}: {problem}"
    if len(words) == lead:
        return ""
    if has_commands(name) and lead < 2 and find_program(name) is None:
        return f"{name}: the rule does not say which of its commands"
    if program is None:
        return f"{name}: {words[max(lead, 1)]} {_UNKNOWN}"
    problem = _CommandCheck(program, words, lead).problem(start)
    return f"{name}: {problem}" if problem else ""


def _input_problem(program: Program | None, words: Sequence[str], piped: bool) -> str:
    """Return why even a command of only the rule's words may do anything."""
    if piped and (program is None or not program.words_decide):
        return f"what it does with its input {_UNKNOWN}"
    if program is None:
        return ""
    if program.needs is not None and not any(map(program.needs.fullmatch, words)):
        return "what it writes is decided by a content or an address"
    return UNKNOWN_PROGRAM if program.script is not None and len(words) == 1 else ""


def _runs_others(name: str) -> bool:
    return any(programs.fullmatch(name) for programs in (INTERPRETERS, LAUNCHERS))


def _launcher_length(words: Sequence[str]) -> int:
    """Return how many words of a launcher come before the program that it runs."""
    return 2 if words[1:2] and words[1] in STARTING else 1


def _is_script(program: str) -> bool:
    """Whether a program is a file of the project."""
    return "/" in program and not program.startswith("/")


def _find_entry(name: str, words: Sequence[str]) -> tuple[Program | None, int]:
    """Return the entry of a program or of its command, and the index of the first other word.

    A program that has entries only for its commands is unknown without a command.
    """
    wrapper = WRAPPERS.get(name)
    if wrapper is not None:
        return wrapper.describing_program(words) or wrapper.program, 1
    base = find_program(name)
    if not has_commands(name):
        return base, 1
    index = 1
    while base is not None and index < len(words) and words[index].startswith("-"):
        index = base.flags.read(words, index).end
    for count in (2, 1):
        command = find_program(" ".join([name, *words[index : index + count]]))
        if command is not None and index + count <= len(words):
            return command, index + count
    return None, index


class _CommandCheck:
    """Checks the words of one command against the known flags and operands of its program."""

    def __init__(self, program: Program, words: Sequence[str], lead: int) -> None:
        self._program = program
        self._words = words
        self._lead = lead
        self._operands = 0
        self._has_script = program.script is None

    def problem(self, index: int) -> str:
        """Return the first word, from ``index`` on, that is not known to be harmless."""
        return next(filter(None, self._problems(index)), "")

    def _problems(self, index: int) -> Iterator[str]:
        base = find_program(base_name(self._words[0]))
        if base is not None and base is not self._program:
            yield from self._options(base, 1, index)
        while index < len(self._words):
            word = self._words[index]
            if word == "--" and not self._program.flags.single:
                yield from map(self._after_dashes, range(index + 1, len(self._words)))
                break
            if word.startswith("-") and word != "-":
                option = self._read(self._program, index)
                yield self._option(index, option)
                index = option.end
            else:
                yield self._operand(index)
                index += 1
        if self._operands < self._program.least:
            yield "what it writes is decided by an address"

    def _options(self, program: Program, index: int, end: int) -> Iterator[str]:
        """Check the options of a program before its command."""
        while index < end and self._words[index].startswith("-"):
            option = self._read(program, index)
            yield self._option(index, option)
            index = option.end

    def _read(self, program: Program, index: int) -> Option:
        option = program.flags.read(self._words, index)
        if not option.known and GENERIC.fullmatch(self._words[index]):
            return Option(True, index + 1)
        return option

    def _option(self, index: int, option: Option) -> str:
        if not option.known or (self._program.most is not None and self._operands):
            return f"{self._words[index]} {_UNKNOWN}"
        if option.pattern == self._program.script:
            self._has_script = True
        if option.value is None or option.value_index < self._lead:
            return ""
        fits = option.pattern.fullmatch(option.value)
        return "" if fits else f"{self._words[index]} {option.value} {_UNKNOWN}"

    def _operand(self, index: int) -> str:
        word = self._words[index]
        self._operands += 1
        if self._program.most is not None and self._operands > self._program.most:
            return f"{word} is a file it writes"
        if index < self._lead:
            self._has_script = True
            return ""
        if not self._has_script and self._program.script is not None:
            self._has_script = True
            return "" if self._program.script.fullmatch(word) else f"{word} {_UNKNOWN}"
        if self._program.bundled and self._operands == 1:
            word = self._unbundled(word)
        fits = self._program.operand.fullmatch(word)
        return "" if fits and not self._names_program(word) else f"{word} {_UNKNOWN}"

    def _unbundled(self, word: str) -> str:
        """Return a word of flags without ``-``; one with an unknown letter matches no operand."""
        if self._words[1] != word:
            return word
        known = [self._program.flags.read((f"-{letter}", ""), 0).known for letter in word]
        return "" if all(known) else ":"

    def _names_program(self, word: str) -> bool:
        """Whether a script with this word probably runs another program."""
        first = base_name((word.split() or [""])[0])
        return self._program is script_program() and (
            first in STARTED or first in WRAPPERS or _runs_others(first)
        )

    def _after_dashes(self, index: int) -> str:
        """Check a word after ``--``: an operand, which some programs still read as a flag."""
        problem = ""
        if self._words[index].startswith("-"):
            problem = self._option(index, self._read(self._program, index))
        return problem or self._operand(index)
