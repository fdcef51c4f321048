"""How calls and results look, by functions of the user's that must not hold up a screen."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.tools.tool import Result, one_line
from agentchat.tools.custom.calling import Calling
from agentchat.tools.custom.wire import result_told

log = logging.getLogger(__name__)

SECONDS = 0.25


class Renderer:
    """Renders for one tool; a function that keeps a screen waiting is not asked again."""

    def __init__(self, calling: Calling, cwd: str) -> None:
        self._calling = calling
        self._tool = calling.tool
        self._cwd = cwd
        self._broken = False

    def call(self, given: Mapping[str, Any]) -> str:
        """Return the call in one line, from whatever arguments have arrived."""
        plain = f"{self._tool.name} {one_line(given)}".rstrip()
        whole = {**self._tool.defaults, **given}
        if not all(name in whole for name in self._tool.render_needs):
            return plain
        return self._text("render_call", given) or plain

    def result(self, result: Result, given: Mapping[str, Any]) -> Result:
        """Return the result with what the user is to see of it."""
        shown = self._text("render_result", given, ["result", result_told(result)])
        return result if shown is None else replace(result, shown=shown)

    def _text(self, role: str, given: Mapping[str, Any], *first: Any) -> str | None:
        if self._broken or role not in self._tool.hooks:
            return None
        try:
            text = self._calling.soon(role, given, self._cwd, SECONDS, *first)
            return None if text is None else str(text)
        except TimeoutError:
            self._broken = True
            log.warning("%s renders too slowly", self._tool.name)
        except Exception as error:
            # As like as not the arguments are half there: a call is shown while it arrives.
            log.info("%s could not be rendered: %s", self._tool.name, error)
        return None
