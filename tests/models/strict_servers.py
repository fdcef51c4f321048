"""Servers that check what comes back to them, as the real ones do: signatures, items, order."""

from __future__ import annotations

import base64
import itertools
import json
import random
import re
from abc import ABC, abstractmethod
from typing import Any

from tests.models.protocol_server import Answered, Asked, events, refusal

PLAIN_ID = re.compile(r"[A-Za-z0-9_-]+")
SKIP = "skip_thought_signature_validator"

Event = dict[str, Any]


class Refused(Exception):
    """The request is not what the server takes."""


def expect(is_right: object, message: str) -> None:
    if not is_right:
        raise Refused(message)


class StrictServer(ABC):
    """Answers with random text, reasoning and calls; remembers what it said."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.refused: list[str] = []
        self.answers = 0
        self.made = 0

    def __call__(self, asked: Asked) -> Answered:
        try:
            self.check(asked.body)
        except Refused as refused:
            self.refused.append(str(refused))
            return refusal(400, str(refused))
        self.answers += 1
        whole = self.answer(self.random.choice([0, 0, 1, 1, 2, 3]))
        if self.random.random() < 0.05:  # the connection breaks
            whole = whole[: self.random.randrange(1, len(whole))]
        return events(*whole)

    @abstractmethod
    def check(self, body: dict[str, Any]) -> None:
        """Refuse what is wrong."""

    @abstractmethod
    def answer(self, calls: int) -> list[Event]:
        """Return the events of an answer with so many calls."""

    def new(self, prefix: str) -> str:
        """A name that was not used before."""
        self.made += 1
        return f"{prefix}_{self.made}"

    def arguments(self) -> dict[str, Any]:
        return {"path": f"f{self.random.randrange(99)}", "n": self.random.random()}

    def reasons(self) -> bool:
        return self.random.random() < 0.7


class StrictAnthropic(StrictServer):
    """Signatures are those of the very text; reasoning of a tool turn is neither lost nor moved."""

    def __init__(self, random: random.Random) -> None:
        super().__init__(random)
        self.signed: dict[str, str] = {}
        self.thought_before: dict[str, list[str]] = {}
        """By call: the signatures of the reasoning in its message."""

    def check(self, body: dict[str, Any]) -> None:
        expect(body.get("max_tokens"), "max_tokens: required")
        expect(str(body).count("cache_control") <= 4, "a maximum of 4 blocks with cache_control")
        is_forced = body.get("tool_choice", {}).get("type") == "tool"
        expect(not (is_forced and "thinking" in body), "thinking with tool_choice")
        messages = body["messages"]
        roles = [message["role"] for message in messages]
        expect(roles[::2] == ["user"] * len(roles[::2]), "roles must alternate")
        expect(roles[1::2] == ["assistant"] * len(roles[1::2]), "roles must alternate")
        expect(roles[-1] == "user", "prefill")
        for message, following in zip(messages[1::2], messages[2::2], strict=True):
            self._check_assistant(message["content"], following["content"])
        if "thinking" in body and len(messages) > 2:
            self._check_tool_turn(messages[-2]["content"], messages[-1]["content"])

    def _check_assistant(self, blocks: list[Event], following: list[Event]) -> None:
        expect(blocks, "empty content")
        expect("thinking" not in blocks[-1]["type"], "the final block cannot be thinking")
        signatures = [self._signature(block) for block in blocks if "thinking" in block["type"]]
        for block in blocks:
            expect(block["type"] != "text" or block["text"].strip(), "text must be non-empty")
        ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for id in ids:
            expect(PLAIN_ID.fullmatch(id), "tool_use.id")
            expect(not signatures or signatures == self.thought_before[id], "thinking was moved")
        results = [b["tool_use_id"] for b in following if b["type"] == "tool_result"]
        expect(results == ids, "tool_use without tool_result")
        expect(len(set(ids)) == len(ids), "tool_use ids must be unique")

    def _signature(self, block: Event) -> str:
        if block["type"] == "redacted_thinking":
            expect(block["data"] in self.signed, "redacted_thinking was changed")
            return str(block["data"])
        expect(self.signed.get(block["signature"]) == block["thinking"], "Invalid `signature`")
        return str(block["signature"])

    def _check_tool_turn(self, blocks: list[Event], newest: list[Event]) -> None:
        ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
        is_tool_turn = newest[-1]["type"] == "tool_result"
        if not ids or not is_tool_turn:
            return
        expect(ids[0] in self.thought_before, "thinking must begin with the turn")
        found = [self._signature(block) for block in blocks if "thinking" in block["type"]]
        expect(found == self.thought_before[ids[0]], "Expected `thinking`, found `tool_use`")

    def answer(self, calls: int) -> list[Event]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        stream: list[Event] = [{"type": "message_start", "message": {"usage": usage}}]
        signatures = []
        if self.reasons():
            text, signature = self.new("thought"), self.new("sig+/=")
            self.signed[signature] = text
            signatures.append(signature)
            pieces = [
                {"type": "thinking_delta", "thinking": text[:4]},
                {"type": "thinking_delta", "thinking": text[4:]},
                {"type": "signature_delta", "signature": signature},
            ]
            stream += self._block({"type": "thinking", "thinking": "", "signature": ""}, *pieces)
        if self.reasons() and signatures:
            data = self.new("data")
            self.signed[data] = ""
            signatures.append(data)
            stream += self._block({"type": "redacted_thinking", "data": data})
        text = self.random.choice(["I look.", " ", "é𝄞"])
        stream += self._block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
        for _ in range(calls):
            id = self.new("toolu")
            begin = {"type": "tool_use", "id": id, "name": "read", "input": {}}
            self.thought_before[id] = signatures
            partial = json.dumps(self.arguments())
            stream += self._block(begin, {"type": "input_json_delta", "partial_json": partial})
        delta = {"stop_reason": "tool_use" if calls else "end_turn"}
        return [*stream, {"type": "message_delta", "delta": delta, "usage": usage}]

    def _block(self, begin: Event, *deltas: Event) -> list[Event]:
        self.made += 1
        index = self.made
        return [
            {"type": "content_block_start", "index": index, "content_block": begin},
            *({"type": "content_block_delta", "index": index, "delta": d} for d in deltas),
            {"type": "content_block_stop", "index": index},
        ]


class StrictResponses(StrictServer):
    """Nothing is stored: reasoning comes back whole, right before the item it led to."""

    def __init__(self, random: random.Random) -> None:
        super().__init__(random)
        self.items: dict[str, Event] = {}
        self.led_to: dict[str, str] = {}
        """By reasoning item: the item after it."""

    def check(self, body: dict[str, Any]) -> None:
        expect(body["store"] is False, "store")
        expect(body["include"] == ["reasoning.encrypted_content"], "include")
        items = body["input"]
        reasoned = {id: reasoning for reasoning, id in self.led_to.items()}
        for before, item, after in zip([{}, *items], items, [*items[1:], {}], strict=False):
            id = item.get("id")
            if item.get("type") == "reasoning":
                expect(item == self.items.get(id), "encrypted content could not be verified")
                expect(self.led_to[id] == after.get("id"), "reasoning without its following item")
            elif id is not None:
                known = {key: value for key, value in self.items[id].items() if key != "content"}
                expect(known.items() <= item.items(), f"{id} was changed")
                expect(before.get("id") == reasoned.get(id, before.get("id")), "no reasoning item")
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        expect(len(set(calls)) == len(calls), "call_id twice")
        expect(calls == outputs, "No tool output found for function call")
        expect(all(len(id) <= 64 for id in calls), "call_id is too long")

    def answer(self, calls: int) -> list[Event]:
        output: list[Event] = []
        for _ in range(max(calls, 1)):
            if self.reasons():
                encrypted = self.new("gAAA+/=")
                reasoning = {"id": self.new("rs"), "type": "reasoning", "summary": []}
                output.append({**reasoning, "encrypted_content": encrypted})
            output.append(self._call() if calls else self._message())
        for item, after in itertools.pairwise(output):
            if item["type"] == "reasoning":
                self.led_to[item["id"]] = after["id"]
        self.items.update({item["id"]: item for item in output})
        stream: list[Event] = []
        for index, item in enumerate(output):
            stream += [
                {"type": "response.output_item.added", "output_index": index, "item": item},
                {"type": "response.output_item.done", "output_index": index, "item": item},
            ]
        done = {"status": "completed", "output": output, "usage": {"input_tokens": 1}}
        return [*stream, {"type": "response.completed", "response": done}]

    def _call(self) -> Event:
        return {
            "id": self.new("fc"),
            "type": "function_call",
            "status": "completed",
            "call_id": self.new("call"),
            "name": "read",
            "arguments": json.dumps(self.arguments()),
        }

    def _message(self) -> Event:
        content = [{"type": "output_text", "text": "Done é𝄞.", "annotations": []}]
        return {
            "id": self.new("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }


class StrictGemini(StrictServer):
    """The first call of a step has its signature, or the word that skips the check."""

    def __init__(self, random: random.Random) -> None:
        super().__init__(random)
        self.signed: dict[str, Event] = {}

    def check(self, body: dict[str, Any]) -> None:
        contents = body["contents"]
        expect(contents[0]["role"] == "user", "the first turn is the user's")
        for content, after in zip(contents, [*contents[1:], {"parts": []}], strict=True):
            expect(content["parts"], "empty parts")
            calls = [part for part in content["parts"] if "functionCall" in part]
            answers = [part for part in after["parts"] if "functionResponse" in part]
            if content["role"] == "model":
                expect(len(calls) == len(answers), "function response parts must equal calls")
                for part in content["parts"]:
                    self._check_part(part)
            if calls:
                expect(calls[0].get("thoughtSignature"), "function call is missing a signature")

    def _check_part(self, part: Event) -> None:
        signature = part.get("thoughtSignature")
        if signature not in (None, SKIP):
            expect(part == self.signed.get(signature), "Corrupted thought signature")

    def answer(self, calls: int) -> list[Event]:
        parts: list[Event] = []
        if self.reasons():
            parts.append({"text": "hm", "thought": True})
        parts += [{"text": "I "}, {"text": "look é𝄞."}]
        if not calls:
            parts.append(self._signed({"text": self.random.choice(["", " Done."])}))
        for index in range(calls):
            call = {"name": "read", "args": self.arguments()}
            if self.reasons():
                call = {"id": self.new("fc"), **call}
            part = {"functionCall": call}
            parts.append(part if index else self._signed(part))
        stream: list[Event] = [
            {"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts
        ]
        end = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}}
        return [*stream, end]

    def _signed(self, part: Event) -> Event:
        signature = base64.b64encode(b"\xfb\xff" + self.new("sig").encode()).decode()
        self.signed[signature] = {**part, "thoughtSignature": signature}
        return self.signed[signature]


class StrictChat(StrictServer):
    """Chat completions behind a router: the details of reasoning come back as they were sent."""

    def __init__(self, random: random.Random) -> None:
        super().__init__(random)
        self.details: dict[str, list[Event]] = {}
        """By call: the details of the reasoning in its message."""
        self.known: set[str] = set()

    def check(self, body: dict[str, Any]) -> None:
        messages = body["messages"]
        open_calls: list[str] = []
        for message in messages:
            if message["role"] == "tool":
                expect(open_calls, "a tool message must follow a message with tool_calls")
                expect(message["tool_call_id"] == open_calls.pop(0), "tool_call_id")
                continue
            expect(not open_calls, "tool_calls must be followed by tool messages")
            calls = message.get("tool_calls") or []
            expect(message["content"] or calls, "content is empty")
            open_calls = [call["id"] for call in calls]
            for call in calls:
                expect(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments")
            sent = message.get("reasoning_details", [])
            is_known = self.known.issuperset(map(json.dumps, sent))
            expect(is_known, "reasoning_details were changed")
            if sent and open_calls:
                expect(sent == self.details[open_calls[0]], "reasoning_details were moved")
        expect(not open_calls, "tool_calls must be followed by tool messages")

    def answer(self, calls: int) -> list[Event]:
        details: list[Event] = []
        if self.reasons():
            text, signature = self.new("thought"), self.new("sig+/=")
            details = [
                {"type": "reasoning.text", "text": text, "signature": signature, "index": 0},
                {"type": "reasoning.encrypted", "data": self.new("data"), "index": 1},
            ]
        self.known.update(map(json.dumps, details))
        deltas: list[Event] = [{"reasoning_details": details}] if details else []
        deltas.append({"content": self.random.choice(["I look.", "é𝄞", "Done."])})
        for index in range(calls):
            id = self.new("call")
            self.details[id] = details
            function = {"name": "read", "arguments": json.dumps(self.arguments())}
            deltas.append({"tool_calls": [{"index": index, "id": id, "function": function}]})
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return [
            *({"choices": [{"index": 0, "delta": delta}]} for delta in deltas),
            {"choices": [end], "usage": usage},
        ]
