"""The chat-completions protocol of OpenAI, which most other servers speak too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from agentchat.core.messages import FinishReason, Image, Reply, ToolCall, Usage
from agentchat.core.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    SKIP_SIGNATURE,
    Round,
    arguments_text,
    data_url,
    function_name,
    mark,
    mark_ends,
    server_id,
    short_id,
)
from agentchat.models.protocols.features import (
    feature,
    holds,
    holds_type,
    images,
    temperature,
    vendor_data,
)
from agentchat.models.protocols.protocol import Body, WireMessage, WireProtocol
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.events import (
    EventReader,
    count,
    error_message,
    integer,
    mapping,
    mappings,
    string,
)
from agentchat.models.response.reply import ReplyAssembly

if TYPE_CHECKING:
    from openai.types import chat
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.shared_params import FunctionDefinition

    class ChatBody(CompletionCreateParamsStreaming, total=False):
        """What is sent, with the field of OpenRouter."""

        reasoning: Mapping[str, str]

    class ChatCall(chat.ChatCompletionMessageFunctionToolCallParam, total=False):
        """A call, with the field of Gemini."""

        extra_content: Mapping[str, Any]

    class ChatReasoning(TypedDict, total=False):
        """The fields of other servers for reasoning."""

        reasoning_content: str
        reasoning_details: Sequence[Mapping[str, Any]]

    class ChatReply(chat.ChatCompletionAssistantMessageParam, ChatReasoning, total=False):
        """A reply with its reasoning."""


NAME: Final = "openai-chat"
NAMED_CHOICE = "tool_choice with a name"
SAME_ROLES = "two turns of one side"
LONG_IDS = "call ids of any length"
NO_REASONING = "replies without reasoning"
NOTHING_THOUGHT = " "
"""The reasoning of a reply that has none, for servers that want it in each one."""

ONLY_WORDS_SERVERS = frozenset({"llama.cpp"})
"""Servers that read a ``tool_choice`` only if it is a word, by what they call themselves."""
MOST_IGNORED = 3
"""Replies in a row without the forced call, after which the server counts as one of those."""

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def _lacks_reasoning(body: Mapping[str, Any]) -> bool:
    replies = (message for message in body["messages"] if message["role"] == "assistant")
    return any("reasoning_content" not in reply for reply in replies)


class OpenAIChatReader(EventReader):
    """Reads the chunks of one answer."""

    protocol = NAME

    def __init__(self, reply: ReplyAssembly) -> None:
        super().__init__(reply)
        self._choice: int | None = None
        self._reasoning_key = ""

    def _is_part(self, event: dict[str, Any]) -> bool:
        return bool(event.get("choices"))

    def _usage(self, event: dict[str, Any]) -> Usage | None:
        """Return the token count; some servers put it into the choice."""
        holders = (*reversed(mappings(event.get("choices"))), event)
        return next(filter(None, (_usage(holder.get("usage")) for holder in holders)), None)

    def _read(self, event: dict[str, Any]) -> Iterator[Piece]:
        """Take the part of the choice that the stream began with, if there is one."""
        for choice in mappings(event.get("choices")):
            index = choice.get("index") or 0
            if self._choice is None:
                self._choice = index
            if index == self._choice:
                yield from self._read_choice(choice)
                return

    def _read_choice(self, choice: dict[str, Any]) -> Iterator[Piece]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) and self.reply.is_empty:
            delta = choice.get("message")
        if isinstance(delta, dict):
            yield from self._read_delta(delta)
        finish = choice.get("finish_reason")
        if finish == "error":
            self.reply.fail(error_message(choice.get("error")))
        elif isinstance(finish, str) and finish:
            yield from self.reply.finish(FINISH_REASONS.get(finish, "unknown"))

    def _read_delta(self, delta: dict[str, Any]) -> Iterator[Piece]:
        yield from self.reply.add_reasoning(self._reasoning(delta))
        yield from self._keep_details(mappings(delta.get("reasoning_details")))
        content = delta.get("content")
        yield from self.reply.add_reasoning(_thought(content))
        yield from self.reply.add_text(_text(content or delta.get("refusal")))
        calls = delta.get("tool_calls")
        for call in mappings([calls] if isinstance(calls, dict) else calls):
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

    def _keep_details(self, details: list[dict[str, Any]]) -> list[Piece]:
        """Keep OpenRouter's ``reasoning_details``; pieces of one detail are joined."""
        if not details:
            return []
        kept = list(mapping(self.reply.opaque("thinking").get(NAME)).get("reasoning_details") or ())
        for detail in details:
            if kept and _continues(kept[-1], detail):
                kept[-1] = _joined(kept[-1], detail)
            else:
                kept.append(detail)
        return self.reply.attach("thinking", {NAME: {"reasoning_details": kept}})


