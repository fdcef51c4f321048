"""Lets a tool say its result in its own words, to the model and to the user."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

from agentchat.core.messages import ToolResult
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolbox

log = logging.getLogger(__name__)

PHRASE_SECONDS = 2.0


class Phrasing:
    """Applies the ``result`` hook of tools, once to the result of each call.

    A hook changes what is said, never which call ended how. One that raises, takes too long or
    returns something else changes nothing.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._done: set[str] = set()

    async def phrased(self, result: ToolResult) -> ToolResult:
        """Return the result as its tool says it."""
        tool = self._toolbox.find(result.name)
        if result.call_id in self._done or tool is None or tool.hooks.result is None:
            return result
        self._done.add(result.call_id)
        try:
            said = await _said(tool, result)
        except Exception:
            log.exception("%s could not say its result", tool.name)
            return result
        return replace(
            result, text=said.text, shown=said.shown, details=said.details, images=said.images
        )


async def _said(tool: Tool, result: ToolResult) -> ToolResult:
    hook = tool.hooks.result
    assert hook is not None
    said: Any = await asyncio.wait_for(asyncio.to_thread(hook, result), PHRASE_SECONDS)
    if not isinstance(said, ToolResult) or not isinstance(said.text, str):
        raise TypeError(f"the hook returned {type(said).__name__}, no result")
    phrased: ToolResult = said
    return phrased
