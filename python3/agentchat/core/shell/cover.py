"""Whether a rule of first words covers a whole command, or its flags make it something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
from agentchat.core.shell.ordinary import without_ordinary
from agentchat.core.shell.programs import (
    AWKS,
    DEEP,
    GIT_COMMANDS,
    GIT_LETTERS,
    GIT_READS,
    GIT_RUNNERS,
    GIT_WHERE,
    GIT_WRITERS,
    INTERPRETERS,
    MEANS,
    NEVER,
    PROGRAMS,
    RUNNING,
    RUNS,
    SCRIPTS,
    STARTED,
    STARTING,
    SUBCOMMANDS,
    TASKS,
    WRITERS,
    WRITES,
    Program,
)
from agentchat.core.shell.scripts import awk_problem, sed_problem

_LOOKS_LIKE = re.compile(
    r"exec|command|cmd|run|shell|script|eval|prog|out|write|save|file|dump|delete|remove|editor"
    r"|pager|browser|hook|plugin|module|filter|config|rc$|load|require|import|init|log|trace"
    r"|profile|prefix|path|dir|fix|in-?place|open|tool|agent|proxy|set|define|patch|install"
    r"|option|preview|bind|clear|vacuum|rotate|flush|purge|wipe|erase|truncate|move|rename|upload",
    re.IGNORECASE,
)
_JOINTS = frozenset("=:@,")
_DOUBTFUL_LETTERS = frozenset("oOeEcCxXwWiIfFSKDT")


@lru_cache(512)
def uncovered(words: tuple[str, ...], lead: int) -> str:
    """Return why a rule of the first ``lead`` words does not cover all of them, or nothing.

    Args:
        words: the plain words of one simple command; the rule's are its beginning.
    """
    name = words[0].rpartition("/")[2]
    if words[1:] in (("--version",), ("-version",)) and NEVER.get(name, RUNS) == RUNS:
        return ""
    if name in NEVER:
        return f"{name}: {NEVER[name]}"
    if INTERPRETERS.fullmatch(name):
        return _interpreter(name, words, lead)
    if name in AWKS:
        return awk_problem(words) or _sensitive(name, words[lead:])
    if len(words) == lead:
        return ""
    return _sensitive(name, words[lead:]) or _work(name, words, lead)


def _interpreter(name: str, words: tuple[str, ...], lead: int) -> str:
    """Judge what an interpreter runs, if the rule says what that is: a script or a module."""
    named = words[1:lead]
    if named and named[0] in ("-V", "--version") and len(words) == lead:
        return ""
    if name in TASKS and len(words) == lead > 1:
        return ""
    before = 2 if named and named[0] in ("-m", *STARTING) else 1
    if lead <= before or words[before].startswith("-"):
        return f"{name}: it runs what it is given"
    return uncovered(words[before:], lead - before)


def _work(name: str, words: Sequence[str], lead: int) -> str:
    if name == "sed":
        return sed_problem(words)
    if name == "git":
        return _git(words, lead)
    if name == "tar" and lead == 1 and not words[1].startswith("-"):
        words = (words[0], f"-{words[1]}", *words[2:])
    if name in SUBCOMMANDS and not _names_command(name, words, lead):
        return f"{name}: the rule does not say which of its commands"
    return _flagged(name, PROGRAMS.get(name), words, lead)


def _sensitive(name: str, words: Sequence[str]) -> str:
    """Return which word names a file that always asks, if one does."""
    for word in words:
        paths = list(_paths(word))
        if any(is_secret(path.split("/")) for path in paths):
            return f"{name}: {word} may hold secrets"
        if name in WRITERS and any(_guarded(path, name in DEEP) for path in paths):
            return f"{name}: {word} is protected or outside"
    return ""


def _paths(word: str) -> Iterator[str]:
    """Yield what could be a path in a word, alone or behind the letter or name of an option."""
    yield word.rstrip("/") or "/"
    if word.startswith("-") and not word.startswith("--") and len(word) > 2:
        yield word[2:].rstrip("/")
    if not _JOINTS.isdisjoint(word) and "://" not in word:
        yield from (part.rstrip("/") for part in re.split("[=:@,]", word)[1:] if part)


def _guarded(path: str, deep: bool) -> bool:
    parts = [part for part in path.split("/") if part and part != "."]
    return path.startswith("/") or ".." in parts or is_protected(parts) or (deep and not parts)


def _names_command(name: str, words: Sequence[str], lead: int) -> bool:
    if lead < 2 or words[1].startswith("-"):
        return False
    if words[1] in RUNNING and not (words[1] == "run" and name in SCRIPTS):
        return lead > 2
    return True


def _git(words: Sequence[str], lead: int) -> str:
    git = PROGRAMS["git"]
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if at >= lead and words[at] not in ("--no-pager", "--version", "--no-optional-locks"):
            return f"git: {words[at]} {RUNS}"
        at += 1
    if at + 1 >= len(words) and lead > at:
        return ""
    command = words[at] if at < len(words) else ""
    if lead <= at < len(words) and command not in GIT_COMMANDS:
        return f"git: {command} may be an alias or run another program"
    if command in GIT_RUNNERS and (command != "config" or not _reads(words[at + 1 :])):
        return f"git: {command} can run another program"
    if command in GIT_WRITERS:
        why = _writes_outside(command, words[at + 1 :])
        if why:
            return why
    short = GIT_LETTERS.get(command, "O")
    letters = {letter: why for letter, why in git.letters.items() if letter in short}
    known = Program(letters, git.options, git.words)
    return _flagged("git", known, words, max(lead, at + 1))


def _reads(words: Sequence[str]) -> bool:
    """Whether ``git config`` only tells what is set."""
    if len(words) == 1 and re.fullmatch(r"\w[\w-]*(?:\.[\w-]+)+", words[0]):
        return True
    flags = [word for word in words[1:] if word.startswith("-")]
    return words[:1] != () and words[0] in GIT_READS and GIT_WHERE.issuperset(flags)


def _writes_outside(command: str, words: Sequence[str]) -> str:
    if command == "bundle" and "create" in words:
        return f"git: bundle create {WRITES}"
    outside = next((word for word in words if any(_guarded(p, False) for p in _paths(word))), "")
    return f"git: {outside} is protected or outside" if outside else ""


def _flagged(name: str, program: Program | None, words: Sequence[str], lead: int) -> str:
    """Return what the words behind the rule's own do that it does not cover."""
    operands = [word for word in words[1:lead] if not word.startswith("-")]
    for word in without_ordinary(words, lead):
        if program is None:
            why = _doubtful(word) or ("" if name in SUBCOMMANDS else _started(word))
        else:
            why = _option(program, word) if word.startswith("-") else _operand(program, word)
        if why:
            return f"{name}: {word} {why}"
        if not word.startswith("-"):
            operands.append(word)
    if program is not None and program.operands is not None and len(operands) > program.operands:
        return f"{name}: {operands[program.operands]} is a file it writes"
    return ""


