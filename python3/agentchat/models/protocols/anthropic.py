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
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast

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
from agentchat.core.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import TOOL_SEARCH
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    EPHEMERAL,
    Answer,
    Round,
    arguments_object,
    base64_of,
    entries,
    function_name,
    mark_ends,
    plain_id,
    server_id,
)
from agentchat.models.protocols.features import (
    feature,
    has,
    holds,
    holds_type,
    images,
    temperature,
    vendor_data,
)
from agentchat.models.protocols.options import Effort
from agentchat.models.protocols.protocol import Body, WireMessage, WireProtocol
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.events import EventReader, count, integer, mapping, mappings, string
from agentchat.models.response.refusal import ServerRefusal
from agentchat.models.response.reply import ReplyAssembly

if TYPE_CHECKING:
    from anthropic import types
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    class MessagesBody(MessageCreateParamsStreaming, total=False):
        """What is sent, with the field that only older models take."""

        temperature: float


NAME: Final = "anthropic"
API_VERSION = "2023-06-01"
MAX_TOKENS = 32_000
"""The most tokens of an answer, unless the user sets another number."""

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
"""Tokens for reasoning on models that do not choose them themselves; more effort: ``LARGEST``."""

LARGEST = 24_000
NO_REASONING = "The server refused reasoning: the model answers without it now."
EFFORTS: Mapping[Effort, Literal["low", "medium", "high", "xhigh", "max"]] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
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


class AnthropicReader(EventReader):
    """Reads the events of one answer."""

    protocol = NAME

    def __init__(self, reply: ReplyAssembly) -> None:
        super().__init__(reply)
        self._counted: dict[str, Any] = {}
        self._skipped: set[int | None] = set()
        """The indexes of blocks that are nothing to us, as calls which the server makes itself."""

    def _is_part(self, event: dict[str, Any]) -> bool:
        return string(event.get("type")).startswith(("message", "content_block"))

    def _usage(self, event: dict[str, Any]) -> Usage | None:
        """Return the token count: the prompt's comes at the beginning, the answer's at the end."""
        usage = mapping(event.get("usage")) or mapping(mapping(event.get("message")).get("usage"))
        if not usage:
            return None
        self._counted.update({key: value for key, value in usage.items() if value is not None})
        read = count(self._counted, "cache_read_input_tokens")
        written = count(self._counted, "cache_creation_input_tokens")
        prompt = count(self._counted, "input_tokens") + read + written
        completion = count(self._counted, "output_tokens")
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            cache_read_tokens=read,
            cache_write_tokens=written,
        )

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
        else:
            self._skipped.add(index)

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
        elif kind == "input_json_delta" and index not in self._skipped:
            arguments = string(delta.get("partial_json"))
            yield from self.reply.add_call(CallFragment(index=index, arguments=arguments))

    def _finish(self, holder: dict[str, Any]) -> list[Piece]:
        reason = string(holder.get("stop_reason"))
        return self.reply.finish(FINISH_REASONS.get(reason, "unknown")) if reason else []


