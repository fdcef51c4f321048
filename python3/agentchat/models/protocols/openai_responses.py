"""The Responses protocol of OpenAI: a reply is a list of items.

Nothing is stored at the server: reasoning comes encrypted and goes back as it came, before the
item that it led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from agentchat.core.messages import FinishReason, Image, ReplyPart, TextPart, ToolCall, Usage
from agentchat.core.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    Round,
    arguments_text,
    data_url,
    function_name,
    plain_id,
    server_id,
)
from agentchat.models.protocols.features import (
    feature,
    has,
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
    from openai.types import responses
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
    from openai.types.responses.response_input_item_param import FunctionCallOutput
    from openai.types.shared_params import Reasoning

    InputPart = responses.ResponseInputTextParam | responses.ResponseInputImageParam

NAME: Final = "openai-responses"
ENCRYPTED: Final = "reasoning.encrypted_content"

INCOMPLETE: Mapping[str, FinishReason] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}

Item = WireMessage


class OpenAIResponsesReader(EventReader):
    """Reads the events of one answer."""

    protocol = NAME

    def __init__(self, reply: ReplyAssembly) -> None:
        super().__init__(reply)
        self._begun: set[int | str] = set()
        """The items that have begun, by index; by id where a server sends no indexes."""
        self._filled: set[int | str] = set()
        """The items of which a piece has come."""

    def _is_part(self, event: dict[str, Any]) -> bool:
        is_event = string(event.get("type")).startswith("response.")
        return is_event or event.get("object") == "response"

    def _usage(self, event: dict[str, Any]) -> Usage | None:
        usage = mapping(mapping(event.get("response") or event).get("usage"))
        if not usage:
            return None
        prompt, completion = count(usage, "input_tokens"), count(usage, "output_tokens")
        details = mapping(usage.get("input_tokens_details"))
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=count(usage, "total_tokens") or prompt + completion,
            cache_read_tokens=count(details, "cached_tokens"),
            cache_write_tokens=count(details, "cache_write_tokens"),
        )

    def _read(self, event: dict[str, Any]) -> Iterator[Piece]:
        kind, item = string(event.get("type")), mapping(event.get("item"))
        given = integer(event.get("output_index"))
        index = string(event.get("item_id") or item.get("id")) if given is None else given
        if event.get("object") == "response":
            yield from self._finish(event)
        elif kind == "response.output_item.added":
            yield from self._begin(item, index)
        elif kind == "response.output_item.done":
            yield from self._end(item, index)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            yield from self._finish(mapping(event.get("response")))
        elif kind == "response.reasoning_summary_part.added" and index in self._filled:
            yield from self.reply.add_reasoning("\n\n")
        elif isinstance(event.get("delta"), str):
            yield from self._add(kind, event["delta"], index)

    def _add(self, kind: str, delta: str, index: int | str) -> Iterator[Piece]:
        if not delta:
            return
        self._filled.add(index)
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            yield from self.reply.add_text(delta)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            yield from self.reply.add_reasoning(delta)
        elif kind == "response.function_call_arguments.delta":
            yield from self.reply.add_call(CallFragment(index=integer(index), arguments=delta))

    def _begin(self, item: dict[str, Any], index: int | str) -> Iterator[Piece]:
        self._begun.add(index)
        kind = item.get("type")
        if kind == "message":
            yield from self.reply.begin("text")
        elif kind == "reasoning":
            yield from self.reply.begin("thinking")
        elif kind == "function_call":
            id, name = string(item.get("call_id")), string(item.get("name"))
            yield from self.reply.add_call(CallFragment(id, integer(index), name))

    def _end(self, item: dict[str, Any], index: int | str) -> Iterator[Piece]:
        """Take a whole item: what has not come in pieces, and what goes back with it."""
        if index not in self._begun:
            yield from self._begin(item, index)
        is_new = index not in self._filled
        self._filled.add(index)
        kind = item.get("type")
        if kind == "message":
            yield from self.reply.add_text(_text(item.get("content")) if is_new else "")
            kept = {key: value for key, value in item.items() if key != "content"}
            yield from self.reply.attach("text", {NAME: {"item": kept}})
        elif kind == "reasoning":
            yield from self.reply.add_reasoning(_text(item.get("summary")) if is_new else "")
            yield from self.reply.attach("thinking", {NAME: {"item": item}})
        elif kind == "function_call":
            arguments = string(item.get("arguments")) if is_new else ""
            known = ("type", "call_id", "name", "arguments")
            kept = {key: value for key, value in item.items() if key not in known}
            id = string(item.get("call_id"))
            opaque = {NAME: {"item": kept}}
            yield from self.reply.add_call(CallFragment(id, integer(index), "", arguments, opaque))

    def _finish(self, response: dict[str, Any]) -> Iterator[Piece]:
        output = [] if self._begun else mappings(response.get("output"))
        for index, item in enumerate(output):
            yield from self._end(item, index)
        error = response.get("error")
        if error or response.get("status") == "failed":
            self.reply.fail(error_message(error))
            return
        why = mapping(response.get("incomplete_details")).get("reason")
        done: FinishReason = "tool_calls" if self.reply.call_count else "stop"
        is_incomplete = response.get("status") == "incomplete" or bool(why)
        reason = INCOMPLETE.get(string(why), "length") if is_incomplete else done
        yield from self.reply.finish(reason)


class OpenAIResponses(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    reader = OpenAIResponsesReader
    path = "responses"
    features = (
        feature("tool_choice", "tool_choice"),
        feature("prompt_cache_key", "prompt_cache_key"),
        feature("summary", "summary|summaries", has("reasoning", "summary")),
        feature("encrypted", "encrypted content is not supported|'?include", has("include")),
        feature("reasoning", r"'reasoning(\.effort)?'|reasoning(\.effort)? is not supported"),
        vendor_data("encrypted|reasoning|item", holds_type("reasoning")),
        temperature(),
        images(holds_type("input_image")),
    )

    def _body(self, request: ModelRequest) -> Body:
        items: list[Any] = [*self.history(request), *self.reminder(request)]
        body: ResponseCreateParamsStreaming = {
            "model": self.model,
            "input": items,
            "store": False,
            "stream": True,
        }
        if request.system.strip():
            body["instructions"] = request.system
        if request.chat and "prompt_cache_key" in self.takes:
            body["prompt_cache_key"] = request.chat
        if "encrypted" in self.takes:
            body["include"] = [ENCRYPTED]
        if request.tools:
            body["tools"] = [_tool_schema(tool) for tool in request.tools]
        if forced := self.forced(request):
            body["tool_choice"] = {"type": "function", "name": forced}
        self._add_options(body)
        return dict(body)

    def _add_options(self, body: ResponseCreateParamsStreaming) -> None:
        options = self.options
        reasoning: Reasoning = {}
        if options.effort:
            reasoning["effort"] = options.effort
        if "summary" in self.takes:
            reasoning["summary"] = "auto"
        if "reasoning" in self.takes and reasoning:
            body["reasoning"] = reasoning
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if options.max_tokens:
            body["max_output_tokens"] = options.max_tokens

    def _reply(self, entry: Round) -> Iterator[Item]:
        for part in entry.parts:
            yield from self._item(entry, part)

    def _item(self, entry: Round, part: ReplyPart) -> Iterator[Item]:
        """Yield a part as an item; reasoning that the server cannot read is left out."""
        item = mapping(self.opaque(entry.reply, entry.index, part).get("item"))
        if isinstance(part, TextPart):
            text: responses.ResponseOutputTextParam = {
                "type": "output_text",
                "text": part.text,
                "annotations": [],
            }
            if item.get("type") == "message" and part.text:
                yield {**item, "content": [text]}
            elif part.text:
                said: responses.EasyInputMessageParam = {"role": "assistant", "content": part.text}
                yield said
        elif isinstance(part, ToolCall):
            call: responses.ResponseFunctionToolCallParam = {
                "type": "function_call",
                "call_id": self._call_id(entry, part),
                "name": function_name(part),
                "arguments": arguments_text(part),
            }
            yield {**item, **call}
        elif string(item.get("encrypted_content")) and "encrypted" in self.takes:
            yield item

    def _call_id(self, entry: Round, call: ToolCall) -> str:
        return server_id(call) if self.is_same_model(entry.reply) else plain_id(call.id)

    def _results(self, entry: Round) -> Iterator[FunctionCallOutput]:
        for answer in entry.answers:
            text, images = self.visible(answer.text, answer.images)
            # The client declares the same parts a second time for results, with looser fields.
            parts: list[Any] = [*_parts(text, images)]
            yield {
                "type": "function_call_output",
                "call_id": self._call_id(entry, answer.call),
                "output": parts if images else text,
            }

    def _user(
        self, text: str, images: tuple[Image, ...]
    ) -> Iterator[responses.EasyInputMessageParam]:
        yield {"role": "user", "content": [*_parts(text, images)] if images else text}


def _tool_schema(tool: Tool) -> responses.FunctionToolParam:
    return {
        "type": "function",
        "name": tool.name,
        "description": model_description(tool),
        "parameters": model_schema(tool),
        "strict": False,
    }


def _parts(text: str, images: tuple[Image, ...]) -> Iterator[InputPart]:
    if text:
        yield {"type": "input_text", "text": text}
    for image in images:
        yield {"type": "input_image", "image_url": data_url(image), "detail": "auto"}


def _text(parts: object) -> str:
    return "\n\n".join(
        string(part.get("text")) or string(part.get("refusal")) for part in mappings(parts)
    )
