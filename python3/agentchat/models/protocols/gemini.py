"""The generateContent protocol of Google's Gemini.

The server signs its thoughts. A signature goes back on the part that it came with; the first
call of a step must have one, and where the call is not Gemini's own a fixed word stands in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentchat.core.messages import (
    FinishReason,
    Image,
    ReplyPart,
    TextPart,
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
    arguments_object,
    base64_of,
    count,
    error_in,
    function_name,
    images_intro,
    mapping,
    mappings,
    string,
    without_images,
)
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
from agentchat.models.response.reply import ReplyAssembly, TextKind
from agentchat.models.response.stream import Framing

NAME: Final = "gemini"
SIGNATURE = "thoughtSignature"
THINKING = ("generationConfig", "thinkingConfig")
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
    signatures = (part.get(SIGNATURE) for part in _parts(body))
    return any(signature not in (None, SKIP_SIGNATURE) for signature in signatures)


def _parts(body: Mapping[str, Any]) -> list[WirePart]:
    return [part for content in body["contents"] for part in content["parts"]]


class Gemini(WireProtocol):
    """The protocol as one server speaks it."""

    name = NAME
    features = (
        feature("level", "thinking_?level", *THINKING, "thinkingLevel", notice=NO_EFFORT),
        feature("budget", "thinking_?budget|budget", *THINKING, "thinkingBudget", notice=NO_EFFORT),
        feature("thoughts", "include_?thoughts|thinking", *THINKING, "includeThoughts"),
        Feature(
            VENDOR_DATA,
            re.compile("thought_?signature|signature", re.I),
            _sends_signature,
            REASONING_REFUSED,
        ),
        feature("forced choice", "function_?calling_?config|tool_?config", "toolConfig"),
        feature("temperature", "temperature", "generationConfig", "temperature"),
        Feature(
            "images",
            IMAGES_REFUSED,
            lambda body: any("inlineData" in part for part in _parts(body)),
            NO_IMAGES_NOTICE,
        ),
    )

    @staticmethod
    def root(base_url: str) -> str:
        """Return the URL below which the paths are; the version may be left out."""
        base_url = base_url.removesuffix("/openai")
        return base_url if re.search(r"://[^/]+/", base_url) else f"{base_url}/v1beta"

    @property
    def path(self) -> str:
        """Where requests go."""
        return f"models/{self.model.removeprefix('models/')}:streamGenerateContent?alt=sse"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"x-goog-api-key": key}

    def model_names(self, page: object) -> list[str]:
        """Return the names in the server's list of models."""
        names = (string(model.get("name")) for model in mappings(mapping(page).get("models")))
        return [name.removeprefix("models/") for name in names if name]

    def body(self, request: ModelRequest) -> Body:
        """Return the JSON body of a streaming request."""
        body: Body = {"contents": self._contents(request)}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            tools = [tool_schema(tool) for tool in request.tools]
            body["tools"] = [{"functionDeclarations": tools}]
            if request.forced and "forced choice" in self.takes:
                choice = {"mode": "ANY", "allowedFunctionNames": [request.forced]}
                body["toolConfig"] = {"functionCallingConfig": choice}
        config = self._config()
        if config:
            body["generationConfig"] = config
        return merge(body, self.options.params)

    def reader(self, reply: ReplyAssembly) -> GeminiReader:
        """Return what reads one answer into ``reply``."""
        return GeminiReader(reply)

    def _config(self) -> Body:
        options, config = self.options, Body()
        if options.temperature is not None and "temperature" in self.takes:
            config["temperature"] = options.temperature
        if options.max_tokens:
            config["maxOutputTokens"] = options.max_tokens
        thinking = self._thinking()
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

    def _contents(self, request: ModelRequest) -> list[dict[str, Any]]:
        last = {"role": "user", "parts": [{"text": request.reminder}]}
        reminder = [last] if request.reminder else []
        return [*self.wire.convert(request.history, self._entry), *reminder]

    def _entry(self, entry: Entry) -> Iterator[dict[str, Any]]:
        if isinstance(entry, Round):
            parts = list(self._model_parts(entry))
            if parts:
                yield {"role": "model", "parts": parts}
            yield from self._results(entry)
        else:
            parts = self._user_parts(entry.text, getattr(entry, "images", ()))
            yield {"role": "user", "parts": parts}

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

    def _results(self, entry: Round) -> Iterator[dict[str, Any]]:
        """Yield the answers to the calls of a step together, then their images."""
        if not entry.answers:
            return
        yield {"role": "user", "parts": [self._result(entry, answer) for answer in entry.answers]}
        images = [(answer.call.name, image) for answer in entry.answers for image in answer.images]
        if images:
            pictures = tuple(image for _, image in images)
            yield {"role": "user", "parts": self._user_parts(images_intro(images), pictures)}

    def _result(self, entry: Round, answer: Answer) -> WirePart:
        said = {"error" if answer.is_error else "output": answer.text}
        name = function_name(answer.call)
        return {
            "functionResponse": {**self._id(entry, answer.call), "name": name, "response": said}
        }

    def _user_parts(self, text: str, images: tuple[Image, ...]) -> list[WirePart]:
        if "images" not in self.takes:
            text, images = without_images(text, images), ()
        parts: list[WirePart] = [{"text": text}] if text or not images else []
        data = ({"mimeType": image.mime, "data": base64_of(image)} for image in images)
        return parts + [{"inlineData": one} for one in data]


class GeminiReader:
    """Reads the events of one answer into its reply."""

    protocol = NAME
    framing: Framing = "sse"

    def __init__(self, reply: ReplyAssembly) -> None:
        self.reply = reply
        self._calls = 0
        self._is_signed = False
        """Whether the newest text has its signature: what follows is another part."""

    def is_answer(self, event: object) -> bool:
        """Whether an event is a part of an answer, and no mere sign of life."""
        if not isinstance(event, dict):
            return False
        keys = ("candidates", "promptFeedback")
        return any(event.get(key) for key in keys) or error_in(event) is not None

    def read(self, event: object) -> list[Piece]:
        """Take one decoded event; return what is new in it."""
        if not isinstance(event, dict):
            return []
        self.reply.usage = _usage(mapping(event.get("usageMetadata"))) or self.reply.usage
        if self.reply.is_finished or self.reply.error is not None:
            return []
        error = error_in(event)
        if error is not None:
            self.reply.fail(error)
            return []
        return list(self._read(event))

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
        id, index = string(call.get("id")), self._calls
        self._calls += 1
        opaque = {"id": id} if id else {}
        if signature:
            opaque[SIGNATURE] = signature
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        kept = {NAME: opaque} if opaque else {}
        return self.reply.add_call(
            CallFragment(id, index, string(call.get("name")), arguments, kept)
        )


def tool_schema(tool: Tool) -> dict[str, Any]:
    """Return what the model reads of a tool."""
    return {
        "name": tool.name,
        "description": model_description(tool),
        "parametersJsonSchema": model_schema(tool),
    }


def _usage(usage: dict[str, Any]) -> Usage | None:
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
