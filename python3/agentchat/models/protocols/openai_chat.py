"""The chat-completions protocol of OpenAI, which most other servers speak too."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentchat.core.messages import (
    FinishReason,
    History,
    Image,
    Note,
    Reply,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.core.tools.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.refusal import ServerRefusal, one_line
from agentchat.models.response.reply import ReplyAssembly

NO_RESULT = "There is no result: the call was not answered."
NOT_JSON = "_not_json"
"""The key under which arguments that are no JSON object go back, for servers that parse them."""

MOST_TOKENS = 10**12
"""A larger count (JSON allows ``Infinity``) is not one."""

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_ALTERNATE = re.compile(r"roles? must alternate|alternating (user|roles)", re.IGNORECASE)

WireMessage = dict[str, Any]


class OpenAIChat:
    """The protocol as one server speaks it; what that server refuses is learned.

    Args:
        tool_choice: it takes a forced ``tool_choice``.
        stream_options: it takes ``stream_options``.
        reasoning: it takes back the ``reasoning_content`` of a reply with calls.
        alternating: its template wants the user and the model to take turns.
    """

    path = "chat/completions"
    models_path = "models"

    def __init__(
        self,
        *,
        tool_choice: bool = True,
        stream_options: bool = True,
        reasoning: bool = True,
        alternating: bool = False,
    ) -> None:
        self.tool_choice = tool_choice
        self.stream_options = stream_options
        self.reasoning = reasoning
        self.alternating = alternating

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"Authorization": f"Bearer {key}"}

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """Return the JSON body of a streaming request.

        Args:
            model: the name the server knows; also tells whose reasoning is sent back.
        """
        sent = messages(request, model if self.reasoning else None)
        body: dict[str, Any] = {
            "model": model,
            "messages": merge_turns(sent) if self.alternating else sent,
            "stream": True,
        }
        if self.stream_options:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [tool_schema(tool) for tool in dry_run_first(request.tools)]
            if request.forced and self.tool_choice:
                body["tool_choice"] = {"type": "function", "function": {"name": request.forced}}
        return body

    def adapt(self, refusal: ServerRefusal, body: Mapping[str, Any]) -> bool:
        """Give up what the server does not take; return whether to send the request again."""
        if "tool_choice" in body and refusal.names("tool_choice"):
            self.tool_choice = False
        elif "stream_options" in body and refusal.names("stream_options"):
            self.stream_options = False
        elif self.reasoning and refusal.names("reasoning_content"):
            self.reasoning = False
        elif not self.alternating and _ALTERNATE.search(refusal.message):
            self.alternating = True
        else:
            return False
        return True

    def reader(self, reply: ReplyAssembly) -> OpenAIChatReader:
        """Return what reads one answer into ``reply``."""
        return OpenAIChatReader(reply)

    def model_names(self, page: object) -> list[str]:
        """Return the names in the server's list of models."""
        models = page.get("data") if isinstance(page, dict) else None
        models = models if isinstance(models, list) else []
        return [str(model["id"]) for model in models if isinstance(model, dict) and model.get("id")]


class OpenAIChatReader:
    """Reads the chunks of one answer into its reply."""

    def __init__(self, reply: ReplyAssembly) -> None:
        self.reply = reply
        self._choice: int | None = None
        self._reasoning_key = ""

    def is_answer(self, chunk: object) -> bool:
        """Whether a chunk is a part of an answer, and no mere sign of life."""
        return isinstance(chunk, dict) and bool(chunk.get("choices") or _error(chunk))

    def read(self, chunk: object) -> list[Piece]:
        """Take one decoded chunk; return what is new in it."""
        if not isinstance(chunk, dict):
            return []
        self._read_usage(chunk)
        if self.reply.is_finished or self.reply.error is not None:
            return []
        error = _error(chunk)
        if error is not None:
            self.reply.fail(error)
            return []
        choice = self._first_choice(chunk)
        return [] if choice is None else list(self._read_choice(choice))

    def _read_usage(self, chunk: dict[str, Any]) -> None:
        """Take the token count; some servers put it into the choice."""
        for holder in (chunk, *_dicts(chunk.get("choices"))):
            self.reply.usage = _usage(holder.get("usage")) or self.reply.usage

    def _first_choice(self, chunk: dict[str, Any]) -> dict[str, Any] | None:
        """Return the part of the choice that the stream began with, if there is one."""
        for choice in _dicts(chunk.get("choices")):
            index = choice.get("index") or 0
            if self._choice is None:
                self._choice = index
            if index == self._choice:
                return choice
        return None

    def _read_choice(self, choice: dict[str, Any]) -> Iterator[Piece]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) and self.reply.is_empty:
            delta = choice.get("message")
        if isinstance(delta, dict):
            yield from self._read_delta(delta)
        finish = choice.get("finish_reason")
        if finish == "error":
            self.reply.fail(_message(choice.get("error")))
        elif isinstance(finish, str) and finish:
            yield from self.reply.finish(FINISH_REASONS.get(finish, "unknown"))

    def _read_delta(self, delta: dict[str, Any]) -> Iterator[Piece]:
        yield from self.reply.add_reasoning(self._reasoning(delta))
        yield from self.reply.add_text(_text(delta.get("content") or delta.get("refusal")))
        calls = delta.get("tool_calls")
        for call in _dicts([calls] if isinstance(calls, dict) else calls):
            yield from self.reply.add_call(_fragment(call))
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and not calls:
            yield from self.reply.add_call(_fragment({"index": 0, "function": legacy}))

    def _reasoning(self, delta: dict[str, Any]) -> str:
        """Return the reasoning; some servers send the same text under two names."""
        for key in ("reasoning_content", "reasoning"):
            value = delta.get(key)
            if isinstance(value, str) and value and self._reasoning_key in ("", key):
                self._reasoning_key = key
                return value
        return ""


