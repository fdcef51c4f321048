"""Commands that only read, and what makes a command more than that."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentchat.agent.execution.locate import locate_call
from agentchat.core.messages import ToolCall
from agentchat.core.shell.readers import reads_only
from agentchat.core.tools.call import ValidCall
from agentchat.tools.builtin import bash
from agentchat.workspace.local import LocalWorkspace
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ws")
    (tmp_path / "outside").write_text("private\n")
    root = ground.root
    (root / ".env").write_text("KEY=1\n")
    (root / "deep").mkdir()
    (root / "deep" / "server.key").write_text("key\n")
    (root / "lin").symlink_to("..")
    (root / "plain").symlink_to(".env")
    os.link(root / "g", root / "hard")
    os.mkfifo(root / "pipe")
    Ground(root / "other")
    return ground


async def reads(ground: Ground, command: str, cwd: str | None = None) -> bool:
    given = {"command": command} | ({"cwd": cwd} if cwd else {})
    arguments = bash.TOOL.arguments.parse(given)
    call = ValidCall(ToolCall("1", "bash", json.dumps(given)), bash.TOOL, given, arguments)
    target = await locate_call(call, LocalWorkspace(str(ground.root)))
    return reads_only(target.script)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la src",
        "cat f",
        "cat -- f src/../x",
        "head -n 5 f | wc -l",
        "grep -rn 'a b' src && ls",
        "ls | grep x",
        "rg -n a src",
        "find . -name '*.py' -type f",
        "git status --short",
        "git log --oneline -3 -- f",
        "git diff HEAD~0 -- f",
        "git show HEAD",
        "git blame f",
        "git rev-parse HEAD",
        "git ls-files 2>/dev/null",
        "diff f x",
        "sort f | uniq -c",
        "pwd; du -sh .; stat f; file f; tree -L 1; basename f; realpath f",
        "cat no-such-file",
    ],
)
async def test_a_command_of_readers_only_reads(ground: Ground, command: str) -> None:
    assert await reads(ground, command)


@pytest.mark.parametrize(
    "command",
    [
        "echo a",
        "printf a",
        "python3 -c 1",
        "sh s",
        "sed p f",
        "awk 1 f",
        "cat f > m",
        "cat < f",
        "cat $HOME/x",
        "cat *",
        "cat ~/x",
        "cat f # x",
        "cat f &&",
        "sort -o m f",
        "uniq f m",
        "find . -delete",
        "find . -exec touch m ';'",
        "git diff --output=m",
        "git -C other status",
        "git -c a=b status",
        "git push",
        "git grep a",
        "X=1 cat f",
        "env cat f",
        "./ls",
        "/bin/ls",
        "cat .env",
        "cat plain",
        "cat hard",
        "cat pipe",
        "cat ../outside",
        "cat lin/outside",
        "ls ..",
        "find / -name x",
        "grep -r key .",
        "grep -rkey",
        "grep -R x deep",
        "rg x",
        "rg x deep",
        "diff -r deep src",
        "git show HEAD:.env",
        "du --files0-from=../outside",
        "cd src && ls",
        "if",
    ],
)
async def test_everything_else_does_more(ground: Ground, command: str) -> None:
    assert not await reads(ground, command)


@pytest.mark.parametrize(
    ("cwd", "expected"), [("src", True), ("other", False), (".git", False), ("lin", False)]
)
async def test_the_directory_is_below_the_root_in_the_same_repository(
    ground: Ground, cwd: str, expected: bool
) -> None:
    assert await reads(ground, "git status", cwd) is expected


async def test_a_program_of_the_project_is_no_reader(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ground.root / "d" / "cat").symlink_to("git-x")
    monkeypatch.setenv("PATH", f"./d{os.pathsep}{os.environ['PATH']}")
    assert not await reads(ground, "cat f")
    assert await reads(ground, "head f")
