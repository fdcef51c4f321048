"""Commands in a sandbox: what they can write and reach, and what happens without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.ports import Command
from agentchat.workspace.confine import CONFINED, IMPOSSIBLE, Confinement
from agentchat.workspace.local import LocalWorkspace


async def run(workspace: LocalWorkspace, script: str) -> str:
    argv = ("/bin/sh", "-c", script)
    command = Command(argv, workspace.root, merge_stderr=True, timeout=10, confine=True)
    return (await workspace.run(command)).head.decode()


def works(root: str) -> bool:
    return Confinement(root, "required").describe() == CONFINED


@pytest.mark.parametrize("wanted", ["auto", "required"])
async def test_in_a_sandbox_only_the_workspace_can_be_written(tmp_path: Path, wanted: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    if not works(str(root)):
        pytest.skip("bubblewrap does not work here")
    workspace = LocalWorkspace(str(root))
    workspace.confinement.wanted = wanted
    said = await run(workspace, "echo in > f; echo out > ../f; touch /etc/agentchat; echo $TMPDIR")
    assert (root / "f").read_text() == "in\n"
    assert not (tmp_path / "f").exists()
    assert not Path("/etc/agentchat").exists()
    assert said.endswith("/tmp\n")
    assert "lo" in await run(workspace, "cat /proc/net/dev")
    assert "eth" not in await run(workspace, "cat /proc/net/dev")


async def test_where_it_must_be_confined_and_cannot_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    workspace = LocalWorkspace(str(tmp_path))
    workspace.confinement.wanted = "required"
    assert workspace.confinement.describe() == IMPOSSIBLE
    with pytest.raises(ToolError, match="Nothing was run: the setting requires a sandbox"):
        await run(workspace, "echo > f")
    assert os.listdir(tmp_path) == []


async def test_auto_runs_without_a_sandbox_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    workspace = LocalWorkspace(str(tmp_path))
    workspace.confinement.wanted = "auto"
    assert workspace.confinement.describe() == ""
    monkeypatch.setenv("PATH", path)
    assert await run(workspace, "echo ran") == "ran\n"


async def test_off_confines_nothing_and_tries_nothing(tmp_path: Path) -> None:
    workspace = LocalWorkspace(str(tmp_path))
    assert workspace.confinement.describe() == ""
    assert await run(workspace, "echo ran") == "ran\n"
