"""Draws what was said in a chat that is opened again, a screenful at a time."""

from __future__ import annotations

import asyncio

from agentchat.agent.telling import call_look, last_look
from agentchat.core.messages import History, Message, Reply, ToolResult, UserText
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.view import Block, Screen

AT_ONCE = 20
"""Messages in one batch: the editor draws it in a few milliseconds."""

PAUSE_SECONDS = 1 / 30


async def replay(history: History, screen: Screen, toolbox: Toolbox) -> None:
    """Draw the messages, oldest first; no event says that any of it happens now."""
    for at, message in enumerate(history.messages):
        _draw(message, screen, toolbox)
        if at % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(PAUSE_SECONDS)


def _draw(message: Message, screen: Screen, toolbox: Toolbox) -> None:
    if isinstance(message, UserText):
        screen.user(message.shown or message.text)
    elif isinstance(message, Reply):
        _reply(message, screen, toolbox)
    elif isinstance(message, ToolResult):
        screen.block(message.call_id, last_look(message))


def _reply(reply: Reply, screen: Screen, toolbox: Toolbox) -> None:
    screen.begin_reply()
    if reply.reasoning:
        screen.reasoning(reply.reasoning)
    if reply.text:
        screen.text(reply.text)
    screen.finish_reply()
    for call in reply.calls:
        title = call_look(toolbox.find(call.name), call.name, call.arguments)
        screen.block(call.id, Block(title=title, tool=call.name, state="waiting"))
    if reply.error:
        screen.note("error", reply.error)
