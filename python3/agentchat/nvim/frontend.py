"""Questions and diagnostics that the tools of one chat request from Neovim."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.frontend import SEVERITIES, Diagnostic, UserQuestion
from agentchat.nvim.lua_api import LuaApi

UNATTENDED = (
    "Nobody can be asked: the editor runs without a screen. Decide yourself and say what you "
    "assumed, or end your answer with the question."
)

Answers = Sequence[tuple[str, ...]]


class NvimFrontend:
    """Shows questions and reads diagnostics of one chat.

    A question is a notification to Lua; the answer arrives as an event.
    """

    def __init__(self, lua: LuaApi, chat: str, root: str) -> None:
        self._lua = lua
        self._chat = chat
        self._root = root
        self._open: dict[str, asyncio.Future[Answers]] = {}
        self._asking = asyncio.Lock()
        self.attended = True
        """Whether somebody sees the editor."""

    async def ask(self, questions: Sequence[UserQuestion]) -> Answers:
        """Put questions one after the other; cancelling this closes the one that is shown.

        Questions that are asked meanwhile wait: a chat shows one at a time.
        """
        async with self._asking:
            return await self._ask(questions)

    async def _ask(self, questions: Sequence[UserQuestion]) -> Answers:
        if not self.attended:
            raise ToolError(UNATTENDED)
        id = uuid.uuid4().hex
        answer: asyncio.Future[Answers] = asyncio.get_running_loop().create_future()
        self._open[id] = answer
        self._lua.call("ask_user.ask", self._chat, id, [_table(each) for each in questions])
        try:
            return await answer
        finally:
            del self._open[id]
            self._lua.call("ask_user.close", self._chat, id)

    def answer(self, id: str, answers: Sequence[Sequence[str]]) -> None:
        """Take the user's answers; answers to closed questions do nothing."""
        answer = self._open.get(id)
        if answer is not None and not answer.done():
            answer.set_result([tuple(map(str, texts)) for texts in answers])

    async def decide_option(self, tool: str, option: str, arguments: Mapping[str, Any]) -> bool:
        """Return what a Lua function in ``tools.opts`` says about a call; raises its error."""
        answer = await self._lua.request(
            "tool_options.decide", self._chat, tool, option, dict(arguments)
        )
        return bool(answer)

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        """Return the diagnostics of the workspace, or of one path in it."""
        mildest = SEVERITIES.index(severity or SEVERITIES[-1]) + 1
        tables = await self._lua.request("diagnostics.list", path or self._root, mildest)
        diagnostics = [_diagnostic(table) for table in tables]
        return sorted(diagnostics, key=lambda item: (item.path, item.line, item.column))


def _table(question: UserQuestion) -> dict[str, Any]:
    options = question.options
    return {
        "question": question.question,
        "header": question.header,
        "options": [{"label": each.label, "description": each.description} for each in options],
        "multi": question.multi_select,
        "open": question.is_open,
        "optional": question.is_optional,
        "by_model": question.by_model,
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
