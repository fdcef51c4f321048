"""Operations of a file of the user's: in a process of its own, and wrong ones are one line."""

from __future__ import annotations

import json
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable, UserError
from agentchat.core.shell.operands import CommandWords
from agentchat.core.workspace import Command
from agentchat.workspace.operations.launcher import OperationsLauncher, read_operations
from agentchat.workspace.remote.workspace import RemoteWorkspace
from tests.docs.page import HELP
from tests.support.launch import CHECKOUT

FILES = """
    import os, subprocess, sys
    class Here:
        files = {"/a": b"1", "/b": b"2", "/full": b"3"}
        def kind(self, path):
            return "directory" if path == "/" else "file" if path in self.files else None
        def read_file(self, path):
            return self.files[path]
        def list_directory(self, path):
            return {name[1:]: "file" for name in self.files}
        def write_file(self, path, data):
            if path == "/full" and data != b"3":
                raise OSError("the store is full")
            self.files[path] = data
        def delete_file(self, path):
            del self.files[path]
    operations = Here()
"""

COMMANDS = """
    import asyncio, os, subprocess, time
    class Shell:
        def run(self, command, cwd, output):
            if command == "flood":
                while True:
                    output(b"x")
                    time.sleep(0.01)
            if command == "pid":
                command = f"echo {os.getppid()} {os.getpid()}"
            done = subprocess.run(["sh", "-c", command], cwd=cwd, capture_output=True)
            output(done.stdout)
            return done.returncode
    operations = Shell()
"""


@asynccontextmanager
async def opened(folder: Path, source: str, path: str = "") -> AsyncIterator[RemoteWorkspace]:
    file = folder / "own.py"
    file.write_text(textwrap.dedent(source))
    workspace = RemoteWorkspace(OperationsLauncher(str(file), path, cwd=str(folder)))
    try:
        yield workspace
    finally:
        await workspace.close()


def sh(script: str, cwd: str, timeout: float | None = None) -> Command:
    return Command(("/bin/sh", "-c", "--", script), cwd, timeout=timeout, confine=True)


async def test_a_change_that_fails_half_way_is_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path, FILES) as workspace:
        files = [FileChange(f"/{name}", None, b"new") for name in ("new",)]
        files += [FileChange("/a", b"1", b"new"), FileChange("/b", b"2", None)]
        files += [FileChange("/full", b"3", b"new", "full")]
        with pytest.raises(ToolError, match=r"^full: the store is full. Nothing was changed.$"):
            await workspace.apply(ChangeSet(tuple(files)))
        assert await workspace.kind("/new") is None
        assert [await workspace.read(path) for path in ("/a", "/b", "/full")] == [b"1", b"2", b"3"]


async def test_what_is_not_implemented_is_refused_in_words(tmp_path: Path) -> None:
    reading = FILES.replace("write_file", "_write").replace("delete_file", "_delete")
    async with opened(tmp_path, reading) as workspace:
        with pytest.raises(ToolError, match=r"can only read\. Nothing was changed"):
            await workspace.apply(ChangeSet((FileChange("/a", b"1", b"2"),)))
        with pytest.raises(ToolError, match="the operations run no commands"):
            await workspace.run(sh("true", "/"))


async def test_with_commands_alone_the_files_are_those_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("here\n")
    async with opened(tmp_path, COMMANDS) as workspace:
        target = await workspace.locate("here.txt")
        assert await workspace.read(target.path) == b"here\n"
        finished = await workspace.run(sh("cat here.txt; exit 3", workspace.root))
        assert (finished.code, finished.head) == (3, b"here\n")


async def test_a_command_ends_in_time_and_its_process_cannot_read_the_connection(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, COMMANDS) as workspace:
        await workspace.ready()
        assert (await workspace.run(sh("flood", workspace.root, 0.3))).code is None
        assert (await workspace.run(sh("cat; echo alive", workspace.root))).head == b"alive\n"


async def test_no_rule_of_first_words_covers_a_command(tmp_path: Path) -> None:
    async with opened(tmp_path, COMMANDS) as workspace:
        words = [CommandWords("cat"), CommandWords("ls")]
        survey = await workspace.survey(words, "cat a; ls", workspace.root)
    assert [bool(o.problem and not o.named) for part in survey.operands for o in part] == [True] * 2


async def test_a_required_sandbox_stops_commands(tmp_path: Path) -> None:
    async with opened(tmp_path, COMMANDS) as workspace:
        workspace.confinement.setting = "required"
        await workspace.confinement.probe()
        assert "without a sandbox" in workspace.confinement.describe()
        with pytest.raises(ToolError, match="Nothing was run: the operations run commands without"):
            await workspace.run(sh("echo 1", workspace.root))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_thing", "own.py:1: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("x = 1\nx = (", "own.py:2: SyntaxError: '(' was never closed"),
        ("x = 1", "own.py: there are no operations: end the file with operations ="),
        ("operations = 1", "operations has none of the methods kind, read_file"),
        ("class A: pass\noperations = A", "operations is a class: write operations = A()"),
        ("class A:\n def kind(self): 1\noperations = A()", "operations has no method read_file"),
    ],
)
async def test_a_wrong_file_is_one_clear_line(tmp_path: Path, source: str, message: str) -> None:
    async with opened(tmp_path, source) as workspace:
        with pytest.raises(Unreachable) as error:
            await workspace.ready()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_root_that_is_no_directory_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path, FILES, "/gone") as workspace:
        with pytest.raises(Unreachable, match=r"^Cannot open /gone on own.py: No such file"):
            await workspace.ready()


def test_a_place_names_the_file_and_the_directory() -> None:
    file = "/home/me/own operations.py"
    launcher = read_operations(f"operations:{json.dumps([file])}/srv", "/home")
    assert (launcher.file, launcher.path, launcher.cwd) == (file, "/srv", "/home")


@pytest.mark.parametrize(
    "place",
    ["operations:", "operations:[]", 'operations:["a.py"]', "operations:[1]", "operations:1"],
)
def test_what_names_no_file_is_refused(place: str) -> None:
    with pytest.raises(UserError, match="names no workspace"):
        read_operations(place)


def test_the_help_shows_the_example() -> None:
    example = (CHECKOUT / "doc" / "examples" / "operations" / "memory.py").read_text()
    shown = [line for line in example.splitlines()[1:] if line and '"""' not in line]
    assert [
        line for line in shown if line not in {text[4:] for text in HELP.text.splitlines()}
    ] == []
