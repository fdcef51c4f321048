"""One running ``ssh`` with a far end behind it: questions go out, answers come back."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentchat.core.errors import Stale, ToolError, Unreachable
from agentchat.workspace.destination import Destination
from agentchat.workspace.farend import GREETING
from agentchat.workspace.frames import HEADER, BadFrame, Message, lengths, pack, unpack
from agentchat.workspace.parcel import parcel
from agentchat.workspace.process import run
from agentchat.workspace.sshclient import CONNECT_SECONDS, Client, explained

PING_SECONDS = 5.0
SILENCE = 30.0
"""Seconds without a word from the far end after which it is taken to be gone."""

CANCEL_SECONDS = 2.0
START_SECONDS = CONNECT_SECONDS + 15
_NOISE = 64 * 1024
"""Bytes that a login shell may say before the far end greets."""

_KEPT = 8 * 1024
_AFTER = "What ran there was stopped; the next call connects anew."
OnOutput = Callable[[bytes], None]


@dataclass(slots=True)
class _Question:
    answer: asyncio.Future[Message]
    on_output: OnOutput | None


class Connection:
    """Answers come by number, so questions need not wait for one another."""

    def __init__(self, where: Destination, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._where = where
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._said = bytearray()
        self._lost: str | None = None
        self._open: dict[int, _Question] = {}
        self._numbers = itertools.count(1)
        self._heard = 0.0
        self._tasks = [asyncio.ensure_future(self._overhear())]

    @property
    def alive(self) -> bool:
        """Whether questions can be asked."""
        return self._lost is None

    @classmethod
    async def start(cls, where: Destination, client: Client) -> Connection:
        """Connect; raises Unreachable in one line that says what to do."""
        try:
            process = await asyncio.create_subprocess_exec(
                *client.argv(where),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=None if client.environment is None else dict(client.environment),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise Unreachable(client.missing(error)) from error
        run.KEEPER.add(process.pid)
        connection = cls(where, process)
        try:
            await asyncio.wait_for(connection._greeted(), START_SECONDS)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            late = isinstance(error, asyncio.TimeoutError)
            await connection.close()
            said = "timed out" if late else connection._heard_of()
            raise Unreachable(explained(where, said)) from error
        except BaseException:
            await connection.close()
            raise
        connection._tasks += [
            asyncio.ensure_future(connection._listen()),
            asyncio.ensure_future(connection._stay()),
        ]
        return connection

    async def ask(self, op: str, on_output: OnOutput | None = None, **given: Any) -> Any:
        """Return the far end's answer.

        Cancelled, it has the far end stop, and waits a moment until that is done.

        Raises:
            Unreachable: the connection went.
            Stale, ToolError, OSError: as it was raised there.
        """
        number = next(self._numbers)
        question = _Question(asyncio.get_running_loop().create_future(), on_output)
        self._open[number] = question
        try:
            self._send({"id": number, "op": op, **given})
            message = await asyncio.shield(question.answer)
        except asyncio.CancelledError:
            await self._called_off(number, question, None if op == "apply" else CANCEL_SECONDS)
            raise
        finally:
            self._open.pop(number, None)
        if "error" in message:
            raise _raised(message["error"])
        return message.get("answer")

    async def _called_off(self, number: int, question: _Question, patience: float | None) -> None:
        question.on_output = None
        with contextlib.suppress(Unreachable):
            self._send({"id": number, "op": "cancel"})
        await asyncio.wait({question.answer}, timeout=patience)
        if question.answer.done():
            question.answer.exception()

    async def close(self) -> None:
        """End the connection; the far end kills what it runs, and ends."""
        self._lose("it was closed")
        self._in.close()
        try:
            await asyncio.wait_for(self._process.wait(), 1.0)
        except asyncio.TimeoutError:
            run.kill_group(self._process.pid)
            await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        run.KEEPER.remove(self._process.pid)

    def _send(self, message: Message) -> None:
        if self._lost is not None:
            raise Unreachable(self._lost)
        self._in.write(pack(message))

    async def _greeted(self) -> None:
        """Send the far end its code and wait until it greets; raises EOFError, ValueError."""
        self._in.write(parcel())
        said = 0
        while (line := await self._out.readline()) != GREETING:
            said += len(line)
            if not line or said > _NOISE:
                raise EOFError

    async def _listen(self) -> None:
        """Hand answers to those who wait for them."""
        loop = asyncio.get_running_loop()
        self._heard = loop.time()
        reason = ""
        try:
            while True:
                text, data = lengths(await self._out.readexactly(HEADER))
                message = unpack(
                    await self._out.readexactly(text), await self._out.readexactly(data)
                )
                self._heard = loop.time()
                self._deliver(message)
        except (asyncio.IncompleteReadError, OSError):
            await self._process.wait()
            await asyncio.sleep(0)
            reason = self._last_line()
        except (BadFrame, KeyError, TypeError) as error:
            reason = f"it sent nonsense: {error}"
        self._lose(reason or "it ended")
        run.kill_group(self._process.pid)

    def _deliver(self, message: Message) -> None:
        question = self._open.get(message["id"])
        if question is None:
            return
        if "output" not in message:
            _settle(question.answer, message)
        elif question.on_output is not None:
            try:
                question.on_output(message["output"])
            except Exception as error:  # whose output it is hears of it; the others go on
                _settle(question.answer, error)

    async def _stay(self) -> None:
        """Let the far end hear from here, and notice when nothing comes back."""
        loop = asyncio.get_running_loop()
        while self._lost is None:
            with contextlib.suppress(Unreachable):
                self._send({"id": 0, "op": "ping"})
            await asyncio.sleep(PING_SECONDS)
            if loop.time() - self._heard > SILENCE:
                self._lose(f"nothing came for {SILENCE:g} s")
                run.kill_group(self._process.pid)

    async def _overhear(self) -> None:
        """Keep the last of what ssh and the far end complain about."""
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(4096):
            self._said += piece
            del self._said[:-_KEPT]

    def _heard_of(self) -> str:
        return self._said.decode("utf-8", "replace")

    def _last_line(self) -> str:
        lines = [line.strip() for line in self._heard_of().splitlines() if line.strip()]
        return lines[-1].rstrip(".") if lines else ""

    def _lose(self, reason: str) -> None:
        """Tell all who wait that nothing will come."""
        if self._lost is not None:
            return
        self._lost = f"Lost the connection to {self._where.machine}: {reason}. {_AFTER}"
        for question in self._open.values():
            _settle(question.answer, Unreachable(self._lost))


def _settle(answer: asyncio.Future[Message], outcome: Message | Exception) -> None:
    """Give a future its answer, unless it has one."""
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


def _raised(error: Message) -> Exception:
    """Return an error of the far end as it is raised here."""
    kind = error.get("kind")
    if kind == "stale":
        return Stale(str(error["path"]))
    if kind == "tool":
        return ToolError(str(error["text"]))
    if kind == "os":
        return OSError(int(error["errno"]), str(error["text"]), error.get("path"))
    return RuntimeError(f"the far end failed: {error.get('text')}")