def dry_run_first(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools with those that can show a dry run first, else in their order."""
    return sorted(tools, key=lambda tool: not tool.capability.dry_run)


def tool_schema(tool: Tool) -> dict[str, Any]:
    """Return what the model reads of a tool."""
    function = {
        "name": tool.name,
        "description": model_description(tool),
        "parameters": model_schema(tool),
    }
    return {"type": "function", "function": function}


def messages(request: ModelRequest, reasoner: str | None) -> list[WireMessage]:
    """Return all messages, oldest first; each call is followed by exactly one answer.

    Args:
        reasoner: the model whose reasoning is sent back.
    """
    system = [{"role": "system", "content": request.system}] if request.system.strip() else []
    reminder = [{"role": "user", "content": request.reminder}] if request.reminder else []
    return [*system, *_history(request.history, reasoner), *reminder]


def merge_turns(messages: Iterable[WireMessage]) -> list[WireMessage]:
    """Return the messages with the user's joined to the user's or tool's message before them.

    Some templates refuse two messages of one side; images stay in a message of their own.
    """
    merged: list[WireMessage] = []
    for message in messages:
        last = merged[-1] if merged else {"role": ""}
        texts = isinstance(message["content"], str) and isinstance(last.get("content"), str)
        if message["role"] == "user" and last["role"] in ("user", "tool") and texts:
            merged[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def _history(history: History, reasoner: str | None) -> Iterator[WireMessage]:
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
            yield from _assistant(message, reasoner)
            yield from _results(message.calls, results)


def _assistant(reply: Reply, reasoner: str | None) -> Iterator[WireMessage]:
    """Yield the assistant's message, unless it is empty, which a server would refuse."""
    if not reply.text and not reply.calls:
        return
    message: WireMessage = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
        if reply.reasoning and reply.model == reasoner:
            message["reasoning_content"] = reply.reasoning
    yield message


def _call(call: ToolCall) -> dict[str, Any]:
    """Return a call as servers take it back: a name they allow, arguments they can parse."""
    name = _NAME.sub("_", call.name)[:64] or "_"
    function = {"name": name, "arguments": _parsable(call.arguments)}
    return {"id": _server_id(call), "type": "function", "function": function}


def _parsable(arguments: str) -> str:
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return arguments or "{}"
    return json.dumps({NOT_JSON: arguments}, ensure_ascii=False)


def _results(
    calls: tuple[ToolCall, ...], results: Mapping[str, ToolResult]
) -> Iterator[WireMessage]:
    """Yield one message a call, then their images, which a tool message cannot hold."""
    images: list[tuple[str, Image]] = []
    for call in calls:
        result = results.get(call.id)
        text = result.text if result else NO_RESULT
        yield {"role": "tool", "tool_call_id": _server_id(call), "content": text}
        images += [(call.name, image) for image in (result.images if result else ())]
    if images:
        names = ", ".join(dict.fromkeys(name for name, _ in images))
        text = f"Images in the results of {names}, in order:"
        yield {"role": "user", "content": _content(text, tuple(image for _, image in images))}


def _server_id(call: ToolCall) -> str:
    return call.provider_id or call.id


def _content(text: str, images: tuple[Image, ...]) -> str | list[dict[str, Any]]:
    if not images:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return parts + [{"type": "image_url", "image_url": {"url": _url(image)}} for image in images]


def _url(image: Image) -> str:
    return f"data:{image.mime};base64,{base64.b64encode(image.data).decode()}"


def _dicts(values: object) -> list[dict[str, Any]]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _fragment(call: dict[str, Any]) -> CallFragment:
    """Return an entry of ``tool_calls``; some servers send its arguments as an object."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    index, arguments = call.get("index"), function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return CallFragment(
        id=_string(call.get("id")),
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        name=_string(function.get("name")),
        arguments=_string(arguments),
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _text(content: object) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(_string(part.get("text")) for part in _dicts(content))


def _error(chunk: dict[str, Any]) -> str | None:
    """Return the message of a chunk that reports an error, else None."""
    if chunk.get("error"):
        return _message(chunk["error"])
    if chunk.get("object") == "error" or chunk.get("type") == "error":
        return _message(chunk)
    return None


def _message(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code")
    return one_line(str(error or "no reason given"))


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict) or not usage:
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cost: Any = usage.get("cost")
    is_known = isinstance(cost, (int, float)) and not isinstance(cost, bool)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(usage, "total_tokens") or prompt + completion,
        cost=float(cost) if is_known else None,
    )


def _count(usage: dict[str, Any], key: str) -> int:
    value = usage.get(key)
    return int(value) if isinstance(value, (int, float)) and 0 < value < MOST_TOKENS else 0
