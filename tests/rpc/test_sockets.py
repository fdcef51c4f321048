"""Sockets by which processes of one user find each other."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentchat.rpc import sockets
from agentchat.rpc.peer import IncomingRequest


@pytest.fixture(params=["agents", "a" * 60 + "/" + "b" * 60], ids=["short", "long"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder for sockets, also one whose path is longer than the address of a socket may be."""
    return tmp_path / str(request.param)


@pytest.fixture
def path(folder: Path) -> Iterator[Path]:
    """A socket on which this process listens."""
    with sockets.listen(folder):
        yield sockets.socket_path(folder)


def test_only_the_owner_gets_at_a_socket(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_others_could_enter_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    sockets.listen(tmp_path).close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_whoever_looks_finds_the_socket_and_connects(path: Path) -> None:
    assert sockets.find(path.parent) == [path]
    sockets.connect(path).close()


def test_a_socket_that_is_listened_on_stays(path: Path) -> None:
    other = path.with_name("1.sock")
    path.rename(other)
    sockets.sweep(path.parent)
    assert other.exists()


def test_a_socket_whose_process_is_gone_is_removed(folder: Path) -> None:
    sockets.listen(folder).close()
    dead = sockets.socket_path(folder).rename(folder / "1.sock")
    sockets.sweep(folder)
    assert not dead.exists()


def test_no_folder_means_no_socket(tmp_path: Path) -> None:
    assert sockets.find(tmp_path / "missing") == []


async def test_two_peers_talk_over_a_socket(folder: Path) -> None:
    def serve(request: IncomingRequest) -> None:
        request.reply({"got": request.params["text"]})

    with sockets.listen(folder) as listening:
        ours = sockets.make_peer(sockets.connect(sockets.socket_path(folder)))
        theirs = sockets.make_peer(listening.accept()[0], serve)
    theirs.start()
    ours.start()
    assert await ours.request("say", {"text": "hello"}) == {"got": "hello"}
    ours.close()
    await asyncio.wait_for(asyncio.wrap_future(theirs.end_reason), 10)


def test_a_socket_that_is_stopped_is_gone(folder: Path) -> None:
    sockets.stop(sockets.listen(folder), folder)
    assert sockets.find(folder) == []
