"""Sizes of requests, and the check of a server's token counts against them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentchat.core.context.size import message_bytes, text_bytes, tools_bytes
from agentchat.core.messages import Message, Note, Reply, Usage, UserText
from agentchat.core.model import ModelRequest

CAUTIOUS_BYTES_PER_TOKEN = 6.0
"""Before a server was measured; more than text has, so that few tokens are expected."""

LEAST_TOKENS = 1_000
"""A request estimated below this is not judged: a server's own template weighs too much in it."""

LEAST_COUNTED = 512
"""A server that cuts the prompt fills its context, and no context is smaller than this."""

SHORTFALL = 0.8
"""A count below this share of the estimate means that the server left something out."""

EXCESS = 1.6
"""A count beyond this share of what the messages alone should have holds more than those."""


class TokenEstimate:
    """Learns from each count of one server how many bytes make a token there."""

    def __init__(self) -> None:
        self._bytes_per_token = CAUTIOUS_BYTES_PER_TOKEN
        self._measured: tuple[Message, ...] = ()
        self._history = 0

    def check(self, request: ModelRequest, counted: int, called: bool = False) -> str | None:
        """Return a warning if ``counted`` prompt tokens are far too few, else None.

        Args:
            called: the model has made a call, so it was given the tools.
        """
        if request.forced is not None:  # some servers are sent that tool alone
            return None
        tools, prompts = tools_bytes(request.tools), text_bytes(request.system, request.reminder)
        messages = prompts + self._history_size(request.history.messages)
        expected = (messages + tools) / self._bytes_per_token
        if expected < LEAST_TOKENS:
            return None
        if self._counts_only_messages(messages, expected, counted) and not (
            called or any(map(_has_calls, request.history.messages))
        ):
            return (
                f"The server counted {counted} prompt tokens where about {round(expected)} were "
                "sent: as many as without the tools. The model's chat template seems to have no "
                "tools, so it cannot use any. Choose a model that has."
            )
        if counted < LEAST_COUNTED:
            return None
        if counted >= SHORTFALL * expected:
            self._bytes_per_token = (messages + tools) / counted
            return None
        return (
            f"The server counted {counted} prompt tokens where about {round(expected)} were sent: "
            "it seems to cut the conversation. Raise its context size, or start a new chat."
        )

    def least_usage(self, request: ModelRequest, reply: Reply) -> Usage:
        """Return what an answer that broke off used at least: as counted, else estimated."""
        counted = reply.usage or Usage()
        sent = sum(size for _, size in part_sizes(request))
        came = message_bytes(reply) + text_bytes(reply.reasoning)
        prompt = counted.prompt_tokens or int(sent / self._bytes_per_token)
        completion = max(counted.completion_tokens, int(came / self._bytes_per_token))
        return replace(
            counted,
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=prompt + completion,
            is_lower_bound=True,
        )

    def _counts_only_messages(self, size: int, expected: float, counted: int) -> bool:
        """Whether the messages are there and the tools are not."""
        share = counted * self._bytes_per_token / max(size, 1)
        return counted < SHORTFALL * expected and SHORTFALL <= share <= EXCESS

    def _history_size(self, messages: tuple[Message, ...]) -> int:
        """Return the bytes of the messages; those of the request before are not measured again."""
        start = len(self._measured)
        if messages[:start] != self._measured:
            start, self._history = 0, 0
        self._history += sum(map(message_bytes, messages[start:]))
        self._measured = messages
        return self._history


def biggest_part(request: ModelRequest) -> str:
    """Name the biggest part of a request, with its size."""
    name, size = max(part_sizes(request), key=lambda part: part[1])
    return f"{name} ({max(1, size // 1024)} KiB)"


def part_sizes(request: ModelRequest) -> Iterator[tuple[str, int]]:
    """Yield the parts of a request with their bytes of text; images and reasoning do not count."""
    yield "the tools' schemas", tools_bytes(request.tools)
    yield "the system prompt", text_bytes(request.system)
    yield "a message of the user", text_bytes(request.reminder)
    for message in request.history.messages:
        yield _kind(message), message_bytes(message)


def _kind(message: Message) -> str:
    if isinstance(message, Reply):
        return "an answer of the model"
    return "a message of the user" if isinstance(message, UserText | Note) else "a tool's result"


def _has_calls(message: Message) -> bool:
    return isinstance(message, Reply) and bool(message.calls)
