"""One reply put together from the pieces of a stream, whatever the protocol.

Servers differ in how they stream; the rules here take what is unmistakable and leave the rest
to be answered as a bad call: nothing is executed on a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from agentchat.core.messages import (
    FinishReason,
    Reply,
    ReplyPart,
    TextPart,
    ThinkingPart,
    ToolCall,
    Usage,
)
from agentchat.core.model import Piece, ReasoningDelta, TextDelta
from agentchat.models.response.call_fragments import CallFragment, CallFragments
from agentchat.models.response.text import StreamedText, ThinkTags
from agentchat.models.response.text_calls import OfferedTools, WrittenCalls

CUT_OFF = "The answer was cut off: the server ended the stream early. Send the request again."
FILTERED = "The server's content filter stopped the answer. Rephrase the request."

MOST_CHARACTERS = 16 * 1024 * 1024
"""The most characters of a reply, many times what a model can say; more is a server gone wild."""

TOO_LARGE = (
    f"The answer was stopped: it is longer than {MOST_CHARACTERS // 1_000_000} million characters. "
    "Send the request again, or choose another model with :AgentModel."
)

TextKind = Literal["text", "thinking"]


class PartialText:
    """A text or a reasoning as far as it has arrived; ``opaque`` is the vendor's data about it."""

    def __init__(self, kind: TextKind) -> None:
        self.kind = kind
        self.text = StreamedText()
        self.opaque: dict[str, Any] = {}

    def piece(self, text: str) -> list[Piece]:
        """Return what there is to show of ``text``."""
        if not text:
            return []
        return [TextDelta(text) if self.kind == "text" else ReasoningDelta(text)]

    def part(self) -> TextPart | ThinkingPart | None:
        """Return the part, None if there is nothing in it."""
        if not self.text.value and not self.opaque:
            return None
        of = TextPart if self.kind == "text" else ThinkingPart
        return of(self.text.value, self.opaque)


