"""A history as every protocol sends it: each call has an answer, invalid parts are repaired."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import (
    Image,
    Message,
    Note,
    Reply,
    ReplyPart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserText,
)

if TYPE_CHECKING:
    from anthropic.types import CacheControlEphemeralParam

NO_RESULT = "There is no result: the call was not answered."
NOT_JSON = "_not_json"
"""The key under which arguments that are no JSON object go back, for servers that parse them."""

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini takes in place of the signature of a call that it did not make."""

EPHEMERAL: CacheControlEphemeralParam = {"type": "ephemeral"}
"""The mark of a block for the cache."""

NO_IMAGES = "[{count} left out: this model takes no images.]"

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


@frozen
class Answer:
    """The answer to a call; without a result, a text that there is none."""

    call: ToolCall
    result: ToolResult | None

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.result.text if self.result else NO_RESULT

    @property
    def images(self) -> tuple[Image, ...]:
        """What the model sees."""
        return self.result.images if self.result else ()

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return self.result is None or self.result.is_error


@frozen
class Round:
    """A reply with the answers to its calls; ``index`` is the reply's place in the history."""

    index: int
    reply: Reply
    answers: tuple[Answer, ...]

    @property
    def parts(self) -> tuple[ReplyPart, ...]:
        """The parts to send: reasoning at the end, after which nothing came, is left out."""
        parts = [p for p in self.reply.parts if isinstance(p, ToolCall) or p.text or p.opaque]
        while parts and isinstance(parts[-1], ThinkingPart):
            parts.pop()
        has_content = any(isinstance(p, ToolCall) or _is_text(p) for p in parts)
        return tuple(parts) if has_content else ()


Entry = UserText | Note | Round


def entries(messages: Sequence[Message], start: int = 0) -> Iterator[Entry]:
    """Yield messages with each call's one answer beside it; ``start`` is the place of the first."""
    results: dict[str, ToolResult] = {}
    for message in messages:
        if isinstance(message, ToolResult):
            results.setdefault(message.call_id, message)
    for index, message in enumerate(messages, start):
        if isinstance(message, Reply):
            answers = (Answer(call, results.get(call.id)) for call in message.calls)
            yield Round(index, message, tuple(answers))
        elif not isinstance(message, ToolResult):
            yield message


def function_name(call: ToolCall) -> str:
    """Return the name of a call as servers take it."""
    return _NOT_IN_NAMES.sub("_", call.name)[:64] or "_"


def arguments_text(call: ToolCall) -> str:
    """Return the arguments as sent, or a JSON object that holds them."""
    if _parsed(call) is not None:
        return call.arguments or "{}"
    return json.dumps({NOT_JSON: call.arguments}, ensure_ascii=False)


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as an object."""
    value = _parsed(call)
    return {NOT_JSON: call.arguments} if value is None else value


def server_id(call: ToolCall) -> str:
    """Return the id of a call as its server sent it."""
    return call.provider_id or call.id


def plain_id(id: str) -> str:
    """Return an id of letters, digits, ``_`` and ``-``; other ids stay apart by a hash."""
    if _PLAIN_ID.fullmatch(id):
        return id
    digest = hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_NOT_IN_NAMES.sub('_', id)[:40]}_{digest}"


def short_id(id: str) -> str:
    """Return an id of nine letters and digits, which Mistral insists on."""
    if _SHORT_ID.fullmatch(id):
        return id
    return hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:9]


def mark_ends(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages with the ends of the request before and of this one marked.

    Servers of Anthropic's models cache what comes before a mark.
    """
    replies = (i for i in reversed(range(len(messages))) if messages[i]["role"] == "assistant")
    ends = {next(replies, 0) - 1, len(messages) - 1}
    return [mark(message) if i in ends else message for i, message in enumerate(messages)]


def mark(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message with its last part marked; a reply, and one without text, stay as is."""
    content = message["content"]
    if message["role"] == "assistant" or not content:
        return message
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": EPHEMERAL}]}


def images_intro(names: Iterable[str]) -> str:
    """Return the line that introduces images which are not part of their result."""
    return f"Images in the results of {', '.join(dict.fromkeys(names))}, in order:"


def without_images(text: str, images: tuple[Image, ...]) -> str:
    """Return the text with a note in place of the images."""
    if not images:
        return text
    note = NO_IMAGES.format(count=f"{len(images)} image{'s' if len(images) > 1 else ''}")
    return f"{text}\n\n{note}" if text else note


def base64_of(image: Image) -> str:
    """Return the data of an image as text."""
    return base64.b64encode(image.data).decode()


def data_url(image: Image) -> str:
    """Return an image as a URL that holds it."""
    return f"data:{image.mime};base64,{base64_of(image)}"


def _is_text(part: ReplyPart) -> bool:
    return isinstance(part, TextPart) and bool(part.text.strip())


def _parsed(call: ToolCall) -> dict[str, Any] | None:
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
