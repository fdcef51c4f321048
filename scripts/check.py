"""Check the checkout: `python -m scripts.check`, or `--fix` to rewrite formats instead.

Every check runs even after one failed. A check whose tool is not available is skipped;
the summary says so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scripts import nvim, tools

ROOT = nvim.ROOT
BIN = ROOT / ".venv" / "bin"
LUA_FOLDERS = ["lua", "plugin", "ftplugin", "demo", "scripts", "tests", "bench"]


@dataclass(frozen=True)
class Outcome:
    """How one check ended; `reason` says why it was skipped."""

    state: Literal["ok", "FAILED", "SKIPPED"]
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """The name of a check and its function."""

    name: str
    run: Callable[[], Outcome]


def main() -> int:
    """Run all checks and return the exit code."""
    parser = argparse.ArgumentParser(prog="make check")
    parser.add_argument("--fix", action="store_true", help="rewrite formats instead of checking")
    checks = FIXES if parser.parse_args().fix else CHECKS
    outcomes = [(check.name, run_check(check)) for check in checks]
    print("\n==== summary ====")
    for name, outcome in outcomes:
        print(f"{outcome.state:8} {name}{': ' + outcome.reason if outcome.reason else ''}")
    return int(any(outcome.state == "FAILED" for _, outcome in outcomes))


def run_check(check: Check) -> Outcome:
    """Run one check under a headline."""
    print(f"==== {check.name} ====", flush=True)
    return check.run()


def run(command: Sequence[str | Path], **env: str) -> Outcome:
    """Run a command in the checkout; it passes by exiting with 0."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **env}, stdin=subprocess.DEVNULL, check=False
    )
    return Outcome("ok" if done.returncode == 0 else "FAILED")


def ruff(*arguments: str) -> Outcome:
    """Run ruff."""
    return run([BIN / "ruff", *arguments])


def mypy() -> Outcome:
    """Check Python's types."""
    return run([BIN / "mypy"])


def stylua(*arguments: str) -> Outcome:
    """Run stylua over the Lua files."""
    program = tools.stylua()
    if program is None:
        return Outcome("SKIPPED", "stylua comes from npm, and there is no npm here")
    return run([program, *arguments, "--", *lua_files()])


def luacheck() -> Outcome:
    """Lint the Lua files."""
    command = tools.luacheck(neovim())
    if command is None:
        return Outcome("SKIPPED", "no luacheck on the PATH, and apt-get has no lua-check")
    return run(
        [*command, "--quiet", "--codes", "--no-color", "--config", ".luacheckrc", *lua_files()]
    )


def lua_syntax() -> Outcome:
    """Let Neovim parse the Lua files without running them."""
    return run([neovim(), "-l", "scripts/syntax.lua", *lua_files()])


def help_tags() -> Outcome:
    """Let Neovim index a copy of the help: a duplicate tag is an error."""
    if not any((ROOT / "doc").glob("*.txt")):
        return Outcome("SKIPPED", "there is no doc/*.txt")
    return run([neovim(), "-l", "scripts/helptags.lua", "doc"])


def layers() -> Outcome:
    """Check the layers of the package; print file, rule and import of each finding."""
    return run([BIN / "python", "-m", "scripts.layers"])


def lua_files() -> list[str]:
    """List the checkout's Lua files, relative to it."""
    return sorted(str(path.relative_to(ROOT)) for path in walk_lua())


def walk_lua() -> Iterator[Path]:
    """Walk the folders that hold Lua."""
    for folder in LUA_FOLDERS:
        yield from (ROOT / folder).rglob("*.lua")


def neovim() -> str:
    """Return the Neovim that setup found or installed."""
    found = nvim.find()
    if found is None:
        sys.exit("agentchat: no Neovim 0.11 or newer; run make setup")
    return found


CHECKS = [
    Check("Python format (ruff)", lambda: ruff("format", "--check", ".")),
    Check("Python lint (ruff)", lambda: ruff("check", ".")),
    Check("Python types (mypy)", mypy),
    Check("Lua syntax (nvim)", lua_syntax),
    Check("Lua format (stylua)", lambda: stylua("--check")),
    Check("Lua lint (luacheck)", luacheck),
    Check("help tags (nvim)", help_tags),
    Check("layers", layers),
]
FIXES = [
    Check("Python imports (ruff)", lambda: ruff("check", "--select", "I", "--fix", ".")),
    Check("Python format (ruff)", lambda: ruff("format", ".")),
    Check("Lua format (stylua)", stylua),
]

if __name__ == "__main__":
    sys.exit(main())
