"""How many tokens of the window the conversation takes: as the server counted, else estimated."""

from __future__ import annotations

from collections.abc import Callable

from agentchat.core.context.context import ChatContext
from agentchat.core.context.size import fixed_tokens, message_tokens, total_tokens
from agentchat.core.messages import History, Reply
from agentchat.core.model import ModelRequest

LEAST_SCALE, MOST_SCALE = 0.1, 10.0
"""Estimates are corrected by at most so much."""


class ContextMeter:
    """Counts one chat's tokens.

    The newest reply's usage counts, with an estimate of what came after it. Without one, since the
    server does not count or what is sent has changed, all is estimated and scaled by how far the
    last estimate was off.
    """

    def __init__(self) -> None:
        self._scale = 1.0
        self._known: tuple[object, int] = (None, 0)

    def used(
        self, history: History, context: ChatContext, request: Callable[[], ModelRequest]
    ) -> int:
        """Return the tokens that the next request has; 0 for a chat without messages.

        Args:
            request: builds the next request; called only if it must be estimated as a whole.
        """
        key = (len(history.messages), context.changed_at, context.steps)
        if self._known[0] != key:
            counted = _counted(history, context.changed_at)
            if counted is None and history.messages:
                counted = int(estimate(request()) * self._scale)
            self._known = key, counted or 0
        return self._known[1]

    def calibrate(self, history: History, context: ChatContext, request: ModelRequest) -> None:
        """Compare the server's count with the estimate, before the count becomes void."""
        counted = _counted(history, context.changed_at)
        expected = estimate(request)
        if counted is not None and expected:
            self._scale = min(MOST_SCALE, max(LEAST_SCALE, counted / expected))
        self._known = None, 0


def estimate(request: ModelRequest) -> int:
    """Return the estimated tokens of a request."""
    return fixed_tokens(request.system, request.tools) + total_tokens(request.history.messages)


def _counted(history: History, since: int) -> int | None:
    """Return the count of the newest reply from the index ``since`` on, with what came after it."""
    later = 0
    for index in reversed(range(since, len(history.messages))):
        message = history.messages[index]
        if isinstance(message, Reply) and message.counted is not None:
            return message.counted.total_tokens + later
        later += message_tokens(message)
    return None
