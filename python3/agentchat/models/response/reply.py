"""One reply put together from the pieces of a stream, whatever the protocol.

Servers differ in how they stream; the rules here take what is unmistakable and leave the rest
to be answered as a bad call: nothing is executed on a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agentchat.core.messages import FinishReason, Reply, Usage
from agentchat.core.tools.model import Piece, ReasoningDelta, TextDelta
from agentchat.models.response.call_fragments import CallFragment, CallFragments
from agentchat.models.response.text import StreamedText, ThinkTags

CUT_OFF = "The answer was cut off: the server ended the stream early. Send the request again."
FILTERED = "The server's content filter stopped the answer. Rephrase the request."


class ReplyAssembly:
    """A protocol adds what it reads; each method returns what is new to show.

    Args:
        used_ids: call ids that are in use in the chat.
        model: what the reply names as its model.
    """

    def __init__(self, used_ids: Collection[str] = (), model: str = "") -> None:
        self._model = model
        self._text = StreamedText()
        self._reasoning = StreamedText()
        self._tags = ThinkTags()
        self._calls = CallFragments(used_ids)
        self._reason: FinishReason | None = None
        self._ended = False
        self.usage: Usage | None = None
        self.error: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the stream came to a clean end: a finish reason or an end marker."""
        return self._ended or self._reason is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the reply has come yet."""
        return not (self._text or self._reasoning or self._calls)

    def add_text(self, text: str) -> list[Piece]:
        """Take text; what stands in a leading ``<think>`` tag is reasoning."""
        if not text:
            return []
        reasoning, rest = self._tags.split(text)
        return [*self.add_reasoning(reasoning), *_text(self._text.add(rest))]

    def add_reasoning(self, text: str) -> list[Piece]:
        """Take reasoning."""
        return list(_reasoning(self._reasoning.add(text)))

    def add_call(self, fragment: CallFragment) -> list[Piece]:
        """Take a fragment of a call."""
        return list(self._calls.add(fragment))

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
        thought = self._reasoning.add(reasoning) + self._reasoning.flush()
        answer = self._text.add(text) + self._text.flush()
        return [*_reasoning(thought), *_text(answer)]

    def fail(self, reason: str) -> None:
        """Take an error that the server reports in its stream."""
        if not self.is_finished and self.error is None:
            self.error = (
                f"The server stopped with an error: {reason.rstrip('.')}. Send the request again."
            )

    def reply(self, failure: str | None = None) -> Reply:
        """Return the reply; ``failure`` says what broke a stream that is not finished."""
        self.flush()
        error = self._error(failure)
        return Reply(
            text=self._text.value,
            calls=self._calls.calls(broken=error is not None, too_long=self._reason == "length"),
            reasoning=self._reasoning.value,
            finish=self._reason or "unknown",
            error=error,
            usage=self.usage,
            model=self._model,
        )

    def _error(self, failure: str | None) -> str | None:
        if self.error is not None:
            return self.error
        if self._reason == "content_filter":
            return FILTERED
        return None if self.is_finished else failure or CUT_OFF


def _text(text: str) -> Iterator[Piece]:
    if text:
        yield TextDelta(text)


def _reasoning(text: str) -> Iterator[Piece]:
    if text:
        yield ReasoningDelta(text)
