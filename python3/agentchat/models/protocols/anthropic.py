"""The Messages protocol of Anthropic.

Reasoning comes in signed blocks that go back unchanged and in place. The server caches the text up
to each mark: the tools, the system prompt, the end of the previous request and the end of this one
are marked, so each request reads from the cache what the previous one wrote.

A changed list of tools would void all of that. So the list has every tool of the chat from the
first request on: ``resolve`` also while nothing is pending, and deferred tools with
``defer_loading``, which keeps them from the model until the result of ``tool_search`` refers to
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from agentchat.core.messages import (
    FinishReason,
    Image,
    Message,
    ReplyPart,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
)
from agentchat.core.tools.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import TOOL_SEARCH
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    Entry,
    Round,
    arguments_object,
    base64_of,
    count,
    entries,
    error_in,
    function_name,
    integer,
    mapping,
    mappings,
    plain_id,
    server_id,
    string,
    without_images,
)
from agentchat.models.protocols.protocol import (
    IMAGES_REFUSED,
    NO_IMAGES_NOTICE,
    REASONING_REFUSED,
    VENDOR_DATA,
    Body,
    Feature,
    WireProtocol,
    feature,
    merge,
)
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.refusal import ServerRefusal
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.stream import Framing

NAME: Final = "anthropic"
VERSION = "2023-06-01"
MAX_TOKENS = 32_000
"""The most tokens of an answer, unless the user sets another number."""

CACHED = {"type": "ephemeral"}

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
"""Tokens for reasoning on models that do not choose them themselves; more effort: ``LARGEST``."""

LARGEST = 24_000
NO_REASONING = "The server refused reasoning: the model answers without it now."
EFFORTS = {"minimal": "low"}
"""Levels of effort under the nearest name that the protocol has."""

FINISH_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

_LIMIT = re.compile(r"max_tokens: \d+ > (\d+)")
_FIXED_BUDGET = re.compile(r"claude-(instant|[23]\b|[23]-|(opus|sonnet|haiku)-4(-[015]\b|-20|$))")
"""Models that do not choose by themselves how much to reason."""
_NO_DEFERRING = re.compile(r"claude-(instant|[23]\b|[23]-|haiku-3)|^(?!.*claude)")
"""Models behind this protocol that are not known to take deferred tools."""

Block = dict[str, Any]
WireMessage = dict[str, Any]


def _thinking_type(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: mapping(body.get("thinking")).get("type") == kind


def _has_block(*kinds: str) -> Callable[[Mapping[str, Any]], bool]:
    def check(body: Mapping[str, Any]) -> bool:
        blocks = [block for message in body["messages"] for block in message["content"]]
        nested = [inner for b in blocks for inner in mappings(b.get("content"))]
        return any(block.get("type") in kinds for block in (*blocks, *nested))

    return check


class Anthropic(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    features = (
        Feature(
            "defer_loading",
            re.compile(r"defer_loading|tool_reference|tool.?search", re.I),
            lambda body: "defer_loading" in str(body.get("tools")),
        ),
        feature("tool_choice", "tool_choice"),
        feature("display", r"display", "thinking", "display"),
        feature("effort", "effort|output_config", "output_config"),
        Feature("adaptive", re.compile("adaptive|thinking.type", re.I), _thinking_type("adaptive")),
        Feature("budget", re.compile("adaptive|thinking.type", re.I), _thinking_type("enabled")),
        Feature(
            VENDOR_DATA,
            re.compile("thinking|signature", re.I),
            _has_block("thinking", "redacted_thinking"),
            REASONING_REFUSED,
        ),
        feature("thinking", "thinking", notice=NO_REASONING),
        feature("temperature", "temperature", notice="The model takes no temperature."),
        Feature("cache", re.compile("cache_control"), lambda body: "cache_control" in str(body)),
        Feature("images", IMAGES_REFUSED, _has_block("image"), NO_IMAGES_NOTICE),
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._most_tokens: int | None = None

    @staticmethod
    def root(base_url: str) -> str:
        """Return the URL below which the paths are; the version may be left out."""
        return base_url if re.search(r"://[^/]+/", base_url) else f"{base_url}/v1"

    @property
    def path(self) -> str:
        """Where requests go."""
        return "messages"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-api-key": key, "anthropic-version": VERSION}

    def body(self, request: ModelRequest) -> Body:
        """Return the JSON body of a streaming request."""
        late = self._late(request)
        messages = self._messages(request, late)
        body: Body = {
            "model": self.model,
            "max_tokens": self._max_tokens(),
            "messages": messages,
            "stream": True,
        }
        if request.system.strip():
            body["system"] = [self._cached({"type": "text", "text": request.system})]
        if request.tools:
            body["tools"] = self._tools(request, late)
        body.update(self._reasoning(request))
        if request.forced and request.tools and "tool_choice" in self.takes:
            body["tool_choice"] = {"type": "tool", "name": request.forced}
        if self.options.temperature is not None and "temperature" in self.takes:
            body["temperature"] = self.options.temperature
        return merge(body, self.options.params)

    def reader(self, reply: ReplyAssembly) -> AnthropicReader:
        """Return what reads one answer into ``reply``."""
        return AnthropicReader(reply)

    def adapt(self, refusal: ServerRefusal, body: Body, request: ModelRequest) -> str | None:
        """Give up what the server does not take; take a limit on the answer from its message."""
        limit = _LIMIT.search(refusal.message)
        if limit and refusal.status == 400 and body["max_tokens"] > int(limit[1]):
            self._most_tokens = int(limit[1])
            return ""
        return super().adapt(refusal, body, request)

    def _late(self, request: ModelRequest) -> frozenset[str]:
        """Return the tools that the server keeps from the model until a result refers to them.

        A tool with a prompt of its own is none: the prompt is in the text of the result.
        """
        if "defer_loading" not in self.takes or _NO_DEFERRING.search(self.model):
            return frozenset()
        silent = (t.name for t in request.catalogue if not (t.system_prompt or t.guidelines))
        return request.deferrable.intersection(silent)

    def _tools(self, request: ModelRequest, late: frozenset[str]) -> list[Block]:
        """Return the tools of the chat; the last one that the model sees at once is marked."""
        if not request.catalogue:
            plain = [tool_schema(tool) for tool in request.tools]
            return [*plain[:-1], self._cached(plain[-1])]
        offered = {tool.name for tool in request.tools}
        referred = {name for r in request.history.messages for name in _found(r, late)}
        plain, deferred = [], []
        for tool in request.catalogue:
            if tool.name in late and (tool.name in referred or tool.name not in offered):
                deferred.append({**tool_schema(tool), "defer_loading": True})
            elif tool.name in offered or tool.name not in request.deferrable:
                plain.append(tool_schema(tool))
        return [*plain[:-1], self._cached(plain[-1]), *deferred]

    def _max_tokens(self) -> int:
        wanted = self.options.max_tokens or MAX_TOKENS
        return min(wanted, self._most_tokens or wanted)

    def _reasoning(self, request: ModelRequest) -> Body:
        """Return whether and how much the model reasons.

        A forced choice excludes reasoning, and so does a turn that another model began: its
        calls have no signed reasoning before them.
        """
        options = self.options
        is_forced = bool(request.forced and request.tools and "tool_choice" in self.takes)
        if options.effort == "none" or is_forced or self._is_foreign_turn(request):
            return {}
        body = Body()
        chooses = "claude" in self.model and not _FIXED_BUDGET.search(self.model)
        if chooses and options.effort and "effort" in self.takes:
            body["output_config"] = {"effort": EFFORTS.get(options.effort, options.effort)}
        if "thinking" in self.takes and (options.effort or options.temperature is None):
            body.update(self._thinking(chooses and "adaptive" in self.takes))
        return body

    def _thinking(self, is_adaptive: bool) -> Body:
        effort = self.options.effort
        if is_adaptive:
            display = {"display": "summarized"} if "display" in self.takes else {}
            return {"thinking": {"type": "adaptive", **display}}
        budget = BUDGETS.get(effort, LARGEST) if effort else 0
        budget = min(budget, self._max_tokens() - 1024)
        if budget < 1024 or "budget" not in self.takes:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def _is_foreign_turn(self, request: ModelRequest) -> bool:
        """Whether the newest message is the result of a call that is sent without reasoning."""
        messages = request.history.messages
        places = reversed(range(len(messages)))
        newest = next((i for i in places if not isinstance(messages[i], ToolResult)), 0)
        return any(
            isinstance(e, Round) and e.answers and not self.is_own(e.reply, e.index)
            for e in entries(messages[newest:], newest)
        )

    def _messages(self, request: ModelRequest, late: frozenset[str]) -> list[WireMessage]:
        """Return all messages; the ends of this request and the one before are marked."""
        messages: list[WireMessage] = []
        end_before = (-1, -1)
        for message in self.wire.convert(request.history, partial(self._entry, late), late):
            if message["role"] == "assistant":
                end_before = _end(messages)
            _add(messages, message)
        for place in {end_before, _end(messages)}:
            self._mark(messages, *place)
        if request.reminder:
            _add(messages, _user([{"type": "text", "text": request.reminder}]))
        return messages

    def _entry(self, late: frozenset[str], entry: Entry) -> Iterator[WireMessage]:
        """Yield what each side says in an entry; messages of one side are joined later."""
        if isinstance(entry, Round):
            blocks = [block for part in entry.parts for block in self._block(entry, part)]
            if blocks:
                yield {"role": "assistant", "content": blocks}
            said = self._results(entry, late)
        else:
            said = self._content(entry.text, getattr(entry, "images", ()))
        if said:
            yield _user(said)

    def _block(self, entry: Round, part: ReplyPart) -> Iterator[Block]:
        """Yield a part as a block; reasoning without a signature of this server is left out."""
        opaque = self.opaque(entry.reply, entry.index, part)
        if isinstance(part, TextPart):
            if part.text.strip():
                yield {"type": "text", "text": part.text}
        elif isinstance(part, ToolCall):
            id = self._call_id(entry, part)
            arguments = arguments_object(part)
            yield {"type": "tool_use", "id": id, "name": function_name(part), "input": arguments}
        elif opaque.get("type") == "thinking" and string(opaque.get("signature")):
            yield {"type": "thinking", "thinking": part.text, "signature": opaque["signature"]}
        elif opaque.get("type") == "redacted_thinking" and string(opaque.get("data")):
            yield opaque

    def _call_id(self, entry: Round, call: ToolCall) -> str:
        return plain_id(server_id(call) if self.is_same_model(entry.reply) else call.id)

    def _results(self, entry: Round, late: frozenset[str]) -> list[Block]:
        blocks: list[Block] = []
        for answer in entry.answers:
            found = _found(answer.result, late)
            references = [{"type": "tool_reference", "tool_name": name} for name in found]
            block: Block = {
                "type": "tool_result",
                "tool_use_id": self._call_id(entry, answer.call),
                "content": references or self._content(answer.text, answer.images),
            }
            blocks.append({**block, "is_error": True} if answer.is_error else block)
        return blocks

    def _content(self, text: str, images: tuple[Image, ...]) -> list[Block]:
        if "images" not in self.takes:
            text, images = without_images(text, images), ()
        blocks: list[Block] = [_image(image) for image in images]
        return [*blocks, {"type": "text", "text": text}] if text.strip() else blocks

    def _mark(self, messages: list[WireMessage], message: int, block: int) -> None:
        if message >= 0 and messages[message]["role"] == "user":
            content = list(messages[message]["content"])
            content[block] = self._cached(content[block])
            messages[message] = _user(content)

    def _cached(self, block: Block) -> Block:
        return {**block, "cache_control": CACHED} if "cache" in self.takes else block


class AnthropicReader:
    """Reads the events of one answer into its reply."""

    protocol = NAME
    framing: Framing = "sse"

    def __init__(self, reply: ReplyAssembly) -> None:
        self.reply = reply
        self._usage: dict[str, Any] = {}

    def is_answer(self, event: object) -> bool:
        """Whether an event is a part of an answer, and no mere sign of life."""
        if not isinstance(event, dict):
            return False
        kind = string(event.get("type"))
        return kind.startswith(("message", "content_block")) or error_in(event) is not None

    def read(self, event: object) -> list[Piece]:
        """Take one decoded event, or a whole message; return what is new in it."""
        if not isinstance(event, dict):
            return []
        self._read_usage(event)
        if self.reply.is_finished or self.reply.error is not None:
            return []
        error = error_in(event)
        if error is not None:
            self.reply.fail(error)
            return []
        return list(self._read(event))

    def _read(self, event: dict[str, Any]) -> Iterator[Piece]:
        kind, index = event.get("type"), integer(event.get("index"))
        if kind == "content_block_start":
            yield from self._begin(mapping(event.get("content_block")), index)
        elif kind == "content_block_delta":
            yield from self._add(mapping(event.get("delta")), index)
        elif kind == "message_delta":
            yield from self._finish(mapping(event.get("delta")))
        elif kind == "message_stop":
            yield from self.reply.end()
        elif kind == "message":
            for at, block in enumerate(mappings(event.get("content"))):
                yield from self._begin(block, at)
            yield from self._finish(event)

    def _begin(self, block: dict[str, Any], index: int | None) -> Iterator[Piece]:
        kind = block.get("type")
        if kind == "text":
            yield from self.reply.begin("text")
            yield from self.reply.add_text(string(block.get("text")))
        elif kind == "thinking":
            yield from self.reply.begin("thinking")
            opaque = {"type": "thinking", "signature": string(block.get("signature"))}
            yield from self.reply.attach("thinking", {NAME: opaque})
            yield from self.reply.add_reasoning(string(block.get("thinking")))
        elif kind == "redacted_thinking":
            yield from self.reply.begin("thinking")
            yield from self.reply.attach("thinking", {NAME: block})
        elif kind == "tool_use":
            yield from self._call(block, index)

    def _call(self, block: dict[str, Any], index: int | None) -> list[Piece]:
        given = block.get("input")
        arguments = json.dumps(given, ensure_ascii=False) if given else ""
        id, name = string(block.get("id")), string(block.get("name"))
        return self.reply.add_call(CallFragment(id, index, name, arguments))

    def _add(self, delta: dict[str, Any], index: int | None) -> Iterator[Piece]:
        kind = delta.get("type")
        if kind == "text_delta":
            yield from self.reply.add_text(string(delta.get("text")))
        elif kind == "thinking_delta":
            yield from self.reply.add_reasoning(string(delta.get("thinking")))
        elif kind == "signature_delta":
            before = mapping(self.reply.opaque("thinking").get(NAME))
            signature = string(before.get("signature")) + string(delta.get("signature"))
            opaque = {"type": "thinking", "signature": signature}
            yield from self.reply.attach("thinking", {NAME: opaque})
        elif kind == "input_json_delta":
            arguments = string(delta.get("partial_json"))
            yield from self.reply.add_call(CallFragment(index=index, arguments=arguments))

    def _finish(self, holder: dict[str, Any]) -> list[Piece]:
        reason = string(holder.get("stop_reason"))
        return self.reply.finish(FINISH_REASONS.get(reason, "unknown")) if reason else []

    def _read_usage(self, event: dict[str, Any]) -> None:
        """Take the token count: of the prompt at the beginning, of the answer at the end."""
        usage = mapping(event.get("usage")) or mapping(mapping(event.get("message")).get("usage"))
        known = {key: value for key, value in usage.items() if value is not None}
        self._usage.update(known)
        if "output_tokens" in self._usage and event.get("type") != "message_start":
            self.reply.usage = _usage(self._usage)


def tool_schema(tool: Tool) -> dict[str, Any]:
    """Return what the model reads of a tool."""
    return {
        "name": tool.name,
        "description": model_description(tool),
        "input_schema": model_schema(tool),
    }


def _found(message: Message | None, late: frozenset[str]) -> list[str]:
    """Return the tools that the result of a search refers to, if all of them are ``late``."""
    if not isinstance(message, ToolResult) or message.name != TOOL_SEARCH:
        return []
    names = message.detail("tools")
    return names if isinstance(names, list) and late.issuperset(names) else []


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = count(usage, "cache_read_input_tokens")
    written = count(usage, "cache_creation_input_tokens")
    prompt = count(usage, "input_tokens") + read + written
    completion = count(usage, "output_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _image(image: Image) -> Block:
    source = {"type": "base64", "media_type": image.mime, "data": base64_of(image)}
    return {"type": "image", "source": source}


def _user(blocks: list[Block]) -> WireMessage:
    return {"role": "user", "content": blocks}


def _add(messages: list[WireMessage], message: WireMessage) -> None:
    """Add a message, joined to the last one if that has the same role."""
    last = messages[-1] if messages else {"role": ""}
    if last["role"] == message["role"]:
        messages[-1] = {**last, "content": [*last["content"], *message["content"]]}
    else:
        messages.append(message)


def _end(messages: list[WireMessage]) -> tuple[int, int]:
    """Return where the messages end: the last message and its last block."""
    return len(messages) - 1, len(messages[-1]["content"]) - 1 if messages else -1
