"""What is known of programs, read from the table; and which programs no table can know."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from agentchat.core.shell import table
from agentchat.core.shell.flags import Flags, flags

Writes = Literal["", "files", "folders"]

_ANY = re.compile(".*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Program:
    """A program, or one of its commands, with what it takes besides the rule's own words.

    The fields are the traits of the table.
    """

    flags: Flags
    operand: re.Pattern[str] = _ANY
    most: int | None = None
    script: re.Pattern[str] | None = None
    writes: Writes = ""
    bundled: bool = False


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a table, under each of their names: the traits and the flags."""
    for name, shared in table.SHARED.items():
        text = text.replace(f"<{name}>", shared)
    for entry in re.split(r"\n(?=\S)", text.strip()):
        names, _, known = entry.partition(":")
        for name in names.split(","):
            for words in itertools.product(*(word.split("|") for word in name.split())):
                yield " ".join(words), known


def _read(entry: str) -> Program:
    traits, _, known = entry.partition("\n")
    fields: dict[str, Any] = {}
    for trait in traits.split():
        name, _, value = trait.partition("=")
        pattern = name in ("operand", "script")
        fields[name] = re.compile(value, re.DOTALL) if pattern else value or True
    single = bool(fields.pop("single", False))
    if "most" in fields:
        fields["most"] = int(fields["most"])
    return Program(flags(known, single), **fields)


_ENTRIES = {**dict(_entries(table.PROGRAMS)), ":": "\n*"}


@lru_cache(512)
def find_program(name: str) -> Program | None:
    """Return what is known of a program, or of one of its commands, as in ``git log``."""
    entry = _ENTRIES.get(name)
    return _read(entry) if entry is not None else None


SCRIPT = _read(table.SCRIPT)
"""A script of the project that a rule names: its operands are its own."""

GENERIC = re.compile(
    r"--no-[a-z-]+|--dry-run|--version|--verbose|--quiet|--silent|--colou?r(?:=\w+)?"
)
"""Flags that no program takes as an order to run or write something."""

SUBCOMMANDS = frozenset(name.split()[0] for name in _ENTRIES if " " in name) | frozenset(
    ("cabal", "composer", "conda", "dnf", "flatpak", "gem", "gh", "opam", "pacman", "podman")
)
"""Programs of many commands: a rule must name which."""

_SETTERS = """
alias unalias trap source . eval set shopt unset enable hash read mapfile readarray getopts let
export declare local typeset readonly bind complete compopt compgen umask ulimit exec coproc suspend
logout fc history jobs
"""
NEVER: Mapping[str, str] = {
    **dict.fromkeys(_SETTERS.split(), "it changes what later commands mean"),
    **dict.fromkeys(("cd", "pushd", "popd"), "it changes where later commands run"),
    **dict.fromkeys(("xargs", "watch"), "it cannot be told what it runs"),
}
"""Programs that no rule covers at all."""

INTERPRETERS = re.compile(
    r"(?:ba|da|k|z|c|tc|fi|mk|a)?sh|rbash|pwsh|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|irb"
    r"|node|nodejs|deno|bun|lua[\d.]*|luajit|php[\d.]*|Rscript|R|julia|guile|racket|sbcl|ghci"
    r"|runghc|scala|groovy|jshell|java|erl|elixir|ocaml|swift"
)
"""Programs that run a script: a rule must name that, not only the program."""

LAUNCHERS = re.compile(
    "npx|bunx|pnpx|uvx|pipx|uv|poetry|pipenv|hatch|bundle|direnv|nix|nix-shell|guix|busybox|toybox"
)
"""Programs that run another program: a rule must name that, and is judged by it."""

STARTING = frozenset(("-m", "exec", "dlx", "run", "x"))
"""First words of both behind which they run another program or module."""

_ACTING = """
awk chgrp chmod chown cp curl dd dlx doas env eval exec git ln mkdir mkfifo mv nc rm rmdir rsync sed
shred ssh sudo tar tee touch truncate unzip wget xargs zip
"""
STARTED = frozenset(_ACTING.split())
"""Programs that a script, given their name, probably runs."""
