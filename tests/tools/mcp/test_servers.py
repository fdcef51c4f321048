"""Real MCP servers, through the real worker, without an editor."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agentchat.core.errors import ToolError
from agentchat.tools.mcp.registry import ServerRegistry
from agentchat.tools.mcp.servers import McpServer
from agentchat.tools.mcp.transports import PROGRESS_SECONDS
from agentchat.workspace.process.run import WATCHDOG
from tests.support import mcp_server, raw_mcp_server
from tests.support.mcp_login_server import LoginServer
from tests.tools.mcp.test_elicitation import User

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SAMPLE: dict[str, Any] = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}

RAW: dict[str, Any] = {"command": sys.executable, "args": [str(Path(raw_mcp_server.__file__))]}


class Place:
    """A project with servers; ``shown`` are the addresses of logins.

    The projects of a module have one worker, which takes longer to start than most tests run.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.trust = folder / "state" / "trust"
        self.tokens = folder / "state" / "agentchat" / "mcp"
        self.shown: asyncio.Queue[str] = asyncio.Queue()
        self.registry = ServerRegistry(
            WATCHDOG,
            config=folder / "config",
            trust=self.trust,
            tokens=self.tokens,
            on_change=lambda root: None,
            on_login=lambda name, url: self.shown.put_nowait(url),
        )

    def server(self, **fields: Any) -> McpServer:
        """A server that only a call or a command starts."""
        project = self.registry.update(self.path, {"s": {"disabled": True, **fields}})
        return project.servers["s"]


