"""What the gate would say of a call, without making it: ``:AgentApprovals explain``."""

from __future__ import annotations

from agentchat.agent.surveying import survey
from agentchat.core.approval import Decision, decide
from agentchat.core.calls import Call, Place
from agentchat.core.chat import Chat
from agentchat.core.errors import UserError
from agentchat.core.escapes import escape
from agentchat.core.messages import ToolCall
from agentchat.core.ports import Workspace
from agentchat.core.rules import UNRULED, PartVerdict
from agentchat.core.tool import Tool, Touch

USAGE = "Name a tool and what it would get, like: bash git status, or edit src/a.py."


async def explain(chat: Chat, workspace: Workspace, text: str) -> list[str]:
    """Return which rule, mode or answer would decide a call like ``bash git status``.

    Raises:
        UserError: no such tool, or nothing that it would get.
    """
    name, _, rest = text.strip().partition(" ")
    tool = next((t for t in chat.toolbox.everything() if name in _names(t)), None)
    if tool is None:
        raise UserError(f"There is no tool {name}. {USAGE}" if name else USAGE)
    touch = _touch(tool, rest.strip())
    call = Call(ToolCall("", tool.name, ""), tool, {}, None)
    place = await survey(call, workspace, touch)
    if isinstance(place, str):
        return [escape(text), "", f"error: {place}"]
    return [escape(text), "", *_told(decide(call, place, chat.policy), place, chat.policy.mode)]


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


def _told(decision: Decision, place: Place, mode: str) -> list[str]:
    lines = [f"verdict   {decision.verdict.value}", f"because   {escape(decision.why)}"]
    lines += [f"mode      {mode}"]
    lines += [f"path      {escape(t.path)} ({t.zone.value})" for t in (*place.reads, *place.writes)]
    if place.command is not None:
        lines += [f"in        {escape(place.cwd)}"]
    if decision.scope is not None:
        lines += [f"always    {escape(decision.scope.shown)}"]
    return [*lines, *part_lines(decision)]


def part_lines(decision: Decision) -> list[str]:
    """Return a line for each part of a command: its verdict, its text, and why."""
    if not decision.parts:
        return []
    lines = [f"  {judged.action:<5}  {part_text(judged)}" for judged in decision.parts]
    return ["", "parts", *lines]


def part_text(judged: PartVerdict) -> str:
    """Return a part of a command in one line, with the reason of its verdict and what it writes."""
    writes = [f"writes {path}" for path in judged.part.writes if path not in judged.why]
    source = " ".join(judged.part.source.split())
    said = [why for why in (judged.why, *writes) if why != UNRULED]
    return escape(f"{source}  ({'; '.join(said)})" if said else source)
