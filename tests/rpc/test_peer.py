"""A connection between two ends: requests, cancelling, progress, errors, death."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentchat.core.errors import StalePreview, ToolError
from agentchat.rpc.frames import Disconnected, RemoteError, RequestCancelled, pack, read_message
from agentchat.rpc.peer import Handler, IncomingRequest, Peer, RequestTasks


class Pair:
    """Two ends in this process; ``far`` serves what a test gives it."""

    def __init__(self, **handlers: Handler) -> None:
        far_source, near_sink = os.pipe()
        near_source, far_sink = os.pipe()
        self.hold = far_sink
        self.near = Peer(os.fdopen(near_source, "rb"), near_sink, RequestTasks({"double": double}))
        self.far = Peer(os.fdopen(far_source, "rb"), far_sink, RequestTasks(handlers))
        PAIRS.append(self)
        self.near.start()
        self.far.start()


PAIRS: list[Pair] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while PAIRS:
        pair = PAIRS.pop()
        pair.near.close()
        pair.far.close()


async def double(request: IncomingRequest) -> Any:
    return request.params["value"] * 2


async def test_answers_come_in_any_order_to_whoever_asked() -> None:
    late = asyncio.Event()

    async def wait(request: IncomingRequest) -> str:
        if request.params["late"]:
            await late.wait()
        else:
            late.set()
        return str(request.params["late"])

    pair = Pair(wait=wait)
    asked = [pair.near.request("wait", {"late": late}) for late in (True, False)]
    assert await asyncio.gather(*asked) == ["True", "False"]


async def test_the_end_that_serves_may_ask_back_meanwhile() -> None:
    async def ask_back(request: IncomingRequest) -> Any:
        return await pair.far.request("double", {"value": b"ab"})

    pair = Pair(ask_back=ask_back)
    assert await pair.near.request("ask_back", {}) == b"abab"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ToolError("Say it again."), ToolError, "Say it again."),
        (StalePreview("a.txt"), StalePreview, "a.txt changed since"),
        (FileNotFoundError(2, "No such file", "a"), FileNotFoundError, r"\[Errno 2\] No such"),
        (ValueError("bad"), RemoteError, "bad"),
        (ValueError("\ud800"), RemoteError, r"\?"),
        (ValueError(), RemoteError, "ValueError"),
        (asyncio.CancelledError(), RequestCancelled, "cancelled"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_an_error_is_raised_at_the_end_that_asked(
    error: BaseException, kind: type[Exception], text: str
) -> None:
    async def fail(request: IncomingRequest) -> None:
        raise error

    pair = Pair(fail=fail)
    with pytest.raises(kind, match=text):
        await pair.near.request("fail", {})


async def test_an_unexpected_error_brings_its_traceback_for_the_log() -> None:
    async def fail(request: IncomingRequest) -> None:
        raise ValueError("bad")

    with pytest.raises(RemoteError) as caught:
        await Pair(fail=fail).near.request("fail", {})
    assert "in fail" in str(caught.value.__cause__)


async def test_an_unknown_method_and_an_answer_that_is_no_json_are_errors() -> None:
    async def answer(request: IncomingRequest) -> object:
        return object()

    pair = Pair(answer=answer)
    with pytest.raises(RemoteError, match="unknown"):
        await pair.near.request("unknown", {})
    with pytest.raises(RemoteError, match="not JSON serializable"):
        await pair.near.request("answer", {})


async def test_a_cancelled_request_waits_until_the_other_end_has_stopped() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def serve(request: IncomingRequest) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            stopped.set()

    asking = asyncio.ensure_future(Pair(serve=serve).near.request("serve", {}))
    await started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert stopped.is_set()


async def test_progress_comes_in_order_before_the_answer() -> None:
    async def count(request: IncomingRequest) -> str:
        for number in range(1000):
            request.progress(number)
        return "done"

    seen: list[int] = []
    assert await Pair(count=count).near.request("count", {}, seen.append) == "done"
    assert seen == list(range(1000))


async def test_a_listener_that_raises_fails_its_own_request_only() -> None:
    async def serve(request: IncomingRequest) -> None:
        request.progress("text")
        await asyncio.Event().wait()

    def listen(data: Any) -> None:
        raise ValueError("full")

    pair = Pair(serve=serve, double=double)
    with pytest.raises(ValueError, match="full"):
        await pair.near.request("serve", {}, listen)
    assert await pair.near.request("double", {"value": 2}) == 4


async def test_a_flood_waits_for_the_end_that_reads() -> None:
    most = 0
    blocked = threading.Event()

    def flood(request: IncomingRequest) -> None:
        nonlocal most
        for _ in range(2000):
            request.progress(b"x" * 10_000)
            request.drain(100_000)
            most += 1
            if most == 500:
                blocked.set()
        request.reply("done")

    async def serve(request: IncomingRequest) -> None:
        threading.Thread(target=flood, args=(request,), daemon=True).start()
        await asyncio.Event().wait()

    pair = Pair(serve=serve)
    pieces: list[int] = []
    asking = asyncio.ensure_future(
        pair.near.request("serve", {}, lambda data: pieces.append(len(data)))
    )
    await asyncio.sleep(0.01)
    assert not blocked.wait(0.2), "it went on although nobody read"
    assert await asking == "done"
    assert sum(pieces) == 20_000_000


async def test_all_requests_fail_when_the_other_end_goes() -> None:
    async def serve(request: IncomingRequest) -> None:
        pair.far.close()
        await asyncio.Event().wait()

    pair = Pair(serve=serve)
    asked = [pair.near.request("serve", {}) for _ in range(3)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["it ended"] * 3
    assert not pair.near.alive
    with pytest.raises(Disconnected):
        await pair.near.request("serve", {})


async def test_what_is_served_for_an_end_that_goes_is_cancelled() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def serve(request: IncomingRequest) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    pair = Pair(serve=serve)
    asking = asyncio.ensure_future(pair.near.request("serve", {}))
    await started.wait()
    pair.near.close()
    await asyncio.wait_for(cancelled.wait(), 5)
    with pytest.raises(Disconnected, match="it was closed"):
        await asking


async def test_nonsense_ends_the_connection() -> None:
    pair = Pair()
    os.write(pair.hold, b"\0\0\0\5\0\0\0\0nonse")
    assert "invalid message" in await asyncio.wrap_future(pair.near.end_reason)


async def test_a_thread_waits_for_an_answer_for_so_long() -> None:
    cancelled = asyncio.Event()

    async def serve(request: IncomingRequest) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    pair = Pair(serve=serve, double=double)
    value = await asyncio.to_thread(pair.near.request_blocking, "double", {"value": 2}, 5.0)
    assert value == 4
    with pytest.raises(TimeoutError):
        await asyncio.to_thread(pair.near.request_blocking, "serve", {}, 0.01)
    await asyncio.wait_for(cancelled.wait(), 5)


def test_a_message_comes_back_as_it_was() -> None:
    message = {
        "id": 1, "text": "\udcff", "data": [b"\0", {"deep": b"x" * 100}], "none": None,
        "users": [{"\0": [0, 1]}, {"\0": {"\0": [2, b"b"]}}, 2**80],
    }  # fmt: skip
    stream = io.BytesIO(pack(message) + pack({"id": 2})[:-1])
    assert read_message(stream) == message
    assert read_message(stream) is None
