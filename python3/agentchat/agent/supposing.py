"""A call that nobody made: what ``bash git status`` or ``edit src/a.py`` would be."""

from __future__ import annotations

from agentchat.agent.surveying import survey
from agentchat.core.errors import UserError
from agentchat.core.messages import ToolCall
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Tool, Touch
from agentchat.core.turn.chat import Chat

USAGE = "Name a tool and what it would get, like: bash git status, or edit src/a.py."


async def suppose(chat: Chat, workspace: Workspace, text: str) -> tuple[Call, Place | str]:
    """Return the call that a text names, with its place, or why it would have none.

    Raises:
        UserError: no such tool, or nothing that it would get.
    """
    name, _, rest = text.strip().partition(" ")
    tool = next((t for t in chat.toolbox.everything() if name in _names(t)), None)
    if tool is None:
        raise UserError(f"There is no tool {name}. {USAGE}" if name else USAGE)
    touch = _touch(tool, rest.strip())
    call = Call(ToolCall("", tool.name, ""), tool, {}, None)
    return call, await survey(call, workspace, touch)


def _names(tool: Tool) -> tuple[str, ...]:
    return (tool.name, *tool.metadata.aliases)


def _touch(tool: Tool, rest: str) -> Touch:
    """Return what a call would touch, if its command or path were ``rest``."""
    fields = tool.arguments.schema().get("properties") or {}
    if not rest:
        return Touch()
    if "command" in fields:
        return Touch(command=rest)
    if "path" not in fields:
        return Touch()
    return Touch(reads=(rest,)) if tool.metadata.read_only else Touch(writes=(rest,))
