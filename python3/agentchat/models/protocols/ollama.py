"""Ollama's own protocol: a line of JSON for each piece, and a context as large as is asked for.

The compatible endpoint ignores the size of the context and cuts the conversation silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentchat.core.messages import FinishReason, Image, ToolCall, Usage
from agentchat.core.model import ModelRequest, Piece
from agentchat.models.protocols.conversation import (
    Round,
    arguments_object,
    base64_of,
    function_name,
)
from agentchat.models.protocols.features import feature, holds, images
from agentchat.models.protocols.openai_chat import system_message, tool_schema
from agentchat.models.protocols.protocol import Body, JsonClient, WireMessage, WireProtocol
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.events import EventReader, count, integer, mapping, mappings, string

NAME: Final = "ollama"
LEAST_CONTEXT = 8192
"""Tokens: the tools and the system prompt alone need half of it."""

MOST_CONTEXT = 32_768
"""Tokens that are asked for where the server names no size: a larger context costs memory."""

INFORMATION_SECONDS = 5.0
LEVELS = {"minimal": "low", "xhigh": "high", "max": "high"}
FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}

_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


class OllamaReader(EventReader):
    """Reads the lines of one answer."""

    protocol = NAME
    framing = "json-lines"

    def _is_part(self, event: dict[str, Any]) -> bool:
        return isinstance(event.get("message"), dict)

    def _usage(self, event: dict[str, Any]) -> Usage | None:
        prompt, completion = count(event, "prompt_eval_count"), count(event, "eval_count")
        if not prompt and not completion:
            return None
        return Usage(
            prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
        )

    def _read(self, event: dict[str, Any]) -> Iterator[Piece]:
        message = mapping(event.get("message"))
        yield from self.reply.add_reasoning(string(message.get("thinking")))
        yield from self.reply.add_text(string(message.get("content")))
        for call in mappings(message.get("tool_calls")):
            yield from self._read_call(call)
        if event.get("done") is True:
            reason = string(event.get("done_reason"))
            yield from self.reply.finish(FINISH_REASONS.get(reason, "unknown"))

    def _read_call(self, call: dict[str, Any]) -> list[Piece]:
        """Take a call, which always comes whole."""
        function = mapping(call.get("function"))
        given = function.get("arguments")
        text = given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False)
        id, name = string(call.get("id")), string(function.get("name"))
        return self.reply.add_call(CallFragment(id, self.reply.call_count, name, text))


class Ollama(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    reader = OllamaReader
    path = "api/chat"
    written_calls = True
    models_path = "api/tags"
    features = (
        feature("think", "think", notice="The model takes no effort."),
        images(holds("images")),
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._context: int | None = self.options.context

    @classmethod
    def root(cls, base_url: str) -> str:
        """Return the URL below which the paths are: that of the compatible endpoint fits, too."""
        return base_url.removesuffix("/v1").removesuffix("/api")

    @property
    def window(self) -> int | None:
        """The size of the context that requests ask for, once it is known."""
        return self._context

    async def prepare(self, http: JsonClient, headers: Mapping[str, str]) -> None:
        """Ask how large a context the model has; one answer holds for the chat."""
        if self._context is None:
            body = {"model": self.model}
            page = await http.post_json("api/show", headers, body, INFORMATION_SECONDS)
            if isinstance(page, dict):
                self._context = context_size(page)

    def _body(self, request: ModelRequest) -> Body:
        messages = [*system_message(request), *self.history(request), *self.reminder(request)]
        body: Body = {"model": self.model, "messages": messages, "stream": True}
        if request.tools:
            body["tools"] = [tool_schema(tool) for tool in request.tools]
        if self.options.effort and "think" in self.takes:
            body["think"] = self._think(self.options.effort)
        return {**body, "options": self._options()}

    def _think(self, effort: str) -> bool | str:
        """Return whether to reason; a model that takes levels gets one."""
        if "gpt-oss" in self.model:
            return LEVELS.get(effort, effort) if effort != "none" else "low"
        return effort != "none"

    def _options(self) -> Body:
        options = Body(num_ctx=self._context or LEAST_CONTEXT)
        if self.temperature is not None:
            options["temperature"] = self.temperature
        if self.options.max_tokens:
            options["num_predict"] = self.options.max_tokens
        return options

    def _reply(self, entry: Round) -> Iterator[WireMessage]:
        reply = entry.reply
        if not reply.text and not reply.calls:
            return
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning and reply.calls and self.is_own(reply, entry.index):
            message["thinking"] = reply.reasoning
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        yield message

    def _results(self, entry: Round) -> Iterator[WireMessage]:
        for answer in entry.answers:
            name = function_name(answer.call)
            yield {"role": "tool", "tool_name": name, "content": answer.text}
        yield from self.result_images(entry)

    def _user(self, text: str, images: tuple[Image, ...]) -> Iterator[WireMessage]:
        sent = {"images": [base64_of(image) for image in images]} if images else {}
        yield {"role": "user", "content": text, **sent}


def context_size(page: Mapping[str, Any]) -> int:
    """Return the tokens to ask for, from what the server says of a model.

    The size in the model's file counts, but no less than the plugin needs and no more than the
    model has.
    """
    information = mapping(page.get("model_info"))
    sizes = [integer(v) for key, v in information.items() if key.endswith(".context_length")]
    limit = next((size for size in sizes if size), None)
    written = _NUM_CTX.search(string(page.get("parameters")))
    if written:
        wanted = max(int(written[1]), LEAST_CONTEXT)
    else:
        wanted = MOST_CONTEXT if limit else LEAST_CONTEXT
    return min(wanted, limit or wanted)


def _call(call: ToolCall) -> dict[str, Any]:
    return {"function": {"name": function_name(call), "arguments": arguments_object(call)}}