def _fragment(call: dict[str, Any]) -> CallFragment:
    """Return an entry of ``tool_calls``; some servers send its arguments as an object."""
    function = mapping(call.get("function"))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    extra = call.get("extra_content")
    return CallFragment(
        id=string(call.get("id")),
        index=integer(call.get("index")),
        name=string(function.get("name")),
        arguments=string(arguments),
        opaque={NAME: {"extra_content": extra}} if extra else {},
    )


def _text(content: object) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(string(part.get("text")) for part in mappings(content))


def _thought(content: object) -> str:
    """Return the reasoning in a content that is a list of parts, as Mistral sends it."""
    return "".join(_text(part.get("thinking")) for part in mappings(content))


def _continues(before: dict[str, Any], detail: dict[str, Any]) -> bool:
    """Whether a detail is a later piece of the one before."""
    keys = ("type", "index")
    same = all(before.get(key) == detail.get(key) for key in keys) and "index" in detail
    return same and detail.get("type") != "reasoning.encrypted"


def _joined(before: dict[str, Any], detail: dict[str, Any]) -> dict[str, Any]:
    joined = dict(before)
    for key, value in detail.items():
        both = key in ("text", "summary") and isinstance(joined.get(key), str)
        if both and isinstance(value, str):
            joined[key] += value
        elif value is not None:
            joined[key] = value
    return joined


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict) or not usage:
        return None
    prompt, completion = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    cost: Any = usage.get("cost")
    is_known = isinstance(cost, (int, float)) and not isinstance(cost, bool)
    details = mapping(usage.get("prompt_tokens_details"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=count(usage, "total_tokens") or prompt + completion,
        cost=float(cost) if is_known else None,
        cache_read_tokens=count(details, "cached_tokens")
        or count(usage, "prompt_cache_hit_tokens"),
        cache_write_tokens=count(details, "cache_write_tokens"),
    )


class OpenAIChat(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    reader = OpenAIChatReader
    path = "chat/completions"
    written_calls = True
    features = (
        feature(
            NAMED_CHOICE,
            r"tool_choice.*(string|\bstr\b|required)",
            lambda body: isinstance(body.get("tool_choice"), dict),
        ),
        feature("tool_choice", "tool_choice"),
        feature("stream_options", "stream_options"),
        feature(
            NO_REASONING,
            r"reasoning.content\W.*\b(must be passed back|missing)|missing.*reasoning.content",
            _lacks_reasoning,
        ),
        feature(
            LONG_IDS,
            r"length of 9\b|tool_calls?\W.*\bid\b.*(too long|maximum length)",
            holds("tool_calls"),
        ),
        feature("reasoning_content", "reasoning_content", holds("reasoning_content")),
        vendor_data(
            "reasoning_details|extra_content|thought_?signature|thinking|signature",
            holds("reasoning_details", "extra_content"),
        ),
        feature("cache", "cache_control", holds("cache_control")),
        feature("max_tokens", "max_completion_tokens|max_tokens"),
        feature("reasoning_effort", "reasoning_effort|reasoning effort"),
        temperature(),
        images(holds_type("image_url")),
        feature(SAME_ROLES, r"roles? must alternate|alternating (user|roles)", lambda body: True),
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._ignored = 0
        """Replies in a row that ignored the forced tool."""
        if self.provider_name == "llamacpp":
            self.takes.give_up(NAMED_CHOICE)
        if self.provider_name == "mistral":
            self.takes.give_up(LONG_IDS)

    def _body(self, request: ModelRequest) -> Body:
        messages = self._messages(request)
        body: ChatBody = {
            "model": self.model,
            "messages": messages if SAME_ROLES in self.takes else merge_turns(messages),
            "stream": True,
        }
        if "stream_options" in self.takes:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [tool_schema(tool) for tool in request.tools]
        if forced := self.forced(request):
            self._force(body, forced, request.tools)
        self._add_options(body)
        return dict(body)

    def learn_from_headers(self, headers: Mapping[str, str]) -> None:
        """Recognise a server that ignores the name of a tool."""
        if headers.get("server", "").lower() in ONLY_WORDS_SERVERS:
            self.takes.give_up(NAMED_CHOICE)

    def learn_from_reply(self, request: ModelRequest, reply: Reply) -> None:
        """Learn that the server ignores the tool it is told to call.

        One reply may be an accident of the model, for servers do not all enforce the choice.
        """
        if not request.forced or reply.error is not None or reply.finish == "length":
            return
        called = any(call.name == request.forced for call in reply.calls)
        self._ignored = 0 if called else self._ignored + 1
        if self._ignored == MOST_IGNORED:
            self.takes.give_up(NAMED_CHOICE)

    def _force(self, body: ChatBody, name: str, tools: Iterable[Tool]) -> None:
        """Make the model call one tool.

        Some servers know only words, and some of these ignore anything else: they get that tool
        alone, and must call one.
        """
        if NAMED_CHOICE in self.takes:
            body["tool_choice"] = {"type": "function", "function": {"name": name}}
        else:
            body["tool_choice"] = "required"
            body["tools"] = [tool_schema(tool) for tool in tools if tool.name == name]

    def _add_options(self, body: ChatBody) -> None:
        options = self.options
        if options.effort and "reasoning_effort" in self.takes:
            if self.provider == "openrouter":
                body["reasoning"] = {"effort": options.effort}
            else:
                body["reasoning_effort"] = options.effort
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if options.max_tokens:
            is_old = "max_tokens" in self.takes
            body["max_tokens" if is_old else "max_completion_tokens"] = options.max_tokens

    def _messages(self, request: ModelRequest) -> list[Any]:
        """Return all messages; a model behind OpenRouter may want marks for the cache."""
        system: list[WireMessage] = [*system_message(request)]
        history = self.history(request)
        is_claude = self.provider_name == "openrouter" and self.model.startswith("anthropic/")
        if is_claude and "cache" in self.takes:
            system, history = [*map(mark, system)], mark_ends(history)
        return [*system, *history, *self.reminder(request)]

    def _reply(self, entry: Round) -> Iterator[ChatReply]:
        """Yield the assistant's message, unless it is empty, which a server would refuse."""
        reply = entry.reply
        calls = [self._call(entry, call, number) for number, call in enumerate(reply.calls)]
        if not reply.text and not calls:
            return
        message: ChatReply = {"role": "assistant", "content": reply.text or None}
        if calls:
            message["tool_calls"] = calls
        yield {**message, **self._reasoning(entry)}

    def _reasoning(self, entry: Round) -> ChatReasoning:
        """Return the reasoning that goes back: as the server sent it, or as text on tool turns."""
        reply = entry.reply
        kept = (self.opaque(reply, entry.index, p).get("reasoning_details") for p in entry.parts)
        details = [detail for given in kept for detail in mappings(given)]
        if details:
            return {"reasoning_details": details}
        is_same = reply.model == self.model and reply.provider in ("", self.provider)
        if NO_REASONING not in self.takes:
            return {"reasoning_content": (is_same and reply.reasoning) or NOTHING_THOUGHT}
        if reply.calls and reply.reasoning and is_same and "reasoning_content" in self.takes:
            return {"reasoning_content": reply.reasoning}
        return {}

    def _call(self, entry: Round, call: ToolCall, number: int) -> ChatCall:
        """Return a call as servers take it back: a name they allow, arguments they can parse."""
        sent: ChatCall = {
            "id": self._id(call),
            "type": "function",
            "function": {"name": function_name(call), "arguments": arguments_text(call)},
        }
        extra = mapping(self.opaque(entry.reply, entry.index, call).get("extra_content"))
        if not extra and number == 0 and self.provider == "gemini":
            extra = {"google": {"thought_signature": SKIP_SIGNATURE}}
        if extra:
            sent["extra_content"] = extra
        return sent

    def _id(self, call: ToolCall) -> str:
        id = server_id(call)
        return id if LONG_IDS in self.takes else short_id(id)

    def _results(self, entry: Round) -> Iterator[WireMessage]:
        """Yield one message a call, then their images, which a tool message cannot hold."""
        for answer in entry.answers:
            result: chat.ChatCompletionToolMessageParam = {
                "role": "tool",
                "tool_call_id": self._id(answer.call),
                "content": answer.text,
            }
            yield result
        yield from self.result_images(entry)

    def _user(
        self, text: str, images: tuple[Image, ...]
    ) -> Iterator[chat.ChatCompletionUserMessageParam]:
        parts: list[chat.ChatCompletionContentPartParam] = []
        if text:
            parts.append({"type": "text", "text": text})
        for image in images:
            parts.append({"type": "image_url", "image_url": {"url": data_url(image)}})
        yield {"role": "user", "content": parts if images else text}


def system_message(request: ModelRequest) -> list[chat.ChatCompletionSystemMessageParam]:
    """Return the system prompt as a message, if there is one."""
    return [{"role": "system", "content": request.system}] if request.system.strip() else []


def tool_schema(tool: Tool) -> chat.ChatCompletionFunctionToolParam:
    """Return what the model reads of a tool."""
    function: FunctionDefinition = {
        "name": tool.name,
        "description": model_description(tool),
        "parameters": model_schema(tool),
    }
    return {"type": "function", "function": function}


def merge_turns(messages: Iterable[WireMessage]) -> list[Any]:
    """Return the messages with the user's joined to the user's or tool's message before them.

    Some templates refuse two messages of one side; images stay in a message of their own.
    """
    merged: list[Any] = []
    for message in messages:
        last = merged[-1] if merged else {"role": ""}
        texts = isinstance(message["content"], str) and isinstance(last.get("content"), str)
        if message["role"] == "user" and last["role"] in ("user", "tool") and texts:
            merged[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged
