"""What tools may ask of the user's Neovim, for one chat."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import SEVERITIES, Diagnostic, Inquiry
from agentchat.nvim.lua_api import Bridge, settle

QUESTIONS, DIAGNOSTICS = "agentchat.questions", "agentchat.diagnostics"

NOBODY = (
    "Nobody can be asked: the editor runs without a screen. Decide yourself and say what you "
    "assumed, or end your answer with the question."
)

Answers = Sequence[tuple[str, ...]]


class NvimFrontend:
    """Asks Lua's ``agentchat.questions`` and ``agentchat.diagnostics``.

    A question is a notification; its answer comes back as an event, whenever the user gives it.
    """

    def __init__(self, bridge: Bridge, chat: str, root: str) -> None:
        self._bridge = bridge
        self._chat = chat
        self._root = root
        self._open: dict[str, asyncio.Future[Answers]] = {}
        self.attended = True
        """Whether somebody sees the editor."""

    async def ask(self, questions: Sequence[Inquiry]) -> Answers:
        """Put questions one after the other; cancelling this closes the one that is shown."""
        if not self.attended:
            raise ToolError(NOBODY)
        name = uuid.uuid4().hex
        answer: asyncio.Future[Answers] = asyncio.get_running_loop().create_future()
        self._open[name] = answer
        self._bridge.call(QUESTIONS, "ask", self._chat, name, [_table(one) for one in questions])
        try:
            return await answer
        finally:
            del self._open[name]
            self._bridge.call(QUESTIONS, "close", self._chat, name)

    def answer(self, name: str, answers: Sequence[Sequence[str]]) -> None:
        """Take the answers of the user; those to questions that are not open do nothing."""
        waiting = self._open.get(name)
        if waiting is not None:
            settle(waiting, waiting.set_result, [tuple(map(str, given)) for given in answers])

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        """Return what ``vim.diagnostic`` holds of the workspace, or of one path in it."""
        mildest = SEVERITIES.index(severity or SEVERITIES[-1]) + 1
        found = await self._bridge.request(DIAGNOSTICS, "list", path or self._root, mildest)
        listed = [_diagnostic(item) for item in found]
        return sorted(listed, key=lambda item: (item.path, item.line, item.column))


def _table(one: Inquiry) -> dict[str, Any]:
    """Return a question as ``agentchat.questions.ask`` takes it."""
    return {
        "question": one.question,
        "header": one.header,
        "options": [
            {"label": option.label, "description": option.description} for option in one.options
        ],
        "multi": one.multi_select,
    }


def _diagnostic(item: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(
        path=item["path"],
        line=item["line"],
        column=item["column"],
        severity=SEVERITIES[item["severity"] - 1],
        message=item["message"],
        source=item.get("source") or "",
        code=item.get("code") or "",
    )
