"""Whether a script in the arguments of ``sed`` or ``awk`` only reads and prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_CLASS = r"\[\^?(?!\])(?:(?!{end})[^][\\\n]|\[:[a-z]+:\])+\]"
_TEXT = r"(?:(?!{end})[^\n\\[]|\\[^\n]|" + _CLASS + ")*"
_PATTERN = f"/{_TEXT.format(end='/')}/I?"
_ADDRESS = rf"(?:(?:\d+|\$|{_PATTERN})(?:[,~]\+?(?:\d+|\$|{_PATTERN}))?\s*(?:!\s*)?)?"
_CHANGE = r"s(?P<end>[/|,#:@!])" + 2 * (_TEXT.format(end="(?P=end)") + "(?P=end)") + r"[gpiI\d]*"
_SED = re.compile(rf"\s*{_ADDRESS}(?:[pPdDqQ=nNhHgGxl]|y/[^/\\\n]*/[^/\\\n]*/|{_CHANGE})\s*")
"""One command of sed: no other runs something, reads or writes files, or takes text.

A class in brackets holds no end of the pattern: whether that ends it differs between seds.
"""
_SED_FLAGS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended")
_SED_TAKES = re.compile(r"-[nErsuz]*e|--expression")

_AWK = re.compile(r"(?:[^|>@`\\]|\\[^\n|>@`]|\|\|(?!\|)|>=(?!>))*")
"""No pipe, no redirection, no call through a name: those need one of the characters left out."""
_AWK_NAMES = re.compile(
    "system|getline|close|fflush|ARG[VCI]|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|BINMODE"
)
"""Anywhere: a name may follow a number without a blank."""

_AWK_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def sed_problem(words: Sequence[str]) -> str:
    """Return why ``sed`` with these words (its name first) may do more than print, or nothing."""
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if _SED_TAKES.fullmatch(word):
            scripts.append(next(rest, ""))
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif not _SED_FLAGS.fullmatch(word):
            return f"sed: {word} is not sure"
    scripts = scripts or operands[:1]
    if not scripts or not all(map(_only_prints, scripts)):
        return "sed: its script can run commands and write files"
    return ""


def _only_prints(script: str) -> bool:
    at = 0
    while command := _SED.match(script, at):
        at = command.end()
        if at == len(script):
            return True
        if script[at] not in ";\n" and script[at - 1] != "\n":
            return False
        at += script[at] in ";\n"
    return False


def awk_problem(words: Sequence[str]) -> str:
    """Return why ``awk`` with these words (its name first) may do more than print, or nothing."""
    rest = iter(words[1:])
    program = next(_awk_program(rest), None)
    if program is None:
        return "awk: it cannot be told what it runs"
    condition, prints, action = program.partition("print")
    compared = condition.replace(">", " ")  # only behind a print it names a file
    if not _AWK.fullmatch(compared + prints + action) or _AWK_NAMES.search(program):
        return "awk: its program can run commands and write files"
    return ""


def _awk_program(rest: Iterator[str]) -> Iterator[str]:
    """Yield the program that follows the options, if all of those are harmless."""
    for word in rest:
        if word == "-F":
            next(rest, "")
        elif word == "-v":
            if not _AWK_VARIABLE.fullmatch(next(rest, "")):
                return
        elif not word.startswith("-F"):
            if not word.startswith("-"):
                yield word
            return
