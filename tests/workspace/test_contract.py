"""What the tools rely on holds in every workspace: in buffers, in memory, over ssh, staged."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.shell.operands import CommandWords, Operand
from agentchat.core.workspace import Command, DirectoryEntry, ProcessResult, Workspace, Zone
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.operations.launcher import OperationsLauncher
from agentchat.workspace.remote.workspace import RemoteWorkspace
from tests.support.launch import CHECKOUT
from tests.support.memory_workspace import MemoryWorkspace
from tests.workspace.editor import Buffers
from tests.workspace.overlay.staging import try_staging
from tests.workspace.remote.far import far

MEMORY = CHECKOUT / "doc" / "examples" / "operations" / "memory.py"
FILES = {"a": b"text\n", "d/b": b"\0", ".env": b"KEY=1\n", "Makefile": b"all:\n"}


@dataclass
class World:
    """One workspace with ``FILES`` in it."""

    workspace: Workspace

    def path(self, name: str) -> str:
        return os.path.join(self.workspace.root, name)

    def change(self, name: str, before: bytes | None, after: bytes | None) -> FileChange:
        return FileChange(self.path(name), before, after, name)

    async def read(self, name: str) -> bytes | None:
        try:
            return await self.workspace.read(self.path(name))
        except FileNotFoundError:
            return None


def fill(root: Path) -> Path:
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def plugged_in(folder: Path) -> RemoteWorkspace:
    """The example of the help with ``FILES``, in a process of its own."""
    files = {f"/ws/{name}": content for name, content in FILES.items()}
    file = folder / "own.py"
    source = f"from runpy import run_path\nMemory = run_path({str(MEMORY)!r})['Memory']\n"
    file.write_text(f"{source}operations = Memory({files!r})\n")
    return RemoteWorkspace(OperationsLauncher(str(file), "/ws"))


@pytest.fixture(params=["local", "buffers", "memory", "operations", "ssh", "overlay"])
async def world(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "memory":
        yield World(MemoryWorkspace(FILES))
        return
    if request.param == "operations":
        plugged = plugged_in(tmp_path)
        await plugged.ready()
        yield World(plugged)
        await plugged.close()
        return
    root = fill(tmp_path / "ws")
    if request.param == "ssh":
        remote = far(request.getfixturevalue("sshd"), root)
        await remote.ready()
        yield World(remote)
        await remote.close()
        return
    if request.param == "overlay":
        staging = await try_staging(root, tmp_path / "state")
        yield World(staging.overlay)
        await staging.overlay.clear()
        await staging.overlay.close()
        return
    local = LocalWorkspace(str(root))
    yield World(local if request.param == "local" else BuffersWorkspace(local, Buffers()))


@pytest.fixture
def machine(world: World) -> World:
    """A workspace that can run programs."""
    if isinstance(world.workspace, MemoryWorkspace) or world.workspace.host == "own.py":
        pytest.skip("nothing runs in memory")
    return world


async def test_files_and_directories_are_told_apart(world: World) -> None:
    workspace = world.workspace
    assert await workspace.kind(world.path("a")) == "file"
    assert await workspace.kind(world.path("d")) == "directory"
    assert await workspace.kind(world.path("no")) is None
    assert await workspace.size(world.path("a")) == 5
    assert sorted(await workspace.list(workspace.root), key=lambda entry: entry.name) == [
        DirectoryEntry(".env", "file"),
        DirectoryEntry("Makefile", "file"),
        DirectoryEntry("a", "file"),
        DirectoryEntry("d", "directory"),
    ]


async def test_a_file_is_read_whole_or_in_part(world: World) -> None:
    assert await world.read("a") == b"text\n"
    assert await world.workspace.read(world.path("a"), 2, 1) == b"ex"
    assert await world.workspace.read(world.path("a"), 9, 5) == b""
    assert await world.read("d/b") == b"\0"


async def test_what_cannot_be_read_says_why(world: World) -> None:
    with pytest.raises(FileNotFoundError):
        await world.workspace.read(world.path("no"))
    with pytest.raises(IsADirectoryError):
        await world.workspace.read(world.path("d"))
    with pytest.raises(OSError, match="No such file or directory"):
        await world.workspace.list(world.path("no"))


ZONES = {
    "./d/../a": ("a", Zone.ORDINARY),
    "@a": ("a", Zone.ORDINARY),
    "new/file": ("new/file", Zone.ORDINARY),
    "d/": ("d", Zone.ORDINARY),
    ".": (".", Zone.ORDINARY),
    "~/x": ("~/x", Zone.ORDINARY),
    "$HOME/*": ("$HOME/*", Zone.ORDINARY),
    ".env": (".env", Zone.SECRET),
    "Makefile": ("Makefile", Zone.PROTECTED),
    ".GIT/hooks/x": (".GIT/hooks/x", Zone.PROTECTED),
    "/etc/hostname": ("/etc/hostname", Zone.OUTSIDE),
}


async def test_a_path_has_one_identity_and_a_zone(world: World) -> None:
    targets = {path: await world.workspace.locate(path) for path in ZONES}
    assert {path: (target.display_path, target.zone) for path, target in targets.items()} == ZONES


async def test_what_is_no_path_is_refused(world: World) -> None:
    for written in ("scp://h/x", "term://touch m", "a\0b", "\udcff", ""):
        with pytest.raises(ToolError):
            await world.workspace.locate(written)


async def test_a_change_creates_changes_and_deletes_files(world: World) -> None:
    files = (
        world.change("a", b"text\n", b"new\xff\n"),
        world.change("e/f", None, "é".encode()),
        world.change("d/b", b"\0", None),
    )
    applied = await world.workspace.apply(ChangeSet(files))
    assert [one.path for one in applied] == [file.path for file in files]
    assert [await world.read(name) for name in ("a", "e/f", "d/b")] == [
        b"new\xff\n",
        "é".encode(),
        None,
    ]
    await world.workspace.apply(ChangeSet(files).reversed())
    assert [await world.read(name) for name in ("a", "e/f", "d/b")] == [b"text\n", None, b"\0"]


async def test_a_change_is_made_whole_or_not_at_all(world: World) -> None:
    files = (world.change("a", b"text\n", b"new\n"), world.change("d/b", b"other", b""))
    with pytest.raises(
        StalePreview, match=r"^d/b changed since the preview. Nothing was changed.$"
    ):
        await world.workspace.apply(ChangeSet(files))
    with pytest.raises(ToolError, match="Nothing was changed"):
        await world.workspace.apply(ChangeSet((files[0], world.change("d", None, b"x"))))
    assert await world.read("a") == b"text\n"


def shell(world: World, script: str, **given: object) -> Command:
    return Command(("/bin/sh", "-c", script), world.workspace.root, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo out; echo err >&2; exit 3", ProcessResult(3, b"out\n", stderr=b"err\n")),
        ("kill -TERM $$", ProcessResult(-signal.SIGTERM, b"")),
        ("cat; cat a", ProcessResult(0, b"text\n")),
        ("sleep 60", ProcessResult(None, b"")),
    ],
)
async def test_a_program_tells_its_code_and_output(
    machine: World, script: str, expected: ProcessResult
) -> None:
    limit = 0.2 if expected.code is None else None
    assert await machine.workspace.run(shell(machine, script, timeout=limit)) == expected


async def test_a_program_gets_its_input_whole(machine: World) -> None:
    data = bytes(range(256)) * 5_000
    finished = await machine.workspace.run(shell(machine, "cat", stdin=data))
    assert finished.head == data


async def test_a_long_output_is_kept_as_head_and_tail_and_whole_in_a_file(
    machine: World, tmp_path: Path
) -> None:
    seen: list[bytes] = []
    kept = tmp_path / "state" / "out"
    finished = await machine.workspace.run(
        shell(machine, "seq 100000", capture=10, overflow=str(kept)), seen.append
    )
    whole = "".join(f"{n}\n" for n in range(1, 100001)).encode()
    assert (finished.head, finished.tail) == (whole[:5], whole[-5:])
    assert finished.dropped == len(whole) - 10
    assert kept.read_bytes() == b"".join(seen) == whole


async def test_a_program_that_cannot_start_is_named(machine: World) -> None:
    with pytest.raises(ToolError, match=r"Cannot run no-such-program: .*Nothing was run"):
        await machine.workspace.run(Command(("no-such-program",), machine.workspace.root))
    with pytest.raises(ToolError, match=r"Working directory not found: .*/gone"):
        await machine.workspace.run(Command(("true",), machine.path("gone")))


async def test_what_a_command_runs_is_in_its_evidence(machine: World) -> None:
    workspace = machine.workspace
    words = [CommandWords("sh", (Operand(1, "a", "other"),))]
    before = (await workspace.survey(words, "sh a", workspace.root)).fingerprints
    assert any(line.startswith(machine.path("a")) for line in before)
    await workspace.apply(ChangeSet((machine.change("a", b"text\n", b"new\n"),)))
    assert (await workspace.survey(words, "sh a", workspace.root)).fingerprints != before


async def test_what_a_command_names_is_looked_up(machine: World) -> None:
    survey = await machine.workspace.survey(
        [CommandWords("cat", (Operand(1, "a", "reads"), Operand(2, ".env", "reads")))],
        "cat a .env",
        machine.workspace.root,
    )
    assert [(o.index, o.path, o.problem) for o in survey.operands[0]] == [
        (1, "a", ""),
        (2, ".env", "cat: .env is secret"),
    ]


async def test_programs_have_variables(machine: World) -> None:
    assert "/bin" in (await machine.workspace.environment())["PATH"]
