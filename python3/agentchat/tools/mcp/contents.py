"""What a server answers, as JSON data and bytes for the plugin."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from agentchat.core.text import clip

MOST_PAGES = 100
MOST_ITEMS = 2_000


async def read_lists(client: Client) -> dict[str, Any]:
    """Return what the server lists: ``tools``, ``resources``, ``templates`` and ``prompts``."""
    able = client.server_capabilities
    lists: dict[str, Any] = {"tools": [], "resources": [], "templates": [], "prompts": []}
    if able.tools is not None:
        lists["tools"] = await _all_pages(client.list_tools, "tools")
    if able.resources is not None:
        lists["resources"] = await _all_pages(client.list_resources, "resources")
        with contextlib.suppress(MCPError):
            name = "resource_templates"
            lists["templates"] = await _all_pages(client.list_resource_templates, name)
    if able.prompts is not None:
        lists["prompts"] = await _all_pages(client.list_prompts, "prompts")
    return lists


def drop_invalid_tools(note: Callable[[str], None], message: SessionMessage) -> None:
    """Take tools with which the SDK refuses the whole list out of a message; ``note`` which.

    The message is changed in place: the SDK has no hook between a message and its check.
    """
    result = getattr(message.message, "result", None) or {}
    tools = result.get("tools")
    if not isinstance(tools, list):
        return
    problems = [_tool_problem(tool) for tool in tools]
    result["tools"] = [tool for tool, problem in zip(tools, problems, strict=True) if not problem]
    for problem in filter(None, problems):
        note(problem)


def _tool_problem(tool: Any) -> str:
    try:
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tool]})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][2:]))
        name = tool.get("name") if isinstance(tool, dict) else tool
        return f'the tool "{clip(str(name), 60)}" was left out: {place}: {first["msg"]}'
    return ""


async def _all_pages(fetch: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
    items: list[Any] = []
    cursor = None
    seen: set[str | None] = set()
    while cursor not in seen and len(seen) < MOST_PAGES and len(items) < MOST_ITEMS:
        seen.add(cursor)
        page = await fetch(cursor=cursor)
        items += getattr(page, field)
        cursor = page.next_cursor or None
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


def result_data(result: types.CallToolResult) -> dict[str, Any]:
    """Return the result of a tool: ``parts`` of text and bytes, and whether it is an error."""
    parts = [_part(block) for block in result.content]
    structured = result.structured_content
    if structured is not None and not _repeats(parts, structured):
        text = json.dumps(structured, indent=2, ensure_ascii=False)
        parts.append({"text": f"Structured content:\n{text}" if parts else text})
    return {"parts": parts, "is_error": result.is_error}


def resource_data(item: Any) -> dict[str, Any]:
    """Return one part of a resource."""
    uri, mime = str(item.uri), item.mime_type or ""
    if isinstance(item, types.TextResourceContents):
        return {"text": item.text, "uri": uri, "mime": mime}
    return {"data": _decode(item.blob), "uri": uri, "mime": mime}


def prompt_data(result: types.GetPromptResult) -> list[dict[str, Any]]:
    """Return the messages of a prompt: ``role`` and part."""
    return [{"role": message.role, **_part(message.content)} for message in result.messages]


def _part(block: Any) -> dict[str, Any]:
    if isinstance(block, types.TextContent):
        return {"text": block.text}
    if isinstance(block, (types.ImageContent, types.AudioContent)):
        return {"data": _decode(block.data), "mime": block.mime_type}
    if isinstance(block, types.EmbeddedResource):
        return resource_data(block.resource)
    if isinstance(block, types.ResourceLink):
        about = ": ".join(filter(None, [block.title or block.name, block.description or ""]))
        return {"text": f"[resource {block.uri} ({about})]"}
    return {"text": f"[content of the type {getattr(block, 'type', 'unknown')}]"}


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return b""


def _repeats(parts: Iterable[dict[str, Any]], structured: Any) -> bool:
    """Whether the text of a result is its structured content already, as servers should do it.

    Of an object with one field the text may be the value alone: a text, JSON, or a part for each
    item of a list.
    """
    texts = [part["text"] for part in parts if "text" in part and "uri" not in part]
    shown = [texts, "\n".join(texts), *map(_parse, [*texts, f"[{','.join(texts)}]"])]
    is_wrapped = isinstance(structured, dict) and len(structured) == 1
    contents = [structured, *(structured.values() if is_wrapped else ())]
    return bool(texts) and any(content in shown for content in contents)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return object()
