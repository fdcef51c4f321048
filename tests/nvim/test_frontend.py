"""Questions of tools on their way to the editor."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from agentchat.core.frontend import UserQuestion
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import LuaApi


class Session:
    """Keeps the questions that reach Lua: the id and the text of each."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._session = self

    def threadsafe_call(self, send: Any, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "ask_user.ask":
            _, id, (question,) = arguments
            self.asked.put_nowait((id, question["question"]))


async def test_a_question_waits_until_the_one_before_is_answered() -> None:
    session = Session()
    frontend = NvimFrontend(LuaApi(cast(Any, session)), "chat", "/")
    texts = ("first", "second")
    asking = [asyncio.ensure_future(frontend.ask([UserQuestion(text, "", ())])) for text in texts]
    for text, answers in zip(texts, asking, strict=True):
        id, shown = await session.asked.get()
        assert (shown, session.asked.empty()) == (text, True)
        frontend.answer(id, [[f"yes, {text}"]])
        assert await answers == [(f"yes, {text}",)]
