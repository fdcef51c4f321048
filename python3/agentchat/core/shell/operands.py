"""What the words of a command may name on disk, and how its program uses that.

Whoever has the disk looks it up: ``workspace/survey.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from agentchat.core.frozen import frozen
from agentchat.core.shell.covers import (
    base_name,
    entry_of,
    takes_any_flag,
    why_not_covered,
    words_decide,
)
from agentchat.core.shell.parse import LocatedOperand, Part
from agentchat.core.shell.programs import Program, has_commands

Use = Literal["reads", "writes", "other"]

_JOINTS = frozenset("=:@,")
_LETTERS = 40
"""Letters of a flag after which a path is looked for; in a longer flag it is not found."""

_SHOWS_HIDDEN = re.compile(r"-[^-]*[u.].*|--(?:hid|no-ig|unr).*")
_PATTERNS = re.compile(r"-[^-]*[ef].*|--(?:regexp|file)(?:=.*)?")
"""Flags with the pattern of a search."""

_SKIP_HIDDEN = ("rg", "ag")
_PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*")
_MOVING = ("cd", "pushd", "popd")


@frozen
class Operand:
    """What may be a path in the word at ``index``; ``whole``: with all that is in a folder.

    ``hidden``: hidden files in the folder, too. ``is_word``: it is all of a word that is no flag.
    """

    index: int
    path: str
    use: Use
    whole: bool = False
    hidden: bool = True
    is_word: bool = False


@frozen
class CommandWords:
    """One simple command, as far as its words tell what it does.

    ``program`` is its first word. If its words ``decide``, files and input are only data for it; if
    they are all that decides, it ``is_fixed``. It ``moves`` its operands to the last one, ``links``
    if it may make links; ``imports`` is the module that Python runs with the directory first on its
    path; ``vague`` is why files that it does not name may decide, too.
    """

    program: str
    operands: tuple[Operand, ...] = ()
    decide: bool = False
    is_fixed: bool = False
    moves: bool = False
    links: bool = False
    imports: str = ""
    vague: str = ""


@frozen
class CommandSurvey:
    """What a command names on disk.

    ``operands`` are those of each simple command. ``fingerprints`` has a line for each file that
    decides what the command does; ``unfixed`` is why there may be other ones.
    """

    operands: tuple[tuple[LocatedOperand, ...], ...] = ()
    fingerprints: tuple[str, ...] = ()
    unfixed: str = ""


def describe_command(part: Part) -> CommandWords:
    """Return what the words of a part tell about it; there is at least one."""
    words, program = part.texts, entry_of(part.texts)
    return CommandWords(
        program=words[0],
        operands=tuple(dict.fromkeys(_find_operands(part, program))),
        decide=words_decide(words),
        is_fixed=_is_fixed(part),
        moves=program is not None and program.writes == "moves",
        links=_fits_any(program.links, words) if program else False,
        imports=words[2]
        if _PYTHON.fullmatch(base_name(words[0])) and words[1:2] == ("-m",) and len(words) > 2
        else "",
        vague=_why_vague(part),
    )


def _is_fixed(part: Part) -> bool:
    """Whether a command does the same whatever is in the files that it names."""
    if not words_decide(part.texts):
        return False
    if takes_any_flag(part.texts):
        return True
    lead = 2 if has_commands(base_name(part.texts[0])) else 1
    return not part.obscure and not why_not_covered(part.texts, lead, part.has_piped_input)


def _why_vague(part: Part) -> str:
    if base_name(part.texts[0]) in _MOVING:
        return f"{part.texts[0]} changes the directory"
    if part.obscure and not _is_fixed(part):
        return "its words are not exact"
    return "it names a module" if "-m" in part.texts and not _is_fixed(part) else ""


def _find_operands(part: Part, program: Program | None) -> Iterator[Operand]:
    """Yield all that may be a path in a command, as ``program`` uses it."""
    words, use = part.texts, _use(program)
    whole = program is not None and (
        program.reads == "folders" or program.writes in ("folders", "moves")
    )
    name = base_name(words[0])
    hidden = name not in _SKIP_HIDDEN or any(map(_SHOWS_HIDDEN.fullmatch, words))
    last = _last_operand(words) if program and program.writes == "moves" else 0
    for index, word in enumerate(words[1:], 1):
        for path in candidate_paths(word):
            is_word = path == word and not word.startswith("-")
            yield Operand(index, path, use, whole and index != last, hidden, is_word)
    for text in (other for word in part.words for other in word.others):
        for path in candidate_paths(text):
            yield Operand(0, path, use, whole)
    for path in part.writes:
        yield Operand(0, path, "writes")
    if _searches(part, program):
        yield Operand(0, ".", use, whole=True, hidden=hidden)


def candidate_paths(word: str) -> Iterator[str]:
    """Yield what may be a path in a word: all of it, or the value of an option."""
    yield word
    if word.startswith("-") and not word.startswith("--"):
        yield from (word[index:] for index in range(2, min(len(word), _LETTERS)))
    if not _JOINTS.isdisjoint(word) and "://" not in word:
        yield from (part for part in re.split("[=:@,]", word)[1:] if part)


def _use(program: Program | None) -> Use:
    if program is None:
        return "other"
    return "writes" if program.writes else "reads" if program.reads else "other"


def _last_operand(words: Sequence[str]) -> int:
    indexes = [index for index, word in enumerate(words) if index and not word.startswith("-")]
    return indexes[-1] if indexes else 0


def _searches(part: Part, program: Program | None) -> bool:
    """Whether it is a search without a path, of the folder that it runs in."""
    if program is None or program.searches is None or _names_paths(part.texts, program):
        return False
    # Without a flag that says so, a search in a pipe reads its input.
    reads_input = part.has_piped_input and program.searches.fullmatch("") is not None
    return not reads_input and _fits_any(program.searches, part.texts)


def _fits_any(pattern: re.Pattern[str] | None, words: Sequence[str]) -> bool:
    return pattern is not None and any(map(pattern.fullmatch, words))


def _names_paths(words: Sequence[str], program: Program) -> bool:
    """Whether a search has an operand beside its pattern; in doubt not."""
    operands, is_value, has_pattern = 0, False, False
    for word in words[1:]:
        if word.startswith("-") and word != "-" and not is_value:
            is_value = word[-1] in program.values if word[1] != "-" else "=" not in word
            has_pattern = has_pattern or bool(_PATTERNS.fullmatch(word))
        else:
            operands += not is_value
            is_value = False
    return operands > (0 if has_pattern else 1)
