"""A workspace over ssh: what goes wrong is one clear line, and nothing is left running."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable, UserError
from agentchat.core.workspace import Command
from agentchat.workspace.remote.ssh import Destination, SshCommand, SshLauncher, read_destination
from agentchat.workspace.remote.workspace import RemoteWorkspace
from tests.support.sshd import Sshd
from tests.workspace.process.test_run import exits_soon
from tests.workspace.remote.far import far

pytestmark = pytest.mark.slow


@pytest.fixture
def own_sshd(sshd: Sshd, tmp_path: Path) -> Iterator[Sshd]:
    """A server that a test may break."""
    server = Sshd(tmp_path / "server")
    yield server
    server.close()


@pytest.fixture
async def remote(sshd: Sshd, tmp_path: Path) -> AsyncIterator[RemoteWorkspace]:
    workspace = far(sshd, tmp_path)
    yield workspace
    await workspace.close()


def sleeper(workspace: RemoteWorkspace, **given: object) -> Command:
    script = "sleep 60 & echo $$ $!; sleep 60"
    command = Command(("/bin/sh", "-c", script), workspace.root, env={"PATH": os.defpath})
    return replace(command, **given)  # type: ignore[arg-type]


class Running:
    """A command on the other machine, once it has said the ids of its processes."""

    def __init__(self, workspace: RemoteWorkspace) -> None:
        self.output: asyncio.Queue[bytes] = asyncio.Queue()
        self.task = asyncio.ensure_future(workspace.run(sleeper(workspace), self.output.put_nowait))

    async def pids(self) -> list[int]:
        return [int(pid) for pid in (await asyncio.wait_for(self.output.get(), 20)).split()]


async def test_a_cancelled_command_is_dead_there_within_a_second(remote: RemoteWorkspace) -> None:
    await remote.ready()
    running = Running(remote)
    pids = await running.pids()
    began = time.monotonic()
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task
    assert all([await exits_soon(pid) for pid in pids])
    assert time.monotonic() - began < 1
    assert await remote.kind(remote.root) == "directory"


async def test_a_flood_can_be_cancelled_and_others_go_on(remote: RemoteWorkspace) -> None:
    await remote.ready()
    flood = asyncio.ensure_future(remote.run(Command(("yes",), remote.root, capture=1024)))
    for _ in range(20):
        assert await asyncio.wait_for(remote.kind(remote.root), 5) == "directory"
    began = time.monotonic()
    flood.cancel()
    with pytest.raises(asyncio.CancelledError):
        await flood
    assert time.monotonic() - began < 1


async def test_a_lost_connection_ends_the_call_and_what_it_ran_and_the_next_call_reconnects(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    remote = far(own_sshd, tmp_path)
    await remote.ready()
    running = Running(remote)
    pids = await running.pids()
    for session in own_sshd.sessions():
        os.kill(session, signal.SIGKILL)
    with pytest.raises(Unreachable, match=r"^Lost the connection to box: "):
        await asyncio.wait_for(running.task, 5)
    assert all([await exits_soon(pid) for pid in pids])
    assert await remote.kind(str(tmp_path)) == "directory"
    await remote.close()


async def test_a_change_whose_connection_went_is_told_to_be_in_doubt(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    remote = far(own_sshd, tmp_path)
    await remote.ready()
    for session in own_sshd.sessions():
        os.kill(session, signal.SIGSTOP)
    change = FileChange(str(tmp_path / "a"), None, b"text")
    applying = asyncio.ensure_future(remote.apply(ChangeSet((change,))))
    await asyncio.sleep(0)
    for session in own_sshd.sessions():
        os.kill(session, signal.SIGKILL)
    with pytest.raises(Unreachable, match="It is not known whether the files were changed"):
        await asyncio.wait_for(applying, 5)
    await remote.close()


async def test_closing_leaves_nothing_running(remote: RemoteWorkspace, sshd: Sshd) -> None:
    await remote.ready()
    running = Running(remote)
    pids = await running.pids()
    await remote.close()
    with pytest.raises(Unreachable):
        await running.task
    assert all([await exits_soon(pid) for pid in pids])
    with pytest.raises(Unreachable, match="is closed"):
        await remote.kind(remote.root)


async def test_what_runs_there_dies_with_a_host_that_is_killed(sshd: Sshd, tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from agentchat.core.workspace import Command\n"
        "from agentchat.workspace.remote.ssh import SshCommand, SshLauncher, read_destination\n"
        "from agentchat.workspace.remote.workspace import RemoteWorkspace\n"
        "ssh = SshCommand(tuple(sys.argv[2:]))\n"
        "remote = RemoteWorkspace(SshLauncher(read_destination(sys.argv[1]), ssh))\n"
        "say = lambda data: print(data.decode(), end='', flush=True)\n"
        "asyncio.run(remote.run(Command(('sh', '-c', 'echo $$; sleep 60'), '/'), say))\n"
    )
    url = f"ssh://box{tmp_path}"
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, url, *sshd.command,
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert host.stdout is not None
    pid = int(await asyncio.wait_for(host.stdout.readline(), 20))
    host.kill()
    await host.wait()
    assert await exits_soon(pid)


async def test_nothing_of_the_local_environment_gets_there(
    remote: RemoteWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LOCAL_THING", "here")
    there = await remote.environment()
    ran = await remote.run(Command(("env",), remote.root))
    assert not {"OPENAI_API_KEY", "LOCAL_THING", "VIRTUAL_ENV"} & there.keys()
    assert b"sk-secret" not in ran.head
    assert b"LOCAL_THING" not in ran.head


async def test_a_sandbox_there_confines_and_leaves_nothing_behind(
    remote: RemoteWorkspace, tmp_path: Path
) -> None:
    remote.confinement.setting = "auto"
    await remote.ready()
    await remote.confinement.probe()
    if not remote.confinement.describe():
        pytest.skip("no sandbox works here")
    outside = tmp_path.parent / "outside"
    script = f"echo in > inside; echo out > {outside}; echo $TMPDIR"
    command = Command(("sh", "-c", script), remote.root, env={"PATH": os.defpath}, confine=True)
    ran = await remote.run(command)
    assert (tmp_path / "inside").exists()
    assert not outside.exists()
    await remote.close()
    temporary = Path(ran.head.decode().strip())
    assert temporary == Path("/tmp") or not temporary.exists()


async def test_where_a_sandbox_must_be_and_cannot_nothing_runs_there(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    remote = far(own_sshd, tmp_path)
    remote.confinement.setting = "required"
    await remote.ready()
    await remote.confinement.probe()
    works = "the setting requires" not in remote.confinement.describe()
    command = Command(("touch", "ran"), remote.root, confine=True)
    if works:
        await remote.run(command)
    else:
        with pytest.raises(ToolError, match="Nothing was run"):
            await remote.run(command)
    assert (tmp_path / "ran").exists() == works
    await remote.close()


def _unknown_key(server: Sshd) -> None:
    server.know(False)


def _changed_key(server: Sshd) -> None:
    server.know(True, "other")


def _refused(server: Sshd) -> None:
    server.write_config("other")


def _noisy_login(server: Sshd) -> None:
    (server.home / ".bashrc").write_text("echo Welcome; echo to box >&2\n")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_unknown_key, "Cannot trust box: its key is unknown. Connect once with `ssh box`"),
        (_changed_key, "Cannot trust box: its key has changed. Find out why"),
        (
            _refused,
            "box refused the login (Permission denied (publickey)). No password can be typed",
        ),
        (lambda server: server.close(), "box refuses connections. Check the port"),
    ],
    ids=["unknown key", "changed key", "refused", "down"],
)
async def test_a_machine_that_lets_nobody_in_is_one_line(
    own_sshd: Sshd, tmp_path: Path, spoil: Callable[[Sshd], None], problem: str
) -> None:
    spoil(own_sshd)
    remote = far(own_sshd, tmp_path)
    with pytest.raises(Unreachable) as error:
        await remote.ready()
    assert str(error.value).startswith(problem)
    assert "\n" not in str(error.value)
    await remote.close()


async def test_a_machine_that_was_down_is_tried_again(own_sshd: Sshd, tmp_path: Path) -> None:
    own_sshd.know(False)
    remote = far(own_sshd, tmp_path)
    outcomes = await asyncio.gather(*[remote.kind("/") for _ in range(3)], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unreachable] * 3
    own_sshd.know(True)
    assert await remote.kind("/") == "directory"
    await remote.close()


async def test_a_name_that_nobody_knows(sshd: Sshd) -> None:
    remote = RemoteWorkspace(
        SshLauncher(read_destination("ssh://no-such-host.invalid/x"), SshCommand())
    )
    with pytest.raises(Unreachable, match=r"^Cannot find the host no-such-host.invalid\. Check"):
        await remote.ready()


async def test_a_directory_that_is_not_there(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, reason in (("gone", "No such file or directory"), ("file", "Not a directory")):
        path = tmp_path / name
        with pytest.raises(Unreachable) as error:
            await far(sshd, path).ready()
        assert str(error.value) == f"Cannot open {path} on box: {reason}. Check the path."


async def test_a_machine_without_python(sshd: Sshd, tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as error:
        await far(sshd, tmp_path, python=str(tmp_path / "python3")).ready()
    assert str(error.value).startswith("box has no Python 3.11 or newer on its PATH. Install")


async def test_a_machine_with_an_old_python_only(sshd: Sshd, tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    with pytest.raises(Unreachable, match=r"no Python 3\.11 or newer"):
        await far(sshd, tmp_path, python=str(old)).ready()


async def test_no_ssh_program() -> None:
    remote = RemoteWorkspace(SshLauncher(Destination("box", "/"), SshCommand(("no-such-ssh",))))
    with pytest.raises(Unreachable, match=r"^Cannot run no-such-ssh: .* Install the OpenSSH cli"):
        await remote.ready()


async def test_what_a_login_shell_says_does_no_harm(own_sshd: Sshd, tmp_path: Path) -> None:
    _noisy_login(own_sshd)
    remote = far(own_sshd, tmp_path)
    assert await remote.kind(str(tmp_path)) == "directory"
    await remote.close()


async def test_the_home_directory_is_the_default(sshd: Sshd) -> None:
    for url in ("ssh://box", "ssh://box/~"):
        remote = RemoteWorkspace(
            SshLauncher(read_destination(url), SshCommand(tuple(sshd.command)))
        )
        await remote.ready()
        assert remote.root == str(sshd.home)
        await remote.close()


async def test_names_and_texts_that_are_no_utf8_come_through(
    remote: RemoteWorkspace, tmp_path: Path
) -> None:
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / name).write_bytes(b"\xff\0")
    assert [entry.name for entry in await remote.list(str(tmp_path))] == [name]
    assert await remote.read(str(tmp_path / name)) == b"\xff\0"


async def test_many_questions_at_once_get_their_own_answers(
    remote: RemoteWorkspace, tmp_path: Path
) -> None:
    paths = [tmp_path / str(number) for number in range(200)]
    for path in paths:
        path.write_text(path.name * 1000)
    texts = await asyncio.gather(*[remote.read(str(path)) for path in paths])
    assert texts == [path.read_bytes() for path in paths]


async def test_programs_of_ours_run_here_on_their_input_only(remote: RemoteWorkspace) -> None:
    ours = Command((sys.executable, "-c", "print(input())"), "/", stdin=b"text\n", own=True)
    assert (await remote.run(ours)).head == b"text\n"
    with pytest.raises(ToolError, match="is not on box"):
        await remote.run(replace(ours, stdin=None))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://box/srv/app", Destination("box", "/srv/app")),
        ("ssh://dev@box.example:2222/srv", Destination("box.example", "/srv", "dev", 2222)),
        ("ssh://box/~/src", Destination("box", "~/src")),
        ("ssh://box", Destination("box", "~")),
        ("ssh://[::1]:22/x", Destination("::1", "/x", port=22)),
        ("ssh://box/with%20blank", Destination("box", "/with blank")),
    ],
)
def test_a_url_names_a_directory(url: str, expected: Destination) -> None:
    assert read_destination(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "ssh://-oProxyCommand=touch/x", "ssh://-l@box/x", "ssh:///x", "ssh://box:0/x",
        "ssh://box:99999/x", "ssh://bo$x/y", "http://box/x", "ssh://a b/x", "box:/x",
    ],
)  # fmt: skip
def test_what_is_no_such_url_is_refused(url: str) -> None:
    with pytest.raises(UserError):
        read_destination(url)
