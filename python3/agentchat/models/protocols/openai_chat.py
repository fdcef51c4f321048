"""The chat-completions protocol of OpenAI, which most other servers speak too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from agentchat.core.messages import (
    FinishReason,
    Image,
    Reply,
    ThinkingPart,
    ToolCall,
    Usage,
)
from agentchat.core.tools.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    Answer,
    Entry,
    Round,
    arguments_text,
    count,
    data_url,
    error_in,
    error_message,
    function_name,
    images_intro,
    integer,
    mapping,
    mappings,
    server_id,
    short_id,
    string,
    without_images,
)
from agentchat.models.protocols.options import ModelOptions
from agentchat.models.protocols.protocol import (
    IMAGES_REFUSED,
    NO_IMAGES_NOTICE,
    REASONING_REFUSED,
    SKIP_SIGNATURE,
    VENDOR_DATA,
    Body,
    Feature,
    WireProtocol,
    feature,
    merge,
)
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.stream import Framing

NAME: Final = "openai-chat"
NAMED_CHOICE = "tool_choice with a name"
LONG_IDS = "call ids of any length"
NO_REASONING = "replies without reasoning"
NOTHING_THOUGHT = " "
"""The reasoning of a reply that has none, for servers that want it in each one."""

ONLY_WORDS_SERVERS = frozenset({"llama.cpp"})
"""Servers that read a ``tool_choice`` only if it is a word, by what they call themselves."""
MOST_IGNORED = 3
"""Replies in a row without the forced call, after which the server counts as one of those."""

CACHED = {"type": "ephemeral"}

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}

_ALTERNATE = r"roles? must alternate|alternating (user|roles)"

WireMessage = dict[str, Any]


def _sends(key: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return the check whether a message of a body, or one of its calls, has a key."""

    def check(body: Mapping[str, Any]) -> bool:
        messages = body["messages"]
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        return any(key in holder for holder in (*messages, *calls))

    return check


def _sends_images(body: Mapping[str, Any]) -> bool:
    parts = [p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]]
    return any(part.get("type") == "image_url" for part in parts)


