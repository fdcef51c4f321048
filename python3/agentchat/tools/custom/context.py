"""What a function of the user's gets of the call it runs in, and what it may return."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import NO_STORE


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
class Ran:
    """A program that ended: ``code`` as the system tells it, ``output`` of both streams."""

    code: int
    output: str


class Link(Protocol):
    """The runtime, as the context of a call reaches it from whatever thread."""

    def progress(self, text: str) -> None:
        """Show a line in the call's block."""

    def stage(
        self, label: str, apply: Callable[..., Any], reject: Any, source: str, preview: str
    ) -> None:
        """Register a preview."""

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it."""

    def run(self, command: str, timeout: float | None) -> Ran:
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

    def run(self, command: str, timeout: float | None = None) -> Ran:
        """Run a shell command in the working directory; being stopped kills all it started.

        Raises:
            ToolError: it cannot start, or takes more than ``timeout`` seconds.
        """
        if self._link is None:
            raise ToolError("Commands are unavailable for custom tools in this runtime.")
        return self._link.run(command, timeout)