class ReplyAssembly:
    """A protocol adds what it reads; each method returns what is new to show.

    Args:
        used_ids: call ids that are in use in the chat.
        model: what the reply names as its model.
        provider: what the reply names as its provider.
        tools: the offered tools, where calls may be written as text.
        sources: texts that the model has read.
    """

    def __init__(
        self,
        used_ids: Collection[str] = (),
        model: str = "",
        provider: str = "",
        tools: OfferedTools | None = None,
        sources: Iterable[str] = (),
    ) -> None:
        self._model = model
        self._provider = provider
        self._parts: list[PartialText | int] = []
        self._tags = ThinkTags()
        self._written = WrittenCalls(tools or {}, sources)
        self._calls = CallFragments(used_ids)
        self._reason: FinishReason | None = None
        self._ended = False
        self._size = 0
        self.usage: Usage | None = None
        self.error: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the stream came to a clean end: a finish reason or an end marker."""
        return self._ended or self._reason is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply has come yet."""
        return not self._parts and not self._written.is_held

    @property
    def call_count(self) -> int:
        """How many calls the reply has so far."""
        return len(self._calls)

    def begin(self, kind: TextKind) -> list[Piece]:
        """Begin a new part, even where the one before is of the same kind."""
        pieces = self._flush_newest()
        self._parts.append(PartialText(kind))
        return pieces

    def attach(self, kind: TextKind, opaque: Mapping[str, Any]) -> list[Piece]:
        """Add vendor data to the newest text or reasoning; where there is none, one begins."""
        pieces = [] if self._newest(kind) else self.begin(kind)
        newest = self._newest(kind)
        assert newest is not None
        newest.opaque.update(opaque)
        return pieces

    def opaque(self, kind: TextKind) -> Mapping[str, Any]:
        """Return the vendor data so far of the newest text or reasoning."""
        newest = self._newest(kind)
        return newest.opaque if newest else {}

    def add_text(self, text: str) -> list[Piece]:
        """Take text; what stands in a leading ``<think>`` tag is reasoning."""
        if not text:
            return []
        self._count(text)
        reasoning, rest = self._tags.split(text)
        shown = self._extend("thinking", reasoning)
        return [*shown, *self._extend("text", self._written.add(rest))]

    def add_reasoning(self, text: str) -> list[Piece]:
        """Take reasoning."""
        self._count(text)
        return self._extend("thinking", text)

    def add_call(self, fragment: CallFragment) -> list[Piece]:
        """Take a fragment of a call."""
        self._count(fragment.arguments)
        before = len(self._calls)
        pieces = list(self._calls.add(fragment))
        if len(self._calls) > before:
            pieces = [*self._flush_newest(), *pieces]
            self._parts.append(before)
        return pieces

    def finish(self, reason: FinishReason) -> list[Piece]:
        """Take the server's reason to end; return what was held back until now."""
        self._reason = reason
        return self.flush()

    def end(self) -> list[Piece]:
        """Take the marker of the stream's end; return what was held back until now."""
        self._ended = True
        return self.flush()

    def flush(self) -> list[Piece]:
        """Return what was held back for a second half that will not come."""
        reasoning, text = self._tags.flush()
        pieces = self._extend("thinking", reasoning)
        pieces += self._extend("text", self._written.add(text))
        return [*pieces, *self._flush_written(), *self._flush_newest()]

    def fail(self, reason: str) -> None:
        """Take an error that the server reports in its stream."""
        if not self.is_finished and self.error is None:
            self.error = (
                f"The server stopped with an error: {reason.rstrip('.')}. Send the request again."
            )

    def _count(self, text: str) -> None:
        self._size += len(text)
        if self._size > MOST_CHARACTERS and self.error is None:
            self.error = TOO_LARGE

    def reply(self, failure: str | None = None) -> Reply:
        """Return the reply; ``failure`` says what broke a stream that is not finished."""
        self.flush()
        error = self._error(failure)
        calls = self._calls.calls(broken=error is not None, too_long=self._reason == "length")
        return Reply(
            parts=tuple(part for part in (self._part(p, calls) for p in self._parts) if part),
            finish=self._reason or "unknown",
            error=error,
            usage=self.usage,
            model=self._model,
            provider=self._provider,
        )

    def _part(self, part: PartialText | int, calls: tuple[ToolCall, ...]) -> ReplyPart | None:
        return calls[part] if isinstance(part, int) else part.part()

    def _newest(self, kind: TextKind) -> PartialText | None:
        parts = (p for p in reversed(self._parts) if isinstance(p, PartialText) and p.kind == kind)
        return next(parts, None)

    def _extend(self, kind: TextKind, text: str) -> list[Piece]:
        if not text:
            return []
        newest = self._parts[-1] if self._parts else None
        pieces: list[Piece] = []
        if not isinstance(newest, PartialText) or newest.kind != kind:
            pieces = self.begin(kind)
            newest = self._parts[-1]
        assert isinstance(newest, PartialText)
        return [*pieces, *newest.piece(newest.text.add(text))]

    def _flush_newest(self) -> list[Piece]:
        newest = self._parts[-1] if self._parts else None
        return newest.piece(newest.text.flush()) if isinstance(newest, PartialText) else []

    def _flush_written(self) -> list[Piece]:
        """Return what was held back as a call that is written as text: as calls, or as text."""
        if not self._written.is_held:
            return []
        is_whole = self._reason in (None, "stop", "tool_calls", "unknown") and self.is_finished
        calls, text = self._written.take(is_whole and self.error is None and not self.call_count)
        pieces = self._extend("text", text)
        for call in calls:
            pieces += self.add_call(call)
        return pieces

    def _error(self, failure: str | None) -> str | None:
        if self.error is not None:
            return self.error
        if self._reason == "content_filter":
            return FILTERED
        return None if self.is_finished else failure or CUT_OFF