def _option(program: Program, word: str) -> str:
    given = word.split("=", 1)[0]
    for option, why in program.options.items():
        for spelled in (given, given[1:] if given.startswith("--") else given):
            if spelled.startswith(option) or (len(spelled) > 2 and option.startswith(spelled)):
                return why
    if word.startswith("--"):
        return ""
    letters = word[1:] if program.clusters else word[1:2]
    return next((why for letter, why in program.letters.items() if letter in letters), "")


def _operand(program: Program, word: str) -> str:
    if "=" in program.words and re.match(r"[^/=]+=", word):
        return MEANS
    return next((why for start, why in program.words.items() if word.startswith(start)), "")


def _started(word: str) -> str:
    """Return why an unknown program may run what this word begins with."""
    first = word.split(None, 1)[0].rpartition("/")[2] if word.strip() else ""
    runs = first in STARTED or bool(INTERPRETERS.fullmatch(first))
    return "may be run by it" if runs else ""


def _doubtful(word: str) -> str:
    """Return why a word could make an unknown program run or write something else."""
    if word.startswith("+"):
        return "may run another command"
    if not word.startswith("-") or word == "-":
        return "" if not re.match(r"[A-Za-z_]+=", word) else "may change what it does"
    if word.startswith("--"):
        return "may run or write something else" if _LOOKS_LIKE.search(word) else ""
    doubt = not _DOUBTFUL_LETTERS.isdisjoint(word[1:])
    return "may run or write something else" if doubt else ""
