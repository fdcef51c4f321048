"""One answer put together from the chunks of a chat-completions stream.

Servers differ in how they stream; the rules here take what is unmistakable and leave the rest
to be answered as a bad call: nothing is executed on a guess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from agentchat.core.messages import Reply, Usage
from agentchat.core.tools.model import Piece, ReasoningDelta, TextDelta
from agentchat.models.call_fragments import Drafts
from agentchat.models.streamed_text import Text

CUT_OFF = "The answer was cut off: the server ended the stream early. Send the request again."
FILTERED = "The server's content filter stopped the answer. Put the request differently."


class Assembly:
    """Feed it decoded chunks, then take the reply.

    Args:
        taken: call ids that are in use in the chat.
        model: what the reply names as its model.
    """

    def __init__(self, taken: Collection[str] = (), model: str = "") -> None:
        self._model = model
        self._text = Text()
        self._reasoning = Text()
        self._reasoning_key = ""
        self._drafts = Drafts(taken)
        self._choice: int | None = None
        self._finish: str | None = None
        self._done = False
        self._usage: Usage | None = None
        self.error: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the stream came to a clean end: a finish reason or ``[DONE]``."""
        return self._done or self._finish is not None

    @property
    def has_usage(self) -> bool:
        """Whether the server counted the tokens."""
        return self._usage is not None

    def feed(self, chunk: object) -> list[Piece]:
        """Take one decoded chunk; return what is new in it."""
        if not isinstance(chunk, dict):
            return []
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"]) or self._usage
        if self.finished or self.error is not None:
            return []
        failed = _failure(chunk)
        if failed is not None:
            self.fail(failed)
            return []
        choice = self._chosen(chunk.get("choices"))
        return [] if choice is None else self._take(choice)

    def fail(self, reason: str) -> None:
        """Take an error that the server reports in its stream."""
        if not self.finished and self.error is None:
            self.error = (
                f"The server stopped with an error: {reason.rstrip('.')}. Send the request again."
            )

    def done(self) -> None:
        """Take the ``[DONE]`` that ends a stream."""
        self._done = True

    def reply(self, failure: str | None = None) -> Reply:
        """Return the answer; ``failure`` says what broke a stream that is not finished."""
        error = self.error
        if error is None and self._finish == "content_filter":
            error = FILTERED
        if error is None and not self.finished:
            error = failure or CUT_OFF
        self._text.flush()
        self._reasoning.flush()
        return Reply(
            text=self._text.value,
            calls=self._drafts.calls(cut=error is not None, short=self._finish == "length"),
            reasoning=self._reasoning.value,
            finish=self._finish or "unknown",
            error=error,
            usage=self._usage,
            model=self._model,
        )

    def _chosen(self, choices: object) -> dict[str, Any] | None:
        """Return the part of the first choice the stream began, if it is in ``choices``."""
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            index = choice.get("index") or 0
            if self._choice is None:
                self._choice = index
            if index == self._choice:
                return choice
        return None

    def _take(self, choice: dict[str, Any]) -> list[Piece]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) and not self._began:
            delta = choice.get("message")
        pieces = list(self._pieces(delta)) if isinstance(delta, dict) else []
        finish = choice.get("finish_reason")
        if finish == "error":
            self.fail(_message(choice.get("error")) or "no reason given")
        elif isinstance(finish, str) and finish:
            self._finish = finish
            pieces += self._last_words()
        return pieces

    @property
    def _began(self) -> bool:
        return bool(self._text or self._reasoning or self._drafts)

    def _pieces(self, delta: dict[str, Any]) -> Iterable[Piece]:
        thought = self._reasoning.add(self._thought(delta))
        if thought:
            yield ReasoningDelta(thought)
        said = self._text.add(_content(delta.get("content") or delta.get("refusal")))
        if said:
            yield TextDelta(said)
        calls = delta.get("tool_calls")
        for part in [calls] if isinstance(calls, dict) else calls or ():
            if isinstance(part, dict):
                yield from self._drafts.feed(part)

    def _thought(self, delta: dict[str, Any]) -> str:
        """Return the reasoning; some servers send the same text under two names."""
        for key in ("reasoning_content", "reasoning"):
            value = delta.get(key)
            if isinstance(value, str) and value and self._reasoning_key in ("", key):
                self._reasoning_key = key
                return value
        return ""

    def _last_words(self) -> Iterable[Piece]:
        thought, said = self._reasoning.flush(), self._text.flush()
        if thought:
            yield ReasoningDelta(thought)
        if said:
            yield TextDelta(said)


def _content(content: object) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _failure(chunk: dict[str, Any]) -> str | None:
    """Return the message of a chunk that reports an error, else None."""
    if chunk.get("error"):
        return _message(chunk["error"])
    if chunk.get("object") == "error" or chunk.get("type") == "error":
        return _message(chunk)
    return None


def _message(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code")
    return " ".join(str(error or "no reason given").split())[:300]


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    total = _count(usage, "total_tokens") or prompt + completion
    cost: Any = usage.get("cost")
    known = isinstance(cost, (int, float)) and not isinstance(cost, bool)
    return Usage(prompt, completion, total, float(cost) if known else None)


def _count(usage: dict[str, Any], key: str) -> int:
    value = usage.get(key)
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0
