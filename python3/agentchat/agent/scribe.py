"""Writes down what happens in a chat, before its effect is visible."""

from __future__ import annotations

from typing import Protocol

from agentchat.core.approval import Decision
from agentchat.core.effects import Answer, Question, Ready
from agentchat.core.messages import Message
from agentchat.core.pending import Pending


class Scribe(Protocol):
    """The chat's journal, as the performer sees it."""

    def turn_started(self, number: int) -> None:
        """A turn begins."""

    def turn_finished(self, number: int, reason: str) -> None:
        """A turn is over."""

    def said(self, message: Message, decision: Decision | None) -> None:
        """Something joins the history; ``decision`` is why a call was answered as it was."""

    def answered(self, question: Question, answer: Answer) -> None:
        """The user answered a question."""

    def started(self, ready: Ready) -> None:
        """A call is about to run; durable when this returns."""

    def staged(self, pending: Pending) -> None:
        """A preview is pending."""

    def resolved(self, pending: Pending, action: str, reason: str) -> None:
        """A preview was applied or discarded."""
