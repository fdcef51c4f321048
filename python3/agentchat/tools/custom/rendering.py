"""How calls and results look, by functions of the user's that must not hold up a screen."""

from __future__ import annotations

import inspect
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.tool import Result, one_line
from agentchat.tools.custom.binding import Bound
from agentchat.tools.custom.context import Context
from agentchat.tools.custom.context import Result as OwnResult
from agentchat.tools.custom.definition import Definition
from agentchat.tools.custom.outcome import text_of
from agentchat.tools.custom.printing import diverted

log = logging.getLogger(__name__)

SECONDS = 0.25


class Renderer:
    """Renders for one tool; a function that keeps a screen waiting is not asked again."""

    def __init__(self, definition: Definition, cwd: str) -> None:
        self._definition = definition
        self._cwd = cwd
        self._broken = False

    def call(self, given: Mapping[str, Any]) -> str:
        """Return the call in one line, from whatever arguments have arrived."""
        bound = self._definition.render_call
        plain = f"{self._definition.name} {one_line(given)}".rstrip()
        whole = {**self._definition.parameters.defaults, **given}
        if bound is None or not _has_all(bound, whole):
            return plain
        return self._text(lambda: bound.call(whole, Context(self._cwd))) or plain

    def result(self, result: Result, given: Mapping[str, Any]) -> Result:
        """Return the result with what the user is to see of it."""
        bound = self._definition.render_result
        if bound is None:
            return result
        own = OwnResult(result.text, result.details, result.is_error, result.shown)
        shown = self._text(lambda: bound.call(given, Context(self._cwd), own))
        return result if shown is None else replace(result, shown=shown)

    def _text(self, work: Callable[[], Any]) -> str | None:
        if self._broken:
            return None
        try:
            value = _soon(work)
            return None if value is None else text_of(value, self._definition.name)
        except TimeoutError:
            self._broken = True
            log.warning("%s renders too slowly", self._definition.name)
        except Exception as error:
            # As like as not the arguments are half there: a call is shown while it arrives.
            log.info("%s could not be rendered: %s", self._definition.name, error)
        return None


def _has_all(bound: Bound, given: Mapping[str, Any]) -> bool:
    """Whether every argument the function needs is there: calls are shown while they arrive."""
    needed = (slot.name for slot in bound.slots if slot.kind == "named" and not slot.optional)
    return all(name in given for name in needed)


def _soon(work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns within a moment, else raise; it runs in a thread."""
    answer: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def main() -> None:
        try:
            with diverted(lambda text: None):
                value = work()
                if inspect.isawaitable(value):
                    raise TypeError("a function that renders is no async function")
            answer.put((value, None))
        except BaseException as error:
            answer.put((None, error))

    threading.Thread(target=main, name="render", daemon=True).start()
    try:
        value, error = answer.get(timeout=SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {SECONDS} s") from None
    if error is not None:
        raise RuntimeError(repr(error)) from error
    return value
