"""Which Neovim an agent's calls go to."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from agentchat.mcp_server.runners import AgentInfo, find_editor, shared_length
from agentchat.rpc import sockets
from agentchat.rpc.peer import IncomingRequest


class Host:
    """A process that says it is in some directories; ``greeted`` has the names of who asked."""

    def __init__(self, folder: Path, name: str, *places: str) -> None:
        self.greeted: list[str] = []
        self._places = places
        self._listening = sockets.listen(folder)
        sockets.socket_path(folder).rename(folder / name)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Accept nobody any more."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sockets.make_peer(self._listening.accept()[0], self._serve).start()

    def _serve(self, request: IncomingRequest) -> None:
        self.greeted.append(request.params["name"])
        request.reply({"places": list(self._places)})


@pytest.mark.parametrize(
    ("place", "cwd", "is_in"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/c", True),
        ("/a/b/c", "/a/b", False),
        ("/a/bc", "/a/b", False),
        ("/", "/a", True),
    ],
)
def test_an_agent_belongs_to_a_neovim_above_it(place: str, cwd: str, is_in: bool) -> None:
    assert bool(shared_length(place, cwd)) is is_in


async def test_of_two_neovims_the_nearer_one_is_taken(tmp_path: Path) -> None:
    far, near = Host(tmp_path, "1.sock", "/a"), Host(tmp_path, "2.sock", "/x", "/a/b")
    peer = await find_editor(tmp_path, AgentInfo("Tester", "/a/b/c"))
    assert peer is not None
    await peer.request("hello", {"name": "again"})
    assert near.greeted == ["Tester", "again"]
    assert far.greeted == ["Tester"]
    peer.close()
    far.close()
    near.close()


async def test_a_neovim_elsewhere_is_left_alone(tmp_path: Path) -> None:
    host = Host(tmp_path, "1.sock", "/other")
    assert await find_editor(tmp_path, AgentInfo("Tester", "/a")) is None
    host.close()


async def test_a_socket_of_a_dead_process_is_passed_over(tmp_path: Path) -> None:
    Host(tmp_path, "1.sock").close()
    assert await find_editor(tmp_path, AgentInfo("Tester", os.getcwd())) is None
