"""The runtime behind a context: what a function in its thread asks of the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tool import Extra, Preview, Result, Staged, ToolContext
from agentchat.tools.bash import how_it_ended
from agentchat.tools.custom.binding import Bound, bind
from agentchat.tools.custom.command import run_program
from agentchat.tools.custom.context import Context, Ran
from agentchat.tools.custom.outcome import result_of
from agentchat.tools.custom.progress import Progress
from agentchat.tools.custom.worker import run

END_SECONDS = 2.0
"""How long the end of a call waits for the end of what it started."""

OVER = "The call is over: nothing more can be done in its name."


class CallLink:
    """Serves one call of one tool; ``close`` ends what it still waits for."""

    def __init__(self, tool: str, context: ToolContext) -> None:
        self.progress_text = Progress(context.progress)
        self._tool = tool
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open = True

    def context(self) -> Context:
        """Return what the functions of the call receive."""
        flags = dict(self._context.flags)
        return Context(self._context.cwd, self._context.call_id, flags, self)

    async def close(self) -> None:
        """The call is over: end what still runs in its name, programs too."""
        self._open = False
        self.progress_text.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)

    def progress(self, text: str) -> None:
        """Show a line."""
        self.progress_text.line(text)

    def stage(
        self, label: str, apply: Callable[..., Any], reject: Any, source: str, preview: str
    ) -> None:
        """Register a preview; raises ToolError when the call is over."""
        if not self._open:
            raise ToolError(OVER)
        line = " ".join(str(label).split())
        if not line:
            raise ToolError("A preview needs a label that says what applying it does.")
        self._context.stage(
            Staged(
                label=line,
                source=str(source),
                apply=self._resolver(apply, "apply", f"Applied: {line}."),
                reject=None if reject is None else self._resolver(reject, "reject", None),
                preview=Preview(text=str(preview)),
            )
        )

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it."""
        data: bytes = self._wait(self._read(path))
        return data.decode("utf-8-sig")

    def run(self, command: str, timeout: float | None) -> Ran:
        """Run a shell command."""
        seconds = BASH_SECONDS if timeout is None else timeout
        code, text = self._wait(run_program(command, self._context, timeout=seconds))
        if code is None:
            raise ToolError(f"{text}\n\n{how_it_ended(code, seconds)}".strip())
        return Ran(code, text)

    async def _read(self, path: str) -> bytes:
        workspace = self._context.workspace
        target = await workspace.locate(path)
        return await workspace.read(target.path)

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        if not self._open:
            work.close()
            raise ToolError(OVER)
        try:
            return asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop).result()
        except concurrent.futures.CancelledError:
            raise ToolError(OVER) from None

    async def _tracked(self, work: Coroutine[Any, Any, Any]) -> Any:
        if not self._open:  # closed while this was on its way
            work.close()
            raise ToolError(OVER)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await task

    def _resolver(self, callback: Any, what: str, silent: str | None) -> Any:
        bound = bind(callback, (), first=2, what=what)

        async def resolve(reason: str, extra: Extra) -> Result | None:
            value = await self._called(bound, reason, extra)
            return value if value is not None or silent is None else Result(silent)

        return resolve

    async def _called(self, bound: Bound, reason: str, extra: Extra) -> Result | None:
        """Run a callback later, when the call that staged it is long over."""
        context = Context(self._context.cwd, self._context.call_id)
        found: Result | None = await finished(
            lambda: bound.call({}, context, reason, extra),
            lambda value: None if value is None else result_of(value, self._tool),
            self._context.cwd,
            lambda text: None,
        )
        return found


async def finished(
    work: Callable[[], Any],
    finish: Callable[[Any], Any],
    cwd: str,
    printed: Callable[[str], None],
) -> Any:
    """Run ``work`` in its thread, and ``finish`` on its value there, too: either may take long."""

    async def awaited(value: Any) -> Any:
        return finish(await value)

    def whole() -> Any:
        value = work()
        return awaited(value) if hasattr(value, "__await__") else finish(value)

    return await run(whole, cwd=cwd, printed=printed)
