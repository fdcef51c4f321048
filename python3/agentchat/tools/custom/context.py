"""What a function of the user's receives of the call it runs in, and what it may return."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import NO_STORE

MOST_CHARACTERS = 16 * 1024 * 1024
"""A longer text is cut before anything else is done with it."""

NO_OUTPUT = "(no output)"
OVER = "The call is over: its context can do nothing more."


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool or a callback returns where text alone is not enough.

    Args:
        text: what the model reads.
        details: data for other programs, as JSON has it; part of ``AgentToolFinished``.
        is_error: whether the model should take it as a failure.
        shown: what the user reads in the chat, where that differs.
    """

    text: Any
    details: Mapping[str, Any] | None = None
    is_error: bool = False
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A program that ended: its exit code (negative for a signal), and what it wrote."""

    code: int
    output: str


class Link(Protocol):
    """The plugin, as the context of a call reaches it from any thread."""

    def progress(self, text: str) -> None:
        """Show a line in the call's block."""

    def stage(
        self, label: str, apply: Callable[..., Any], reject: Any, source: str, preview: str
    ) -> None:
        """Register a preview."""

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it."""

    def run(self, command: str, timeout: float | None) -> CommandResult:
        """Run a shell command."""


@dataclass(frozen=True)
class Context:
    """The call a function runs in. Made by the runtime; ``Context(cwd=...)`` is for tests.

    Args:
        cwd: the workspace of the chat, which is the working directory of the call, too.
        call_id: the id of the call in this chat.
        flags: what commands of this chat left behind, see the option ``flag``.
    """

    cwd: str = field(default_factory=os.getcwd)
    call_id: str = ""
    flags: Mapping[str, bool] = field(default_factory=dict)
    _link: Link | None = field(default=None, repr=False)

    def progress(self, text: object) -> None:
        """Show a line in the call's block while it runs; the model does not read it."""
        if self._link is not None:
            self._link.progress(str(text))

    def stage(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
    ) -> None:
        """Stage a preview, which is applied or discarded later by the model or the user.

        Args:
            label: one line that says what applying does.
            apply: called with the reason and the extra data; does it. What it raises leaves the
                preview pending.
            reject: called like ``apply`` when the preview is discarded; ``None`` or a return
                value of ``None`` tells the model the default.
            source: who staged it.
            preview: what the user is shown.

        Raises:
            ToolError: there is nowhere to stage.
        """
        if self._link is None:
            raise ToolError(NO_STORE)
        self._link.stage(label, apply, reject, source, preview)

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it: an unsaved buffer first.

        Raises OSError or UnicodeDecodeError.
        """
        if self._link is not None:
            return self._link.read(path)
        with open(os.path.join(self.cwd, path), encoding="utf-8") as file:
            return file.read()

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run a shell command in the working directory; being stopped kills all it started.

        Raises:
            ToolError: it cannot start, or takes more than ``timeout`` seconds.
        """
        if self._link is None:
            raise ToolError("Commands are unavailable for custom tools in this runtime.")
        return self._link.run(command, timeout)


def result_of(value: Any, name: str) -> Result:
    """Return what a function returned as a result of plain data.

    Raises:
        ToolError: it is neither text nor a value that JSON can represent.
    """
    if not isinstance(value, Result):
        return Result(text_of(value, name))
    details = None if value.details is None else _plain(value.details, name)
    if not isinstance(details, (dict, type(None))):
        kind = type(value.details).__name__
        raise ToolError(f"{name} failed: details must be a mapping, not {kind}.")
    shown = None if value.shown is None else text_of(value.shown, name)
    return Result(text_of(value.text, name), details, bool(value.is_error), shown)


def text_of(value: Any, name: str) -> str:
    """Return text as it is and any other value as JSON."""
    if value is None:
        return NO_OUTPUT
    if isinstance(value, bytes):
        text = value[:MOST_CHARACTERS].decode("utf-8", "replace")
    elif isinstance(value, str):
        text = str(value)
    else:
        with _refuse(value, name):
            text = to_json(value, inf_nan_mode="constants").decode()
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS} characters left out]"
    # A lone surrogate is no character: neither a server nor Neovim takes it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _plain(value: Any, name: str) -> Any:
    """Return a value as the plain data that JSON has: numbers, text, lists, mappings."""
    with _refuse(value, name):
        text = json.dumps(to_jsonable_python(value), allow_nan=False)
        return json.loads(text.encode("utf-8", "replace"))


@contextmanager
def _refuse(value: Any, name: str) -> Iterator[None]:
    try:
        yield
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        kind, reason = type(value).__name__, str(error).split("\n", 1)[0]
        what = f"a value of type {kind} that is no text and no JSON: {reason}"
        raise ToolError(f"{name} returned {what}") from error
