"""A context's way to the plugin, from the process in which tools run."""

from __future__ import annotations

import concurrent.futures
import itertools
from collections.abc import Callable
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.tools.custom.binding import Bound, bind
from agentchat.tools.custom.context import Ran
from agentchat.tools.custom.progress import Progress
from agentchat.tools.custom.wire import error_heard

OVER = "The call is over: nothing more can be done in its name."


class HostLink:
    """Serves the context of one call: asks the plugin, and waits in the call's own thread.

    Args:
        show: passes printed text on, in the loop's thread.
        post: asks, from whatever thread: the number of the question, what, and about what.
        hold: keeps a callback until it is asked for; returns its number.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        post: Callable[[int, str, Any], None],
        hold: Callable[[Bound], int],
    ) -> None:
        self.printed = Progress(show)
        self._post = post
        self._hold = hold
        self._numbers = itertools.count()
        self._waiting: dict[int, concurrent.futures.Future[Any]] = {}
        self._open = True

    def progress(self, text: str) -> None:
        """Show a line."""
        self.printed.line(text)

    def stage(
        self, label: str, apply: Callable[..., Any], reject: Any, source: str, preview: str
    ) -> None:
        """Register a preview; raises ToolError when the call is over."""
        applying = self._hold(bind(apply, (), first=2, what="apply"))
        rejecting = None
        if reject is not None:
            rejecting = self._hold(bind(reject, (), first=2, what="reject"))
        self._ask("stage", str(label), applying, rejecting, str(source), str(preview))

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it."""
        data: bytes = self._ask("read", str(path))
        return data.decode("utf-8-sig")

    def run(self, command: str, timeout: float | None) -> Ran:
        """Run a shell command."""
        code, text = self._ask("run", str(command), timeout)
        return Ran(code, text)

    def _ask(self, what: str, *about: Any) -> Any:
        number = next(self._numbers)
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._waiting[number] = answer
        if not self._open:
            raise ToolError(OVER)
        self._post(number, what, about)
        return answer.result()

    def answered(self, number: int, error: list[Any] | None, value: Any) -> None:
        """Take the answer to a question."""
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            return
        if error is None:
            waiting.set_result(value)
        else:
            waiting.set_exception(error_heard(error))

    def close(self) -> None:
        """The call is over: whoever still waits in its name is told so."""
        self._open = False
        self.printed.close()
        for number in tuple(self._waiting):
            self.answered(number, ["tool", OVER], None)
