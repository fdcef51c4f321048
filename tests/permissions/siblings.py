"""Relatives of the cases, in tables: a line is a command and, behind an arrow, what rules allow.

``asks.txt`` holds what no rule for its program covers, ``runs.txt`` ordinary work that one does.
``|`` stands between the first words of two rules, ``⏎`` for a newline. In ``asks.txt`` a command
before ``<-`` makes the marker when it is run; before ``<~`` it is only judged, for its effect is
another one, or needs a network, a terminal or what a throw-away repository does not have.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """One line of a table."""

    command: str
    allowed: tuple[str, ...]
    proven: bool

    @property
    def program(self) -> str:
        """The program that must be there for the command to do what it does."""
        found = re.match(r"[A-Za-z][\w.+-]*(?=\s|$)", self.command)
        return found[0] if found else ""


def siblings(table: str) -> list[Row]:
    """Return the rows of a table."""
    lines = (Path(__file__).parent / table).read_text().splitlines()
    return [_row(line) for line in lines]


def _row(line: str) -> Row:
    command, arrow, words = re.split(r" (<[-~]) ", line)
    allowed = tuple(word.strip() for word in words.split("|"))
    return Row(command.replace("⏎", "\n"), allowed, arrow == "<-")


STARTERS = """
at bash batch capsh chroot chrt crontab csh dash dc doas ed emacs entr ex exec expect fish flock
fzf gdb gnuplot hyperfine ionice ksh ldd ltrace lua m4 mail mysql nano nc nice node nohup npx
numactl octave open parallel perf perl php pkexec powershell prlimit psql pwsh python python3
python3.11 ruby runuser screen script setarch setpriv setsid sg sh socat sqlite3 ssh sshpass
start-stop-daemon stdbuf strace su sudo sudoedit systemd-run taskset tclsh telnet timeout tmux
unbuffer unshare uv uvx valgrind vi view vim vimdiff watch watchexec xargs xdg-open xvfb-run zsh
busybox toybox env command builtin
"""
"""Programs that run what their operands say."""