class OpenAIChat(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    written_calls = True
    features = (
        Feature(
            NAMED_CHOICE,
            re.compile(r"tool_choice.*(string|\bstr\b|required)", re.I | re.S),
            lambda body: isinstance(body.get("tool_choice"), dict),
        ),
        feature("tool_choice", "tool_choice"),
        feature("stream_options", "stream_options"),
        Feature(
            NO_REASONING,
            re.compile(
                r"reasoning.content\W.*\b(must be passed back|missing)|missing.*reasoning.content",
                re.I,
            ),
            lambda body: any(
                message["role"] == "assistant" and "reasoning_content" not in message
                for message in body["messages"]
            ),
        ),
        Feature(
            LONG_IDS,
            re.compile(r"length of 9\b|tool_calls?\W.*\bid\b.*(too long|maximum length)", re.I),
            _sends("tool_calls"),
        ),
        Feature("reasoning_content", re.compile("reasoning_content"), _sends("reasoning_content")),
        Feature(
            VENDOR_DATA,
            re.compile(
                "reasoning_details|extra_content|thought_?signature|thinking|signature", re.I
            ),
            lambda body: _sends("reasoning_details")(body) or _sends("extra_content")(body),
            REASONING_REFUSED,
        ),
        Feature("cache", re.compile("cache_control"), lambda body: "cache_control" in str(body)),
        feature("max_tokens", "max_completion_tokens|max_tokens"),
        feature("reasoning_effort", "reasoning_effort|reasoning effort"),
        feature("temperature", "temperature", notice="The model takes no temperature."),
        Feature(
            "images",
            IMAGES_REFUSED,
            _sends_images,
            NO_IMAGES_NOTICE,
        ),
        Feature("two turns of one side", re.compile(_ALTERNATE, re.I), lambda body: True),
    )

    def __init__(
        self,
        model: str,
        provider: str = "",
        options: ModelOptions | None = None,
        refused: Collection[str] = (),
    ) -> None:
        super().__init__(model, provider, options, refused)
        self._ignored = 0
        """Replies in a row that ignored the forced tool."""
        if provider.partition("@")[0] == "llamacpp":
            self.takes.give_up(NAMED_CHOICE)
        if provider.partition("@")[0] == "mistral":
            self.takes.give_up(LONG_IDS)

    @property
    def path(self) -> str:
        """Where requests go."""
        return "chat/completions"

    def body(self, request: ModelRequest) -> Body:
        """Return the JSON body of a streaming request."""
        messages = self._messages(request)
        alternating = "two turns of one side" not in self.takes
        body: Body = {
            "model": self.model,
            "messages": merge_turns(messages) if alternating else messages,
            "stream": True,
        }
        if "stream_options" in self.takes:
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = [tool_schema(tool) for tool in request.tools]
            if request.forced and "tool_choice" in self.takes:
                body.update(self._forced_choice(request.forced, request.tools))
        return merge({**body, **self._options()}, self.options.params)

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

    def _forced_choice(self, name: str, tools: Iterable[Tool]) -> Body:
        """Return what makes the model call one tool.

        Some servers know only words, and some of these ignore anything else: they get that tool
        alone, and must call one.
        """
        if NAMED_CHOICE in self.takes:
            return {"tool_choice": {"type": "function", "function": {"name": name}}}
        forced = [tool_schema(tool) for tool in tools if tool.name == name]
        return {"tool_choice": "required", "tools": forced}

    def reader(self, reply: ReplyAssembly) -> OpenAIChatReader:
        """Return what reads one answer into ``reply``."""
        return OpenAIChatReader(reply)

    def _options(self) -> Body:
        options, body = self.options, Body()
        if options.effort and "reasoning_effort" in self.takes:
            if self.provider == "openrouter":
                body["reasoning"] = {"effort": options.effort}
            else:
                body["reasoning_effort"] = options.effort
        if options.temperature is not None and "temperature" in self.takes:
            body["temperature"] = options.temperature
        if options.max_tokens:
            is_old = "max_tokens" in self.takes
            body["max_tokens" if is_old else "max_completion_tokens"] = options.max_tokens
        return body

    def _messages(self, request: ModelRequest) -> list[WireMessage]:
        """Return all messages, oldest first; each call is followed by exactly one answer."""
        system = [{"role": "system", "content": request.system}] if request.system.strip() else []
        reminder = [{"role": "user", "content": request.reminder}] if request.reminder else []
        history = self.wire.convert(request.history, self._entry)
        return [*self._marked([*system, *history]), *reminder]

    def _marked(self, messages: list[WireMessage]) -> list[WireMessage]:
        """Mark for the cache where a model behind OpenRouter wants it, as ``anthropic`` does.

        The places are the system prompt and the ends of the request before and of this one.
        """
        is_routed = self.provider.partition("@")[0] == "openrouter"
        if not is_routed or not self.model.startswith("anthropic/") or "cache" not in self.takes:
            return messages
        replies = (i for i in reversed(range(len(messages))) if messages[i]["role"] == "assistant")
        places = {0, next(replies, 1) - 1, len(messages) - 1}
        return [_cached(m) if i in places else m for i, m in enumerate(messages)]

    def _entry(self, entry: Entry) -> Iterator[WireMessage]:
        if isinstance(entry, Round):
            yield from self._assistant(entry)
            yield from self._results(entry.answers)
        else:
            images = getattr(entry, "images", ())
            yield {"role": "user", "content": self._content(entry.text, images)}

    def _assistant(self, entry: Round) -> Iterator[WireMessage]:
        """Yield the assistant's message, unless it is empty, which a server would refuse."""
        reply = entry.reply
        if not reply.text and not reply.calls:
            return
        message: WireMessage = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                self._call(entry, call, is_first=index == 0)
                for index, call in enumerate(reply.calls)
            ]
        yield {**message, **self._reasoning(entry)}

    def _reasoning(self, entry: Round) -> WireMessage:
        """Return the reasoning that goes back: as the server sent it, or as text on tool turns."""
        reply = entry.reply
        thoughts = [part for part in entry.parts if isinstance(part, ThinkingPart)]
        details = [
            detail
            for part in thoughts
            for detail in mappings(self.opaque(reply, entry.index, part).get("reasoning_details"))
        ]
        if details:
            return {"reasoning_details": details}
        is_same = reply.model == self.model and reply.provider in ("", self.provider)
        if NO_REASONING not in self.takes:
            return {"reasoning_content": (is_same and reply.reasoning) or NOTHING_THOUGHT}
        if reply.calls and reply.reasoning and is_same and "reasoning_content" in self.takes:
            return {"reasoning_content": reply.reasoning}
        return {}

    def _call(self, entry: Round, call: ToolCall, is_first: bool) -> dict[str, Any]:
        """Return a call as servers take it back: a name they allow, arguments they can parse."""
        function = {"name": function_name(call), "arguments": arguments_text(call)}
        sent: dict[str, Any] = {"id": self._id(call), "type": "function", "function": function}
        extra = mapping(self.opaque(entry.reply, entry.index, call).get("extra_content"))
        if not extra and is_first and self.provider == "gemini":
            extra = {"google": {"thought_signature": SKIP_SIGNATURE}}
        return {**sent, "extra_content": extra} if extra else sent

    def _id(self, call: ToolCall) -> str:
        id = server_id(call)
        return id if LONG_IDS in self.takes else short_id(id)

    def _results(self, answers: tuple[Answer, ...]) -> Iterator[WireMessage]:
        """Yield one message a call, then their images, which a tool message cannot hold."""
        images: list[tuple[str, Image]] = []
        for answer in answers:
            yield {"role": "tool", "tool_call_id": self._id(answer.call), "content": answer.text}
            images += [(answer.call.name, image) for image in answer.images]
        if images:
            pictures = tuple(image for _, image in images)
            yield {"role": "user", "content": self._content(images_intro(images), pictures)}

    def _content(self, text: str, images: tuple[Image, ...]) -> str | list[dict[str, Any]]:
        if not images:
            return text
        if "images" not in self.takes:
            return without_images(text, images)
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        urls = ({"url": data_url(image)} for image in images)
        return parts + [{"type": "image_url", "image_url": url} for url in urls]


