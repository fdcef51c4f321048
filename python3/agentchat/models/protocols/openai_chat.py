"""A request as the chat-completions protocol wants it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentchat.core.messages import (
    History,
    Image,
    Note,
    Reply,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import offered_description, offered_schema
from agentchat.models.dialect import Dialect

NO_RESULT = "There is no result: the call was not answered."
NOT_JSON = "_not_json"
"""The key under which arguments that are no JSON object go back, for servers that parse them."""

_NAME = re.compile(r"[^A-Za-z0-9_-]")

Message = dict[str, Any]


def body(request: ModelRequest, model: str, dialect: Dialect) -> dict[str, Any]:
    """Return the JSON body of a streaming request.

    Args:
        model: the name the server knows; also tells whose reasoning is sent back.
        dialect: what this server takes.
    """
    said = messages(request, model)
    if dialect.alternating:
        said = merged(said)
    sent: dict[str, Any] = {"model": model, "messages": said, "stream": True}
    if dialect.usage:
        sent["stream_options"] = {"include_usage": True}
    if request.tools:
        sent["tools"] = [schema(tool) for tool in preview_first(request.tools)]
        if request.forced and dialect.forcing:
            sent["tool_choice"] = {"type": "function", "function": {"name": request.forced}}
    return sent


def preview_first(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools with those that can show a dry run first, else in their order."""
    return sorted(tools, key=lambda tool: not tool.capability.dry_run)


def schema(tool: Tool) -> dict[str, Any]:
    """Return what the model is told of a tool."""
    function = {
        "name": tool.name,
        "description": offered_description(tool),
        "parameters": offered_schema(tool),
    }
    return {"type": "function", "function": function}


def messages(request: ModelRequest, model: str) -> list[Message]:
    """Return all that was said, oldest first; each call is followed by exactly one answer."""
    system = [{"role": "system", "content": request.system}] if request.system.strip() else []
    reminder = [{"role": "user", "content": request.reminder}] if request.reminder else []
    return [*system, *_history(request.history, model), *reminder]


def merged(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with what follows a user's or a tool's said in the same breath.

    Some templates let nobody speak twice; images stay in a message of their own.
    """
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else {"role": ""}
        texts = isinstance(message["content"], str) and isinstance(last.get("content"), str)
        if message["role"] == "user" and last["role"] in ("user", "tool") and texts:
            out[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            out.append(message)
    return out


def _history(history: History, model: str) -> Iterable[Message]:
    results: dict[str, ToolResult] = {}
    for message in history.messages:
        if isinstance(message, ToolResult):
            results.setdefault(message.call_id, message)
    for message in history.messages:
        if isinstance(message, UserText):
            yield {"role": "user", "content": _content(message.text, message.images)}
        elif isinstance(message, Note):
            yield {"role": "user", "content": message.text}
        elif isinstance(message, Reply):
            yield from _reply(message, model)
            yield from _answers(message.calls, results)


def _reply(reply: Reply, model: str) -> Iterable[Message]:
    """Yield the assistant's message, unless it said nothing that a server would take."""
    if not reply.text and not reply.calls:
        return
    message: Message = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
        if reply.reasoning and reply.model == model:
            message["reasoning_content"] = reply.reasoning
    yield message


def _call(call: ToolCall) -> dict[str, Any]:
    """Return a call as servers take it back: a name they allow, arguments they can parse."""
    name = _NAME.sub("_", call.name)[:64] or "_"
    function = {"name": name, "arguments": _arguments(call.arguments)}
    return {"id": _wire_id(call), "type": "function", "function": function}


def _arguments(text: str) -> str:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return text or "{}"
    return json.dumps({NOT_JSON: text}, ensure_ascii=False)


def _answers(calls: tuple[ToolCall, ...], results: Mapping[str, ToolResult]) -> Iterable[Message]:
    """Yield one message a call, then their images, which a tool message cannot hold."""
    images: list[tuple[str, Image]] = []
    for call in calls:
        result = results.get(call.id)
        text = result.text if result else NO_RESULT
        yield {"role": "tool", "tool_call_id": _wire_id(call), "content": text}
        images += [(call.name, image) for image in (result.images if result else ())]
    if images:
        names = ", ".join(dict.fromkeys(name for name, _ in images))
        text = f"Images in the results of {names}, in order:"
        yield {"role": "user", "content": _content(text, tuple(image for _, image in images))}


def _wire_id(call: ToolCall) -> str:
    return call.provider_id or call.id


def _content(text: str, images: tuple[Image, ...]) -> str | list[dict[str, Any]]:
    if not images:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return parts + [{"type": "image_url", "image_url": {"url": _url(image)}} for image in images]


def _url(image: Image) -> str:
    return f"data:{image.mime};base64,{base64.b64encode(image.data).decode()}"
