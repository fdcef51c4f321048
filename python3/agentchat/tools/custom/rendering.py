"""How a user's functions render the calls and the results of one tool."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.limits import RESULT_BYTES
from agentchat.core.tools.tool import ShownArguments, ToolContext, ToolOutput, plain_title
from agentchat.tools.custom.declaration.spec import ToolSpec

log = logging.getLogger(__name__)

RENDER_SECONDS = 0.25
LIVE_SECONDS = 0.25
"""How often the output of a running call is rendered."""

MOST_KEPT = 100
"""Calls whose last rendered text is kept for the next one."""


class Renderer:
    """Renders with the functions of a tool, and plainly where these fail or are slow.

    Args:
        call: calls a function: takes the method, the arguments, its role and values.
        call_now: the same, blocking for at most some seconds.
    """

    def __init__(
        self, spec: ToolSpec, call: Callable[..., Awaitable[Any]], call_now: Callable[..., Any]
    ) -> None:
        self._spec = spec
        self._call = call
        self._call_now = call_now
        self._is_slow = False
        self._last: dict[tuple[str, str], str] = {}

    def render_call(self, arguments: Mapping[str, Any]) -> str:
        """Return the call in one line, from the arguments that have arrived."""
        plain = plain_title(self._spec.label or self._spec.name, arguments)
        names = self._spec.defaults.keys() | arguments.keys()
        if not self._renders("render_call") or not names >= set(self._spec.render_needs):
            return plain
        shown = arguments if isinstance(arguments, ShownArguments) else ShownArguments(arguments)
        key = ("render_call", shown.call_id)
        values = {"partial": shown.is_partial, "last_output": self._last.get(key)}
        try:
            rendered = self._call_now(dict(shown), "render_call", values, RENDER_SECONDS)
        except Exception as error:
            self._note_error(error)
            return plain
        text = "" if rendered is None else str(rendered["text"])
        return self._keep(key, text) or plain

    async def render_result(
        self, result: ToolOutput, arguments: Mapping[str, Any], call_id: str
    ) -> ToolOutput:
        """Return the result with the text that the user reads."""
        if not self._renders("render_result"):
            return result
        try:
            rendered = await self._render(result, arguments, call_id, partial=False)
        except Exception as error:
            self._note_error(error)
            return result
        self._last.pop(("render_result", call_id), None)
        return result if rendered is None else replace(result, display_text=rendered)

    def live_output(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> LiveRendering | None:
        """Return what renders the output while the call runs, if the tool wants that."""
        if not (self._spec.renders_partial and self._renders("render_result")):
            return None

        async def render(text: str) -> str | None:
            try:
                output = ToolOutput(text)
                return await self._render(output, arguments, context.call_id, partial=True)
            except Exception as error:
                self._note_error(error)
                return None

        return LiveRendering(render, context)

    async def _render(
        self, result: ToolOutput, arguments: Mapping[str, Any], call_id: str, *, partial: bool
    ) -> str | None:
        given = [{name: getattr(result, name) for name in ("text", "details", "is_error")}]
        given[0]["shown"] = result.display_text
        key = ("render_result", call_id)
        # All of it is in the buffer, where Neovim folds what is long.
        values = {"expanded": True, "partial": partial, "last_output": self._last.get(key)}
        async with asyncio.timeout(None if partial else RENDER_SECONDS):
            rendered = await self._call(
                "hook", arguments, role="render_result", given=given, values=values
            )
        return None if rendered is None else self._keep(key, str(rendered["text"]))

    def _renders(self, role: str) -> bool:
        """Whether to call a function that renders; not again after it was slow."""
        return role in self._spec.hooks and not self._is_slow

    def _keep(self, key: tuple[str, str], text: str) -> str:
        self._last[key] = text
        if len(self._last) > MOST_KEPT:
            del self._last[next(iter(self._last))]
        return text

    def _note_error(self, error: Exception) -> None:
        # Often the arguments are incomplete: a call is shown while it arrives.
        log.info("%s could not be rendered: %r", self._spec.name, error)
        self._is_slow = self._is_slow or isinstance(error, TimeoutError)


class LiveRendering:
    """Renders the output of a running call again and again; its newest part, if it is long.

    ``render`` returns ``None`` if it fails: then the output is shown as it is.
    """

    def __init__(
        self, render: Callable[[str], Awaitable[str | None]], context: ToolContext
    ) -> None:
        self._render = render
        self._context = context
        self._text = ""
        self._task: asyncio.Task[None] | None = None
        self._has_failed = False

    def add(self, text: str) -> None:
        """Take a piece of the output."""
        self._text = (self._text + text)[-RESULT_BYTES:]
        if self._has_failed:
            self._context.progress(text)
        elif self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._show())

    def close(self) -> None:
        """Render no more: the result is there."""
        if self._task is not None:
            self._task.cancel()

    async def _show(self) -> None:
        shown = ""
        while shown != self._text:
            shown = self._text
            rendered = await self._render(shown)
            if rendered is None:
                self._has_failed = True
                self._context.show(self._text)
                return
            self._context.show(rendered)
            await asyncio.sleep(LIVE_SECONDS)
