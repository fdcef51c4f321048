"""A workspace behind a command: its server is started through it, its failures are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentchat.core.errors import Unreachable, UserError
from agentchat.core.workspace import Command
from agentchat.workspace.remote.command import CommandLauncher, read_command
from agentchat.workspace.remote.workspace import RemoteWorkspace


def workspace(*run: str, path: str = "", cwd: str = "/") -> RemoteWorkspace:
    return RemoteWorkspace(CommandLauncher(run, path, cwd=cwd))


async def test_the_command_runs_the_server_and_all_that_follows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("there\n")
    box = workspace("env", "BOX=1", path=str(tmp_path))
    target = await box.locate("a.txt")
    assert await box.read(target.path) == b"there\n"
    assert (await box.environment())["BOX"] == "1"
    echo = Command(("sh", "-c", "echo $BOX $PWD"), box.root)
    assert (await box.run(echo)).head == f"1 {tmp_path}\n".encode()
    assert box.host == "env BOX=1"
    await box.close()


async def test_without_a_directory_it_is_where_the_command_starts_the_server(
    tmp_path: Path,
) -> None:
    box = workspace("env", cwd=str(tmp_path))
    await box.ready()
    assert box.root == str(tmp_path)
    await box.close()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (("no-such-program",), "Cannot run no-such-program: No such file or directory. Check"),
        (("true",), "`true` ended without an answer. It must pass on its input"),
        (("sh", "-c", "echo 'No such container: box' >&2; exit 1"), "failed (No such container"),
        (("sh", "-c", 'PATH=/nowhere; "$0" "$@"'), "finds no Python 3.11 or newer. Install one"),
    ],
)
async def test_a_command_that_starts_no_server_is_one_clear_line(
    run: tuple[str, ...], message: str
) -> None:
    with pytest.raises(Unreachable) as error:
        await workspace(*run).ready()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"^Cannot open .*/gone on env: No such file"):
        await workspace("env", path=str(tmp_path / "gone")).ready()


def test_a_place_names_the_command_and_the_directory() -> None:
    words = ["docker", "exec", "-i", "my box"]
    launcher = read_command(f"command:{json.dumps(words)}/srv/app", "/home")
    assert launcher == CommandLauncher(tuple(words), "/srv/app", "/home")
    assert launcher.machine == "docker exec -i 'my box'"
    assert launcher.argv()[:6] == (*words, "/bin/sh", "-c")


@pytest.mark.parametrize("place", ["command:", "command:[]", 'command:["a", 1]', 'command:["a"]b'])
def test_what_names_no_command_is_refused(place: str) -> None:
    with pytest.raises(UserError, match="names no workspace"):
        read_command(place)
