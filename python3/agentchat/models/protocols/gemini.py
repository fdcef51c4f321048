"""The generateContent protocol of Google's Gemini.

The server signs its thoughts. A signature goes back on the part that it came with; the first
call of a step must have one, and where the call is not Gemini's own a fixed word stands in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentchat.core.messages import FinishReason, Image, ReplyPart, TextPart, ToolCall, Usage
from agentchat.core.model import ModelRequest, Piece
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.validate import model_description, model_schema
from agentchat.models.protocols.conversation import (
    SKIP_SIGNATURE,
    Answer,
    Round,
    arguments_object,
    base64_of,
    function_name,
)
from agentchat.models.protocols.features import (
    feature,
    has,
    holds,
    images,
    temperature,
    vendor_data,
)
from agentchat.models.protocols.protocol import Body, WireMessage, WireProtocol
from agentchat.models.response.call_fragments import CallFragment
from agentchat.models.response.events import EventReader, count, mapping, mappings, string
from agentchat.models.response.reply import ReplyAssembly, TextKind

NAME: Final = "gemini"
SIGNATURE = "thoughtSignature"
CONFIG = "generationConfig"
THINKING = (CONFIG, "thinkingConfig")
NO_EFFORT = "The model takes no effort."
LEVELS = {"none": "minimal", "xhigh": "high", "max": "high"}
"""Levels of effort under the nearest name that the protocol has."""

BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 8192}
"""Tokens for reasoning on models that take a number; more effort: ``LARGEST``."""

LARGEST = 24_576
LEAST_OF_PRO = 128
"""The larger models always reason: they take no smaller budget, and no level below ``low``."""

FINISH_REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
BAD_CALLS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"})

WirePart = dict[str, Any]


def _sends_signature(body: Mapping[str, Any]) -> bool:
    parts = (part for content in body["contents"] for part in content["parts"])
    return any(part.get(SIGNATURE) not in (None, SKIP_SIGNATURE) for part in parts)


class GeminiReader(EventReader):
    """Reads the events of one answer."""

    protocol = NAME

    def __init__(self, reply: ReplyAssembly) -> None:
        super().__init__(reply)
        self._is_signed = False
        """Whether the newest text has its signature: what follows is another part."""

    def _is_part(self, event: dict[str, Any]) -> bool:
        return bool(event.get("candidates") or event.get("promptFeedback"))

    def _usage(self, event: dict[str, Any]) -> Usage | None:
        usage = mapping(event.get("usageMetadata"))
        if not usage:
            return None
        prompt = count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount")
        completion = count(usage, "candidatesTokenCount") + count(usage, "thoughtsTokenCount")
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=count(usage, "totalTokenCount") or prompt + completion,
            cache_read_tokens=count(usage, "cachedContentTokenCount"),
        )

    def _read(self, event: dict[str, Any]) -> Iterator[Piece]:
        if mapping(event.get("promptFeedback")).get("blockReason"):
            yield from self.reply.finish("content_filter")
        for candidate in mappings(event.get("candidates"))[:1]:
            for part in mappings(mapping(candidate.get("content")).get("parts")):
                yield from self._read_part(part)
            reason = string(candidate.get("finishReason"))
            if reason in BAD_CALLS:
                self.reply.fail(string(candidate.get("finishMessage")) or f"it ended with {reason}")
            elif reason:
                yield from self.reply.finish(FINISH_REASONS.get(reason, "unknown"))

    def _read_part(self, part: WirePart) -> Iterator[Piece]:
        signature = string(part.get(SIGNATURE))
        call = mapping(part.get("functionCall"))
        if call:
            yield from self._read_call(call, signature)
            return
        kind: TextKind = "thinking" if part.get("thought") is True else "text"
        if signature or self._is_signed:  # parts with and without a signature stay apart
            yield from self.reply.begin(kind)
        add = self.reply.add_reasoning if kind == "thinking" else self.reply.add_text
        yield from add(string(part.get("text")))
        if signature:
            yield from self.reply.attach(kind, {NAME: {SIGNATURE: signature}})
        self._is_signed = bool(signature)

    def _read_call(self, call: dict[str, Any], signature: str) -> list[Piece]:
        """Take a call, which always comes whole."""
        id, name = string(call.get("id")), string(call.get("name"))
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        opaque = {key: value for key, value in (("id", id), (SIGNATURE, signature)) if value}
        kept = {NAME: opaque} if opaque else {}
        return self.reply.add_call(CallFragment(id, self.reply.call_count, name, arguments, kept))


class Gemini(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    reader = GeminiReader
    version = "v1beta"
    features = (
        feature("level", "thinking_?level", has(*THINKING, "thinkingLevel"), NO_EFFORT),
        feature("budget", "thinking_?budget|budget", has(*THINKING, "thinkingBudget"), NO_EFFORT),
        feature("thoughts", "include_?thoughts|thinking", has(*THINKING, "includeThoughts")),
        vendor_data("thought_?signature|signature", _sends_signature),
        feature("tool_choice", "function_?calling_?config|tool_?config", has("toolConfig")),
        temperature(has(CONFIG, "temperature")),
        images(holds("inlineData")),
    )

    @classmethod
    def root(cls, base_url: str) -> str:
        """Return the URL below which the paths are: that of the compatible endpoint fits, too."""
        return super().root(base_url.removesuffix("/openai"))

    @property
    def path(self) -> str:
        """Where requests go."""
        return f"models/{self.model.removeprefix('models/')}:streamGenerateContent?alt=sse"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-goog-api-key": key}

    def _body(self, request: ModelRequest) -> Body:
        body: Body = {"contents": [*self.history(request), *self.reminder(request)]}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_declaration(t) for t in request.tools]}]
        if forced := self.forced(request):
            choice = {"mode": "ANY", "allowedFunctionNames": [forced]}
            body["toolConfig"] = {"functionCallingConfig": choice}
        config = self._config()
        return {**body, CONFIG: config} if config else body

    def _config(self) -> Body:
        config, thinking = Body(), self._thinking()
        if self.temperature is not None:
            config["temperature"] = self.temperature
        if self.options.max_tokens:
            config["maxOutputTokens"] = self.options.max_tokens
        return {**config, "thinkingConfig": thinking} if thinking else config

    def _thinking(self) -> Body:
        thinking, effort = Body(), self.options.effort
        if "thoughts" in self.takes:
            thinking["includeThoughts"] = True
        if effort and "gemini-2" in self.model and "budget" in self.takes:
            least = LEAST_OF_PRO if "pro" in self.model else 0
            thinking["thinkingBudget"] = max(BUDGETS.get(effort, LARGEST), least)
        elif effort and "gemini-2" not in self.model and "level" in self.takes:
            level = LEVELS.get(effort, effort)
            is_refused = level == "minimal" and "pro" in self.model
            thinking["thinkingLevel"] = "low" if is_refused else level
        return thinking

    def _reply(self, entry: Round) -> Iterator[WireMessage]:
        parts = list(self._model_parts(entry))
        if parts:
            yield {"role": "model", "parts": parts}

    def _model_parts(self, entry: Round) -> Iterator[WirePart]:
        """Yield the parts of a reply; thoughts without a signature are left out."""
        is_first = True
        for part in entry.parts:
            signature = self._signature(entry, part)
            if isinstance(part, ToolCall):
                if not signature and is_first:
                    signature = {SIGNATURE: SKIP_SIGNATURE}
                yield {"functionCall": self._call(entry, part), **signature}
                is_first = False
            elif isinstance(part, TextPart):
                if part.text or signature:
                    yield {"text": part.text, **signature}
            elif signature:
                yield {"text": part.text, "thought": True, **signature}

    def _signature(self, entry: Round, part: ReplyPart) -> dict[str, str]:
        value = self.opaque(entry.reply, entry.index, part).get(SIGNATURE)
        return {SIGNATURE: value} if isinstance(value, str) and value else {}

    def _call(self, entry: Round, call: ToolCall) -> dict[str, Any]:
        made = {"name": function_name(call), "args": arguments_object(call)}
        return {**self._id(entry, call), **made}

    def _id(self, entry: Round, call: ToolCall) -> dict[str, str]:
        """Return the id of a call, where the server gave it one."""
        id = mapping(call.opaque.get(NAME)).get("id")
        return {"id": id} if isinstance(id, str) and self.is_same_model(entry.reply) else {}

    def _results(self, entry: Round) -> Iterator[WireMessage]:
        """Yield the answers to the calls of a step together, then their images."""
        if entry.answers:
            answers = [self._result(entry, answer) for answer in entry.answers]
            yield {"role": "user", "parts": answers}
        yield from self.result_images(entry)

    def _result(self, entry: Round, answer: Answer) -> WirePart:
        said = {"error" if answer.is_error else "output": answer.text}
        name = function_name(answer.call)
        return {
            "functionResponse": {**self._id(entry, answer.call), "name": name, "response": said}
        }

    def _user(self, text: str, images: tuple[Image, ...]) -> Iterator[WireMessage]:
        parts: list[WirePart] = [{"text": text}] if text or not images else []
        data = ({"mimeType": image.mime, "data": base64_of(image)} for image in images)
        yield {"role": "user", "parts": parts + [{"inlineData": one} for one in data]}


def _declaration(tool: Tool) -> WirePart:
    """Return what the model reads of a tool."""
    return {
        "name": tool.name,
        "description": model_description(tool),
        "parametersJsonSchema": model_schema(tool),
    }
