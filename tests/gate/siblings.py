"""Relatives of the cases, in tables: a line is a command and, behind ``<-``, what rules allow.

``asks.txt`` holds what no rule for its program covers, ``runs.txt`` ordinary work that one does.
``|`` stands between the first words of two rules, ``⏎`` for a newline.
"""

from __future__ import annotations

from pathlib import Path


def siblings(table: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the commands of a table, each with the first words that rules allow."""
    lines = (Path(__file__).parent / table).read_text().splitlines()
    rows = (line.partition(" <- ") for line in lines)
    return [
        (command.replace("⏎", "\n"), tuple(word.strip() for word in words.split("|")))
        for command, _, words in rows
    ]


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
