"""The known programs, read from ``programs.txt``, and the programs that no rule covers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from agentchat.core.frozen import frozen
from agentchat.core.shell.flags import Flags, parse_flags

Writes = Literal["", "files", "folders", "moves"]
Reads = Literal["", "files", "folders"]

_ANY = re.compile(".*", re.DOTALL)


INSIDE = r"(?!/|~|-)(?!.*\.\.).*"
"""A relative path without ``..``."""

_CLASS = r"\[\^?(?!\])(?:(?!{end})[^][\\\n]|\[:[a-z]+:\])+\]"
_TEXT = r"(?:(?!{end})[^\n\\[]|\\[^\n]|" + _CLASS + ")*+"
_PATTERN = f"/{_TEXT.format(end='/')}/I?"
_ADDRESS = rf"(?:(?:\d+|\$|{_PATTERN})(?:[,~]\+?(?:\d+|\$|{_PATTERN}))?[\x20\t]*+(?:![\x20\t]*+)?)?"
_CHANGES = "|".join(
    f"s{end}" + 2 * (_TEXT.format(end=end) + end) + r"[gpiI\d]*" for end in ("/", r"\|", *",#:@!")
)
_COMMAND = rf"{_ADDRESS}(?:[pPdDqQ=nNhHgGxl]|y/[^/\\\n]*/[^/\\\n]*/|{_CHANGES})[\x20\t]*+"
SED = rf"[\s;]*+{_COMMAND}(?:[;\n][\s;]*+{_COMMAND})*+[\s;]*+"
"""A script of sed whose commands run nothing, insert no text, and read or write no file.

A class in brackets must not contain the delimiter: implementations of sed differ about it.
"""

_NAMES = "system|getline|close|fflush|ARG[VCI]|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|BINMODE"
_COMPARES = r"(?:(?!\\?print)(?:[^|@`\\]|\\[^\n|@`]|\|\|(?!\|)))*+"
_PRINTS = r"(?:[^|>@`\\]|\\[^\n|>@`]|\|\|(?!\|)|>=(?!>))*+"
AWK = f"(?!.*(?:{_NAMES})){_COMPARES}{_PRINTS}"
"""A program of awk without a pipe, a redirection or an indirect call.

