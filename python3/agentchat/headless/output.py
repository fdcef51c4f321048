"""Prints a turn: the answer as text, or everything as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from agentchat.app.silent_view import ENDS, SilentView
from agentchat.core.text import escape_control_characters, escape_hidden_characters
from agentchat.core.turn.view import ToolBlock

LONGEST_FAILURE = 12
"""Lines of a result that are printed if the call failed."""


class PrintingView(SilentView):
    """Prints to two streams.

    When one has no reader any more, as in ``| head``, ``on_closed`` is called, and nothing more is
    printed.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        super().__init__()
        self.out = out
        self.err = err
        self.is_closed = False
        self.on_closed: Callable[[], None] = lambda: None

    def write(self, stream: TextIO, text: str) -> None:
        """Write a text immediately; nothing in it is a sequence that a terminal obeys."""
        if self.is_closed:
            return
        try:
            stream.write(escape_control_characters(text))
            stream.flush()
        except BrokenPipeError:
            self.is_closed = True
            self.on_closed()


class TextView(PrintingView):
    """Prints the answer on standard output, and calls and notes on standard error."""

    _is_open = False
    """Whether a line of the answer has no end yet."""

    def add_text(self, piece: str) -> None:
        """Print a piece of the answer."""
        super().add_text(piece)
        self.write(self.out, piece)
        self._is_open = not piece.endswith("\n")

    def finish_reply(self) -> None:
        """End the line."""
        if self._is_open:
            self.write(self.out, "\n")
            self._is_open = False

    def report_call(self, call_id: str, block: ToolBlock) -> None:
        """Print a line for a call, and its result if it did not succeed."""
        state = ENDS[str(block.state)]
        self._print(f"[{state}] {block.title or block.tool}")
        if state != "ok":
            for line in (block.body or ())[:LONGEST_FAILURE]:
                self._print(f"    {line}".rstrip())

    def notify(self, level: str, text: str) -> None:
        """Print a line of the plugin."""
        self._print(f"agentchat: {text}")

    def _print(self, line: str) -> None:
        self.finish_reply()
        self.write(self.err, escape_hidden_characters(line) + "\n")


class JsonView(PrintingView):
    """Prints a JSON object on a line for everything that happens; ``type`` says what."""

    def add_text(self, piece: str) -> None:
        """Print a piece of the answer."""
        super().add_text(piece)
        self._print("text", text=piece)

    def add_reasoning(self, piece: str) -> None:
        """Print a piece of the reasoning."""
        self._print("reasoning", text=piece)

    def report_call(self, call_id: str, block: ToolBlock) -> None:
        """Print a call with its result."""
        self._print(
            "tool",
            call_id=call_id,
            tool=block.tool,
            title=block.title,
            status=ENDS[str(block.state)],
            output="\n".join(block.body or ()),
        )

    def notify(self, level: str, text: str) -> None:
        """Print a line of the plugin."""
        self._print("note", level=level, text=text)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Print the end of the turn, with the answer."""
        self._print("end", **summary)

    def _print(self, type: str, **fields: Any) -> None:
        self.write(self.out, json.dumps({"type": type, **fields}) + "\n")
