"""What a server answers, as JSON data and bytes for the plugin."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

import mcp_types as types


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
    """Whether the text of a result is its structured content already, as servers should do it."""
    texts = [part["text"] for part in parts if "text" in part and "uri" not in part]
    candidates = [*texts, f"[{','.join(texts)}]"]
    plain = structured.get("result") if isinstance(structured, dict) else None
    if plain is not None and texts and (plain == "\n".join(texts) or plain == texts):
        return True
    return any(_parse(text) in (structured, plain) for text in candidates if text)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return object()