These need one of the excluded characters; ``>`` names a file only after a print. A name of the
list may follow a number directly.
"""

WRITTEN = r"(?:[^%@\\]|\\n)*(?:%\{(?!output)\w+\}(?:[^%@\\]|\\n)*)*"
"""A format for the output of curl without a variable that names a file."""

OUTPUT = "=?(?:wide|yaml|json|name|jsonpath=.*|custom-columns=.*)"
"""Output formats of kubectl."""

ADDRESS = r"(?!.*(?:::|//-)).*"
"""A git repository, but not an address that names a program to reach it."""

URL = r"(?i:https?://.*|[\w.-]+(?::\d+)?(?:/[^{\[]*)?)"
"""An address of the web; curl guesses other protocols from names and expands braces."""

DEFINED = (
    r"(?:CMAKE_BUILD_TYPE|CMAKE_CXX_STANDARD|CMAKE_C_STANDARD)(?::STRING)?=\w+"
    r"|[A-Z]\w*(?::BOOL)?=(?:ON|OFF|TRUE|FALSE|YES|NO|[01])"
)
"""A definition of a CMake variable that names no program."""

_PATTERNS = {
    "SED": SED,
    "AWK": AWK,
    "INSIDE": INSIDE,
    "WRITTEN": WRITTEN,
    "DEFINED": DEFINED,
    "ADDRESS": ADDRESS,
    "URL": URL,
}


@frozen
class Program:
    """A program, or one of its commands, with the flags and operands that a rule covers.

    The fields are the traits of the table in ``programs.txt``.
    """

    flags: Flags
    operand: re.Pattern[str] = _ANY
    most: int | None = None
    script: re.Pattern[str] | None = None
    writes: Writes = ""
    reads: Reads = ""
    searches: re.Pattern[str] | None = None
    values: str = ""
    links: re.Pattern[str] | None = None
    needs: re.Pattern[str] | None = None
    least: int = 0
    data: bool = False
    bundled: bool = False

    @property
    def words_decide(self) -> bool:
        """Whether its words alone decide what it does: its input and its files are data."""
        return self.data or bool(self.reads or self.writes)


def find_program(name: str) -> Program | None:
    """Return the entry of a program, or of one of its commands like ``git log``."""
    entry = None if name.isupper() else read_table().get(name)
    return _read_entry(entry) if entry is not None else None


def has_commands(name: str) -> bool:
    """Whether a program has commands, one of which a rule must name."""
    return name in _programs_with_commands()


@lru_cache(1)
def script_program() -> Program:
    """Return the entry for a script of the project."""
    return _read_entry(read_table()["SCRIPT"])


@lru_cache(1)
def _programs_with_commands() -> frozenset[str]:
    names = frozenset(name.split()[0] for name in read_table() if " " in name)
    return names | _MORE_WITH_COMMANDS


@lru_cache(1)
def read_table() -> Mapping[str, str]:
    """Return the entries of the table by name: their traits and flags."""
    lines = Path(__file__).with_name("programs.txt").read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    entries: dict[str, str] = {":": "\n*"}
    for entry in re.split(r"\n(?=\S)", text):
        names, _, known = entry.partition(":")
        for name in names.split(","):
            for words in itertools.product(*(word.split("|") for word in name.split())):
                entries[" ".join(words)] = known
    return entries


_PATTERN_TRAITS = ("operand", "script", "searches", "links", "needs")


@lru_cache(512)
def _read_entry(entry: str) -> Program:
    entry = re.sub(r"<([A-Z]+)>", lambda match: _definition(match[1]), entry)
    traits, _, known = entry.partition("\n")
    fields: dict[str, Any] = {}
    for trait in traits.split():
        name, _, value = trait.partition("=")
        pattern = name in _PATTERN_TRAITS
        fields[name] = re.compile(value, re.DOTALL) if pattern else value or True
    single = bool(fields.pop("single", False))
    for name in {"most", "least"} & fields.keys():
        fields[name] = int(fields[name])
    return Program(parse_flags(known, single), **fields)


def _definition(name: str) -> str:
    """Return the text for a name in angle brackets."""
    return _PATTERNS[name] if name in _PATTERNS else read_table()[name].replace("<OUTPUT>", OUTPUT)


GENERIC = re.compile(
    r"--no-(?!index\b|exclude-standard\b|preserve-root\b)[a-z-]+|--dry-run|--version|--verbose|--quiet|--silent|--colou?r(?:=\w+)?"
)
"""Flags that make no program run or write something."""

_MORE_WITH_COMMANDS = frozenset(
    ("cabal", "composer", "conda", "dnf", "flatpak", "gem", "gh", "opam", "pacman", "podman")
)

RUNS = "it runs what it is given"
_SETTERS = """
alias unalias trap source . eval set shopt unset enable hash read mapfile readarray getopts let
export declare local typeset readonly bind complete compopt compgen umask ulimit exec coproc suspend
logout fc history jobs
"""
_RUNNERS = """
xargs watch parallel entr watchexec flock script expect unbuffer chroot unshare nsenter systemd-run
su runuser pkexec run-parts at batch crontab start-stop-daemon ssh ssh-agent sshpass dtach tmux
screen socat nc ncat netcat telnet ftp sftp scp mail gdb lldb strace ltrace valgrind perf ed ex vi
vim nvim emacs nano view vimdiff sqlite3 psql mysql mongosh redis-cli m4 dc tclsh gnuplot octave fzf
cmd powershell open xdg-open osascript
"""
NEVER: Mapping[str, str] = {
    **dict.fromkeys(_SETTERS.split(), "it changes what later commands mean"),
    **dict.fromkeys(("cd", "pushd", "popd"), "it changes where later commands run"),
    **dict.fromkeys(_RUNNERS.split(), RUNS),
}
"""Programs that no rule covers at all."""

INTERPRETERS = re.compile(
    r"(?:ba|da|k|z|c|tc|fi|mk|a)?sh|rbash|pwsh|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|irb"
    r"|node|nodejs|deno|bun|lua[\d.]*|luajit|php[\d.]*|Rscript|R|julia|guile|racket|sbcl|ghci"
    r"|runghc|scala|groovy|jshell|java|erl|elixir|ocaml|swift"
)
"""Programs that run a script, which a rule must name, too."""

LAUNCHERS = re.compile(
    "npx|bunx|pnpx|uvx|pipx|uv|poetry|pipenv|hatch|bundle|direnv|nix|nix-shell|guix|busybox|toybox"
)
"""Programs that run another program, which a rule must name, and which decides."""

STARTING = frozenset(("-m", "exec", "dlx", "run", "x"))
"""First words of both after which they run another program or module."""

_ACTING = """
awk chgrp chmod chown cp curl dd dlx doas env eval exec git ln mkdir mkfifo mv nc rm rmdir rsync sed
shred ssh sudo tar tee touch truncate unzip wget xargs zip
"""
STARTED = frozenset(_ACTING.split())
"""Programs that a script probably runs if a word names them."""