class Anthropic(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    reader = AnthropicReader
    path = "messages"
    version = "v1"
    features = (
        feature(
            "defer_loading",
            "defer_loading|tool_reference|tool.?search",
            lambda body: "defer_loading" in str(body.get("tools")),
        ),
        feature("tool_choice", "tool_choice"),
        feature("display", "display", has("thinking", "display")),
        feature("effort", "effort|output_config", has("output_config")),
        feature("adaptive", "adaptive|thinking.type", holds_type("adaptive")),
        feature("budget", "adaptive|thinking.type", holds_type("enabled")),
        vendor_data("thinking|signature", holds_type("thinking", "redacted_thinking")),
        feature("thinking", "thinking", notice=NO_REASONING),
        temperature(),
        feature("cache", "cache_control", holds("cache_control")),
        images(holds_type("image")),
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._most_tokens: int | None = None
        self._late: frozenset[str] = frozenset()
        """The tools that the server keeps from the model until a result refers to them."""

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-api-key": key, "anthropic-version": API_VERSION}

    def _body(self, request: ModelRequest) -> Body:
        self._late = self._late_tools(request)
        body: MessagesBody = {
            "model": self.model,
            "max_tokens": self._max_tokens(),
            "messages": self._messages(request),
            "stream": True,
        }
        if request.system.strip():
            system: types.TextBlockParam = {"type": "text", "text": request.system}
            if "cache" in self.takes:
                system["cache_control"] = EPHEMERAL
            body["system"] = [system]
        if request.tools:
            body["tools"] = self._tools(request)
        self._add_reasoning(body, request)
        if forced := self.forced(request):
            body["tool_choice"] = {"type": "tool", "name": forced}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return dict(body)

    def adapt(self, refusal: ServerRefusal, body: Body, request: ModelRequest) -> str | None:
        """Give up what the server does not take; take a limit on the answer from its message."""
        limit = _LIMIT.search(refusal.message)
        if limit and refusal.status == 400 and body["max_tokens"] > int(limit[1]):
            self._most_tokens = int(limit[1])
            return ""
        return super().adapt(refusal, body, request)

    def _late_tools(self, request: ModelRequest) -> frozenset[str]:
        """Return the tools that are deferred; none with a prompt, which is in the result's text."""
        if "defer_loading" not in self.takes or _NO_DEFERRING.search(self.model):
            return frozenset()
        silent = (t.name for t in request.catalogue if not (t.system_prompt or t.guidelines))
        return request.deferrable.intersection(silent)

    def _tools(self, request: ModelRequest) -> list[types.ToolParam]:
        """Return the tools of the chat; the last one that the model sees at once is marked."""
        plain, deferred = self._parted_tools(request)
        if "cache" in self.takes:
            plain[-1]["cache_control"] = EPHEMERAL
        return [*plain, *deferred]

    def _parted_tools(
        self, request: ModelRequest
    ) -> tuple[list[types.ToolParam], list[types.ToolParam]]:
        """Return the tools that the model sees at once, and those that are deferred."""
        if not request.catalogue:
            return [_tool_schema(tool) for tool in request.tools], []
        offered = {tool.name for tool in request.tools}
        referred = {name for r in request.history.messages for name in self._found(r)}
        plain: list[types.ToolParam] = []
        deferred: list[types.ToolParam] = []
        for tool in request.catalogue:
            if tool.name in self._late and (tool.name in referred or tool.name not in offered):
                deferred.append({**_tool_schema(tool), "defer_loading": True})
            elif tool.name in offered or tool.name not in request.deferrable:
                plain.append(_tool_schema(tool))
        return plain, deferred

    def _max_tokens(self) -> int:
        wanted = self.options.max_tokens or MAX_TOKENS
        return min(wanted, self._most_tokens or wanted)

    def _add_reasoning(self, body: MessagesBody, request: ModelRequest) -> None:
        """Say whether and how much the model reasons.

        A forced choice excludes reasoning, and so does a turn that another model began: its
        calls have no signed reasoning before them.
        """
        options = self.options
        if options.effort == "none" or self.forced(request) or self._is_foreign_turn(request):
            return
        chooses = "claude" in self.model and not _FIXED_BUDGET.search(self.model)
        if chooses and options.effort and "effort" in self.takes:
            body["output_config"] = {"effort": EFFORTS[options.effort]}
        if "thinking" in self.takes and (options.effort or options.temperature is None):
            thinking = self._thinking(chooses and "adaptive" in self.takes)
            if thinking is not None:
                body["thinking"] = thinking

    def _thinking(self, is_adaptive: bool) -> types.ThinkingConfigParam | None:
        effort = self.options.effort
        if is_adaptive:
            adaptive: types.ThinkingConfigAdaptiveParam = {"type": "adaptive"}
            if "display" in self.takes:
                adaptive["display"] = "summarized"
            return adaptive
        budget = BUDGETS.get(effort, LARGEST) if effort else 0
        budget = min(budget, self._max_tokens() - 1024)
        if budget < 1024 or "budget" not in self.takes:
            return None
        return {"type": "enabled", "budget_tokens": budget}

    def _is_foreign_turn(self, request: ModelRequest) -> bool:
        """Whether the newest message is the result of a call that is sent without reasoning."""
        messages = request.history.messages
        places = reversed(range(len(messages)))
        newest = next((i for i in places if not isinstance(messages[i], ToolResult)), 0)
        return any(
            isinstance(e, Round) and e.answers and not self.is_own(e.reply, e.index)
            for e in entries(messages[newest:], newest)
        )

    def _messages(self, request: ModelRequest) -> list[Any]:
        """Return all messages, in which both sides alternate."""
        history = _alternate(self.history(request, basis=self._late))
        marked = mark_ends(history) if "cache" in self.takes else history
        return _alternate([*marked, *self.reminder(request)])

    def _reply(self, entry: Round) -> Iterator[types.MessageParam]:
        blocks = [block for part in entry.parts for block in self._block(entry, part)]
        if blocks:
            yield {"role": "assistant", "content": blocks}

    def _block(self, entry: Round, part: ReplyPart) -> Iterator[types.ContentBlockParam]:
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
            unchanged: Any = opaque
            yield unchanged

    def _call_id(self, entry: Round, call: ToolCall) -> str:
        return plain_id(server_id(call) if self.is_same_model(entry.reply) else call.id)

    def _results(self, entry: Round) -> Iterator[types.MessageParam]:
        blocks = [self._result(entry, answer) for answer in entry.answers]
        if blocks:
            yield {"role": "user", "content": blocks}

    def _result(self, entry: Round, answer: Answer) -> types.ToolResultBlockParam:
        references: list[types.ToolReferenceBlockParam] = [
            {"type": "tool_reference", "tool_name": name} for name in self._found(answer.result)
        ]
        block: types.ToolResultBlockParam = {
            "type": "tool_result",
            "tool_use_id": self._call_id(entry, answer.call),
            "content": references or _content(*self.visible(answer.text, answer.images)),
        }
        if answer.is_error:
            block["is_error"] = True
        return block

    def _found(self, message: Message | None) -> list[str]:
        """Return the tools that the result of a search refers to, if all of them are deferred."""
        if not isinstance(message, ToolResult) or message.name != TOOL_SEARCH:
            return []
        names = message.detail("tools")
        return names if isinstance(names, list) and self._late.issuperset(names) else []

    def _user(self, text: str, images: tuple[Image, ...]) -> Iterator[types.MessageParam]:
        blocks = _content(text, images)
        if blocks:
            yield {"role": "user", "content": blocks}


def _tool_schema(tool: Tool) -> types.ToolParam:
    return {
        "name": tool.name,
        "description": model_description(tool),
        "input_schema": model_schema(tool),
    }


def _content(
    text: str, images: tuple[Image, ...]
) -> list[types.TextBlockParam | types.ImageBlockParam]:
    blocks: list[types.TextBlockParam | types.ImageBlockParam] = [_image(i) for i in images]
    if text.strip():
        blocks.append({"type": "text", "text": text})
    return blocks


def _image(image: Image) -> types.ImageBlockParam:
    source: types.Base64ImageSourceParam = {
        "type": "base64",
        "media_type": cast(Any, image.mime),  # tools read no others
        "data": base64_of(image),
    }
    return {"type": "image", "source": source}


def _alternate(messages: Iterable[WireMessage]) -> list[Any]:
    """Return the messages with those of one side in a row joined."""
    joined: list[Any] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            content = [*joined[-1]["content"], *message["content"]]
            joined[-1] = {**message, "content": content}
        else:
            joined.append(message)
    return joined