def _cached(message: WireMessage) -> WireMessage:
    """Return the message with its last part marked; one without text is left as it is."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if message["role"] == "assistant" or not content:
        return message
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": CACHED}]}


class OpenAIChatReader:
    """Reads the chunks of one answer into its reply."""

    protocol = NAME
    framing: Framing = "sse"

    def __init__(self, reply: ReplyAssembly) -> None:
        self.reply = reply
        self._choice: int | None = None
        self._reasoning_key = ""

    def is_answer(self, chunk: object) -> bool:
        """Whether a chunk is a part of an answer, and no mere sign of life."""
        return isinstance(chunk, dict) and bool(chunk.get("choices") or error_in(chunk))

    def read(self, chunk: object) -> list[Piece]:
        """Take one decoded chunk; return what is new in it."""
        if not isinstance(chunk, dict):
            return []
        self._read_usage(chunk)
        if self.reply.is_finished or self.reply.error is not None:
            return []
        error = error_in(chunk)
        if error is not None:
            self.reply.fail(error)
            return []
        choice = self._first_choice(chunk)
        return [] if choice is None else list(self._read_choice(choice))

    def _read_usage(self, chunk: dict[str, Any]) -> None:
        """Take the token count; some servers put it into the choice."""
        for holder in (chunk, *mappings(chunk.get("choices"))):
            self.reply.usage = _usage(holder.get("usage")) or self.reply.usage

    def _first_choice(self, chunk: dict[str, Any]) -> dict[str, Any] | None:
        """Return the part of the choice that the stream began with, if there is one."""
        for choice in mappings(chunk.get("choices")):
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


def tool_schema(tool: Tool) -> dict[str, Any]:
    """Return what the model reads of a tool."""
    function = {
        "name": tool.name,
        "description": model_description(tool),
        "parameters": model_schema(tool),
    }
    return {"type": "function", "function": function}


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
