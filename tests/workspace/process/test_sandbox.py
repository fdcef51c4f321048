"""Commands in a sandbox: what they can write and reach, and what happens without one."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command, SandboxSetting
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.process.sandbox import (
    CONFINED,
    IMPOSSIBLE,
    METHODS,
    Sandbox,
    SandboxMethod,
)

BROKEN = SandboxMethod("broken", lambda root, temp, cwd: ("/nonexistent", "--"))
TRY = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print("reached")
except OSError as error:
    print("refused")
"""


async def run(workspace: LocalWorkspace, script: str) -> str:
    argv = ("/bin/sh", "-c", script)
    command = Command(argv, workspace.root, merge_stderr=True, timeout=10, confine=True)
    return (await workspace.run(command)).head.decode()


def confined(folder: Path, setting: SandboxSetting, *methods: SandboxMethod) -> LocalWorkspace:
    """Return a workspace in which only these kinds of sandbox are tried."""
    root = folder.resolve() / "ws"
    root.mkdir()
    workspace = LocalWorkspace(str(root))
    workspace.confinement = Sandbox(str(root), setting, methods)
    return workspace


def need(workspace: LocalWorkspace, method: SandboxMethod) -> None:
    if workspace.confinement.describe() != method.description:
        pytest.skip(f"not here: {method.description}")


@pytest.mark.parametrize("setting", ["auto", "required"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.description))
async def test_in_a_sandbox_only_the_workspace_can_be_written(
    tmp_path: Path, method: SandboxMethod, setting: SandboxSetting
) -> None:
    workspace = confined(tmp_path, setting, method)
    need(workspace, method)
    victim = tmp_path / "victim"
    victim.write_text("kept")
    await run(
        workspace,
        "echo in > f; mkdir d; mv f d/f; echo x > /dev/null; (echo out > ../f);"
        "(: > ../victim); rm ../victim; cp d/f ../moved; ln ../victim linked; touch /etc/agentchat",
    )
    assert (tmp_path / "ws" / "d" / "f").read_text() == "in\n"
    assert sorted(os.listdir(tmp_path)) == ["victim", "ws"]
    assert victim.read_text() == "kept"
    assert not Path("/etc/agentchat").exists()
    assert (await run(workspace, "echo t > $TMPDIR/t && cat $TMPDIR/t")) == "t\n"
    assert "root" in await run(workspace, "cat /etc/passwd")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.description))
async def test_what_is_said_of_the_network_is_so(tmp_path: Path, method: SandboxMethod) -> None:
    workspace = confined(tmp_path, "auto", method)
    need(workspace, method)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        output = await run(workspace, f"{sys.executable} -c '{TRY}' {port}")
    assert output.strip() == ("reached" if "open" in method.description else "refused")
    outside = [name for _, name in socket.if_nameindex() if name != "lo"]
    seen = await run(workspace, "cat /proc/net/dev")
    assert "lo:" in seen
    assert any(f"{name}:" in seen for name in outside) == (not method.whole and bool(outside))


async def test_a_program_in_a_network_of_its_own_reaches_itself(tmp_path: Path) -> None:
    workspace = confined(tmp_path, "auto", METHODS[1])
    need(workspace, METHODS[1])
    serve = "import socket; s = socket.create_server((chr(48), 0));"
    itself = f"{serve} socket.create_connection(s.getsockname(), 5); print(1)"
    assert (await run(workspace, f'{sys.executable} -c "{itself}"')).strip() == "1"


async def test_what_runs_in_a_sandbox_cannot_signal_or_leave_it(tmp_path: Path) -> None:
    workspace = confined(tmp_path, "auto", METHODS[1])
    need(workspace, METHODS[1])
    output = await run(workspace, f"kill -0 {os.getpid()} && echo reached; nsenter -t 1 -n true; :")
    assert "reached" not in output
    assert "echo" not in output


def test_the_best_that_works_is_taken(tmp_path: Path) -> None:
    description = Sandbox(str(tmp_path), "auto").describe()
    works = [method for method in METHODS if Sandbox(str(tmp_path), "auto", [method]).describe()]
    assert description == (works[0].description if works else "")
    assert Sandbox(str(tmp_path), "auto", [BROKEN, *METHODS]).describe() == description


@pytest.mark.parametrize("methods", [(), (BROKEN,), METHODS[2:]])
async def test_where_it_must_be_confined_and_cannot_nothing_runs(
    tmp_path: Path, methods: tuple[SandboxMethod, ...]
) -> None:
    workspace = confined(tmp_path, "required", *methods)
    assert workspace.confinement.describe() == IMPOSSIBLE
    with pytest.raises(ToolError, match="Nothing was run: the setting requires a sandbox"):
        await run(workspace, "echo > f")
    assert os.listdir(tmp_path / "ws") == []


async def test_auto_runs_without_a_sandbox_where_there_is_none(tmp_path: Path) -> None:
    workspace = confined(tmp_path, "auto", BROKEN)
    assert workspace.confinement.describe() == ""
    assert await run(workspace, "echo ran") == "ran\n"


async def test_off_confines_nothing_and_tries_nothing(tmp_path: Path) -> None:
    workspace = LocalWorkspace(str(tmp_path))
    assert workspace.confinement.describe() == ""
    assert await run(workspace, "echo ran") == "ran\n"


async def test_a_sandbox_is_tried_once_in_the_background_however_many_chats_ask(
    tmp_path: Path,
) -> None:
    begun, goes_on, tried = threading.Event(), threading.Event(), []

    def wrap(root: str, temp: str, cwd: str) -> tuple[str, ...]:
        tried.append(root)
        begun.set()
        assert goes_on.wait(10)
        return ("/usr/bin/env",)

    chats = [Sandbox(str(tmp_path), "auto", [SandboxMethod("slow", wrap)]) for _ in range(3)]
    probes = [asyncio.ensure_future(chat.probe()) for chat in chats]
    assert await asyncio.to_thread(begun.wait, 10)
    goes_on.set()
    await asyncio.gather(*probes)
    assert [chat.describe() for chat in chats] == ["slow"] * 3
    assert tried == [str(tmp_path)]


def test_what_whole_means_is_said(tmp_path: Path) -> None:
    assert all((CONFINED in method.description) == method.whole for method in METHODS)