async def call(server: McpServer, tool: str, **arguments: Any) -> str:
    result = await server.call(tool, arguments, lambda progress: None)
    return "\n".join(part["text"] for part in result["parts"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    place = Place(tmp_path_factory.mktemp("servers"))
    yield place
    place.registry.close()


@pytest_asyncio.fixture(loop_scope="module")
async def place(shared_place: Place, tmp_path: Path) -> AsyncIterator[Place]:
    shared_place.path = tmp_path
    yield shared_place
    shutil.rmtree(shared_place.tokens, ignore_errors=True)
    for server in shared_place.registry.refresh(tmp_path).servers.values():
        await server.stop()


@pytest.fixture
def login_server() -> Iterator[LoginServer]:
    server = LoginServer()
    yield server
    server.close()


async def test_a_server_that_misbehaves_costs_one_clear_error_each_time(place: Place) -> None:
    server = place.server(**RAW)
    with pytest.raises(ToolError, match="larger than 32 MiB and was dropped"):
        await call(server, "huge")
    with pytest.raises(ToolError, match=r"^MCP server s sent an invalid answer: "):
        await call(server, "wrong")
    with pytest.raises(ToolError, match=r"^MCP server s: no such row$"):
        await call(server, "refuse")
    assert "stdout: welcome to the noise" in await server.log()
    assert server.about["protocol"] == "2025-06-18"
    server = place.server(**RAW, timeout=0.5)
    with pytest.raises(ToolError, match=r"^MCP server s did not answer within 0\.5 s\.$"):
        await call(server, "never")


async def test_a_flood_of_notifications_is_dropped_or_slowed_down_and_the_answer_arrives(
    place: Place,
) -> None:
    server = place.server(**RAW)
    await server.start()
    async with asyncio.timeout(20):  # read one by one they would take minutes
        for kind in ("log", "unknown"):
            assert await call(server, "flood", kind=kind, megabytes=100) == "sent 100 MB"
    began, seen = time.monotonic(), 0

    def count(progress: Any) -> None:
        nonlocal seen
        seen += 1

    await server.call("flood", {"kind": "progress", "megabytes": 0.1}, count)
    assert 0 < seen <= 1 + (time.monotonic() - began) / PROGRESS_SECONDS


async def test_cancelling_a_call_reaches_the_server_and_the_server_goes_on(place: Place) -> None:
    server = place.server(**SAMPLE)
    begun = asyncio.Event()
    running = asyncio.ensure_future(
        server.call("slow", {"seconds": 60}, lambda progress: begun.set())
    )
    await begun.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await call(server, "add", a=1, b=1) == "2"
    assert "slow was cancelled" in await server.log()


async def test_a_server_that_does_not_start_is_given_up_after_some_tries(place: Place) -> None:
    server = place.server(command=sys.executable, args=["-c", "import sys; sys.exit('no luck')"])
    with pytest.raises(ToolError, match=r"^MCP server s ended \(exit 1\): no luck$"):
        await server.start()
    with pytest.raises(ToolError, match=r"no luck It can be started again in 1 s\.$"):
        await server.start()
    server.failures = 5
    with pytest.raises(ToolError, match=r"not started again: see :AgentMcp log s, then run"):
        await server.start()


async def test_a_server_that_speaks_another_version_is_not_said_to_have_ended(
    place: Place,
) -> None:
    server = place.server(**RAW, env={"PROTOCOL": "1999-01-01"})
    with pytest.raises(ToolError, match=r"Unsupported protocol version from the server: 1999"):
        await server.start()


async def test_the_end_of_the_worker_ends_its_servers_and_the_next_call_starts_both(
    place: Place,
) -> None:
    server = place.server(**RAW)
    old = int(await call(server, "pid"))
    place.registry.close()
    new = int(await call(server, "pid"))
    assert new != old
    await asyncio.to_thread(_wait_until_gone, old)


def _wait_until_gone(pid: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} is still there")


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_at_a_url_speaks_either_generation_and_can_ask_in_the_older_one(
    place: Place, kind: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [SAMPLE["command"], *SAMPLE["args"], kind, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220
        try:
            await _listening(port)
            path = "mcp" if kind == "http" else "sse"
            server = place.server(url=f"http://127.0.0.1:{port}/{path}")
            assert await call(server, "add", a=2, b=3) == "5"
            if kind == "sse":
                with pytest.raises(ToolError, match=r"^MCP server s: .* exceeded the 1048576 byte"):
                    await call(server, "big", kilobytes=2000)
            else:
                assert len(await call(server, "big", kilobytes=2000)) == 2_048_000
            user = User("Answer", "large")
            with pytest.raises(ToolError, match=r"older protocol.* Call the tool again\.$"):
                await server.call("interview", {}, lambda progress: None, user)
            result = await server.call("interview", {}, lambda progress: None, user)
            answer = f"accept, {place.path.name}, Sampling not supported"
            assert result["parts"][0]["text"] == answer
        finally:
            process.kill()


async def test_a_page_that_a_server_wants_opened_is_shown_before_the_call_is_made_again(
    place: Place,
) -> None:
    server, user = place.server(**SAMPLE), User("Done", "Decline")
    with pytest.raises(ToolError, match=r"which is done\. Call the tool again\.$"):
        await server.call("open_page", {}, lambda progress: None, user)
    assert "https://pay.example/1" in user.asked[0].question
    with pytest.raises(ToolError, match=r"opened no page"):
        await server.call("open_page", {}, lambda progress: None, user)


async def _listening(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def log_in(place: Place, server: McpServer) -> None:
    """Log in as a user does, with a browser that follows the address."""
    running = asyncio.ensure_future(server.login())
    url = await place.shown.get()
    await asyncio.to_thread(lambda: urllib.request.urlopen(url).read())
    await running


async def test_a_login_lasts_is_refreshed_and_ends_with_the_logout(
    place: Place, login_server: LoginServer
) -> None:
    server = place.server(url=login_server.url)
    with pytest.raises(ToolError, match=r"needs a login: run :AgentMcp login s\.$"):
        await server.start()
    await log_in(place, server)
    assert await call(server, "whoami") == "you"
    (file,) = place.tokens.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    # Another connection, after the token has expired.
    await server.stop()
    file.write_text(json.dumps({**json.loads(file.read_text()), "expires_at": 1}))
    assert await call(server, "whoami") == "you"
    assert set(login_server.grants) == {"authorization_code", "refresh_token"}
    assert await server.logout()
    assert list(place.tokens.iterdir()) == []


async def test_a_token_that_expires_at_once_is_used_and_one_that_is_refused_is_an_error(
    place: Place, login_server: LoginServer
) -> None:
    login_server.expires_in = 0
    server = place.server(url=login_server.url)
    async with asyncio.timeout(20):
        await log_in(place, server)
        assert await call(server, "whoami") == "you"
        assert login_server.grants == ["authorization_code"]
        login_server.forgets = True
        await server.logout()
        with pytest.raises(ToolError, match=r"^MCP server s refuses the token"):
            await log_in(place, server)


async def test_a_client_with_a_metadata_document_is_not_registered(
    place: Place, login_server: LoginServer
) -> None:
    document = "https://agent.example/client.json"
    server = place.server(url=login_server.url, oauth={"client_metadata_url": document})
    await log_in(place, server)
    assert login_server.clients == [document]


async def test_nothing_is_asked_for_a_login_before_the_user_wants_one(
    place: Place, login_server: LoginServer
) -> None:
    server = place.server(url=login_server.url)
    with pytest.raises(ToolError, match=r"needs a login: run :AgentMcp login s\.$"):
        await server.start()
    assert set(login_server.asked) == {"/mcp"}


@pytest.mark.parametrize("what", ["about", "login_base"])
async def test_a_login_at_another_host_is_named_and_agreed_to_by_the_next_one(
    place: Place, login_server: LoginServer, what: str
) -> None:
    other = LoginServer()
    other.url = login_server.url
    try:
        path = "/.well-known/oauth-protected-resource/mcp" if what == "about" else ""
        setattr(login_server, what, f"{other.base}{path}")
        server = place.server(url=login_server.url)
        with pytest.raises(ToolError, match=f"sends its login to {other.base}. Nothing was sent"):
            await server.login()
        assert other.asked == []
        other.resource = login_server
        await log_in(place, server)
        assert "/token" in other.asked
    finally:
        other.close()


async def test_an_answer_of_another_issuer_is_no_login(
    place: Place, login_server: LoginServer
) -> None:
    login_server.issuer = "https://evil.example"
    server = place.server(url=login_server.url)
    with pytest.raises(ToolError, match=r"(?i)iss"):
        await log_in(place, server)
    assert login_server.grants == []


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ("json", "larger than 32 MiB and was dropped"),
        ("events", "exceeded the 33554432 byte limit"),
        ("gzip", "it sent a compressed answer"),
    ],
)
async def test_a_body_over_the_limit_is_cut_off(
    place: Place, login_server: LoginServer, form: str, error: str
) -> None:
    server = place.server(url=f"{login_server.base}/open")
    with pytest.raises(ToolError, match=error):
        await call(server, "whoami", form=form)


async def test_a_redirect_to_another_host_is_not_followed(
    place: Place, login_server: LoginServer
) -> None:
    server = place.server(
        url=f"{login_server.base}/elsewhere", headers={"Authorization": "Bearer secret"}
    )
    with pytest.raises(ToolError, match=r"Redirect to http://localhost:1/mcp not followed"):
        await server.start()


async def test_a_projects_servers_start_once_its_file_is_trusted(
    place: Place, tmp_path: Path
) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"s": {"command": "true", "disabled": true}}}')
    project = place.registry.update(tmp_path, None)
    assert project.servers == {}
    assert project.untrusted == (file,)
    place.trust.parent.mkdir(parents=True, exist_ok=True)
    place.trust.write_text(f"directory {os.path.realpath(tmp_path)}\n")
    project = place.registry.refresh(tmp_path)
    assert list(project.servers) == ["s"]
    assert project.untrusted == ()


async def test_a_server_that_is_just_starting_can_be_restarted(place: Place) -> None:
    server = place.server(**RAW)
    first = asyncio.ensure_future(server.start())
    await asyncio.sleep(0)  # it is on its way
    await server.restart()
    assert server.state == "running"
    assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], BaseException)


async def test_a_server_that_is_to_start_says_so_and_stays_stopped_if_the_user_stops_it(
    place: Place,
) -> None:
    server = place.server(command=sys.executable, args=["-c", "raise SystemExit('no luck')"])
    server.start_soon()
    states = [server.state]
    with pytest.raises(ToolError, match="no luck"):
        await server.start()
    states.append(server.state)
    await server.stop()
    await asyncio.sleep(1.1)  # when it would have been tried again
    assert [*states, server.state] == ["starting", "failed", "stopped"]
    assert server.failures == 1


async def test_a_question_that_comes_right_after_the_result_is_asked(place: Place) -> None:
    server, user = place.server(**RAW), User("Answer", "large")
    result = await server.call("ask_late", {}, lambda data: None, user)
    assert result["parts"][0]["text"] == "done"
    answer = await server.call("answered", {}, lambda data: None, user)
    assert '"content": {"size": "large"}' in answer["parts"][0]["text"]
