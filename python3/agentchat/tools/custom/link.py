"""The runtime behind a context: answers what a function asks of the plugin while it runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tools.tool import Extra, Preview, Resolver, Result, Staged, ToolContext
from agentchat.tools.builtin.bash import how_it_ended
from agentchat.tools.custom.command import run_program
from agentchat.tools.custom.wire import Failed, error_told, result_heard
from agentchat.tools.custom.worker import Ended, Worker

END_SECONDS = 2.0
"""How long the end of a call waits for the end of what it started."""


class CallLink:
    """Serves one call of one tool; ``close`` ends what it still waits for."""

    def __init__(self, tool: str, context: ToolContext) -> None:
        self._tool = tool
        self._context = context
        self._tasks: set[asyncio.Task[Any]] = set()
        self._kinds: dict[str, Callable[..., Awaitable[Any]]] = {
            "stage": self._stage,
            "read": self._read,
            "run": self._run,
        }

    def take(self, worker: Worker, message: list[Any]) -> None:
        """Take a message of a function: text to show, or a question."""
        number, kind, *about = message
        if kind == "progress":
            self._context.progress(str(about[0]))
        else:
            task = asyncio.ensure_future(self._answer(worker, number, *about))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """The call is over: end what still runs in its name, programs too."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)

    async def _answer(
        self, worker: Worker, number: int, question: int, what: str, about: list[Any]
    ) -> None:
        try:
            value = await self._kinds[what](worker, *about)
        except Exception as error:
            worker.answer(number, question, error_told(error), None)
        else:
            worker.answer(number, question, None, value)

    async def _read(self, worker: Worker, path: str) -> bytes:
        workspace = self._context.workspace
        target = await workspace.locate(path)
        return await workspace.read(target.path)

    async def _run(
        self, worker: Worker, command: str, timeout: float | None
    ) -> tuple[int | None, str]:
        seconds = BASH_SECONDS if timeout is None else timeout
        code, text = await run_program(command, self._context, timeout=seconds)
        if code is None:
            raise ToolError(f"{text}\n\n{how_it_ended(code, seconds)}".strip())
        return code, text

    async def _stage(
        self, worker: Worker, label: str, apply: int, reject: int | None, source: str, preview: str
    ) -> None:
        line = " ".join(label.split())
        if not line:
            raise ToolError("A preview needs a label that says what applying it does.")
        self._context.stage(
            Staged(
                label=line,
                source=source,
                apply=self._applier(worker, apply, line),
                reject=None if reject is None else self._rejecter(worker, reject),
                preview=Preview(text=preview),
            )
        )

    def _applier(self, worker: Worker, held: int, label: str) -> Resolver:
        async def apply(reason: str, extra: Extra) -> Result | None:
            try:
                result = await self._called(worker, held, reason, extra)
            except Ended as ended:
                what = f"{ended}. Discard the preview and call {self._tool} again."
                raise Failed(what) from ended
            return result or Result(f"Applied: {label}.")

        return apply

    def _rejecter(self, worker: Worker, held: int) -> Resolver:
        async def reject(reason: str, extra: Extra) -> Result | None:
            if worker.ended:
                return None  # whoever would have liked to know is gone
            return await self._called(worker, held, reason, extra)

        return reject

    async def _called(self, worker: Worker, held: int, reason: str, extra: Extra) -> Result | None:
        """Run a callback later, when the call that staged it is long over."""
        body = {
            "held": held,
            "name": self._tool,
            "reason": reason,
            "extra": None if extra is None else json.dumps(dict(extra)),
            "cwd": self._context.cwd,
            "call_id": self._context.call_id,
        }
        told = await worker.call("callback", body)
        return None if told is None else result_heard(told)
