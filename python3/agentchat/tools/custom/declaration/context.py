"""The context that a user's function receives, and the results it can return."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import NO_STORE
from agentchat.tools.custom.declaration.spec import NO_OUTPUT

MOST_IMAGES = 8
LARGEST_IMAGE = 32 * 1024 * 1024
"""The most bytes of an image."""
MOST_CHARACTERS = 16 * 1024 * 1024
"""Of a result; a longer text is cut."""


@frozen
class Result:
    """What a tool or a callback returns if text alone is not enough.

    Args:
        text: what the model reads.
        details: JSON data for other programs; part of ``AgentToolFinished``.
        is_error: whether it is a failure.
        shown: what the user reads in the chat, if that differs.
        images: pictures for the model: the bytes of files, or their paths.
    """

    text: Any
    details: Any = None
    is_error: bool = False
    shown: str | None = None
    images: Sequence[bytes | str | os.PathLike[str]] = ()


@frozen
class DryRun:
    """What ``dry_run`` returns if text alone is not enough; the approval request shows all of it.

    Args:
        would_affect: what would be affected: a file, a table, a URL, or a list of those.
        preview: the details: a unified diff, a plan, a query.
        estimated_impact: measures by name, as ``{"rows": 120}``.
        summary: one line about the effect.
        reversible: whether this very call can be undone, if that differs from other calls.
    """

    would_affect: str | Sequence[str] = ()
    preview: str = ""
    estimated_impact: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    reversible: bool | None = None


@frozen
class CommandResult:
    """The exit code of a program (negative for a signal), and what it wrote."""

    code: int
    output: str


@frozen
class StagedCallbacks:
    """A preview that a function stages: its texts by name, and what resolves it."""

    apply: Callable[..., Any]
    reject: Callable[..., Any] | None
    texts: Mapping[str, str]
    details: Any
    standing: bool = False


class PluginCall:
    """What a function may ask of the plugin. This one has none: it is for tests.

    ``process.call_context.LinkedCall`` is the one in a worker.
    """

    def progress(self, text: str) -> None:
        """Show a text."""

    def stage(self, staged: StagedCallbacks) -> None:
        """Stage a preview, or set the standing handler; raises ToolError."""
        raise ToolError(NO_STORE)

    def clear_standing(self) -> None:
        """Remove the standing handler."""

    def read(self, path: str, cwd: str) -> str:
        """Return the text of a file; raises OSError or UnicodeDecodeError."""
        with open(os.path.join(cwd, path), encoding="utf-8") as file:
            return file.read()

    def run(self, command: str, timeout: float | None) -> CommandResult:
        """Run a shell command; raises ToolError."""
        raise ToolError("Commands are unavailable for custom tools in this runtime.")


@dataclass(frozen=True)
class Context:
    """The call in which a function runs; ``Context(cwd=...)`` is one for tests.

    Args:
        cwd: the workspace of the chat, and the working directory of the call.
        call_id: the id of the call in this chat.
        flags: the flags that commands of this chat set, see the option ``flag``.
    """

    cwd: str = field(default_factory=os.getcwd)
    call_id: str = ""
    flags: Mapping[str, bool] = field(default_factory=dict)
    _call: PluginCall = field(default_factory=PluginCall, repr=False, compare=False)

    def progress(self, text: object) -> None:
        """Show a line in the call's block; the model does not read it."""
        line = str(text)
        self._call.progress(line if line.endswith("\n") else f"{line}\n")

    def stage(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        """Stage a preview, which the model or the user applies or discards later.

        Args:
            label: one line that describes what applying does.
            apply: makes the change; called with the reason and the extra data. If it raises, the
                preview stays pending.
            reject: called like ``apply`` when the preview is discarded. Without it, or if it
                returns ``None``, the model reads the default text.
            source: the name of who stages it.
            preview: what the user reads.
            details: JSON data for other programs, part of the events and of the result.

        Raises:
            ToolError: nothing can resolve a preview here.
        """
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        self._call.stage(StagedCallbacks(apply, reject, texts, plain(details, "stage")))

    def set_standing_resolve_handler(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        """Let the model call ``resolve`` while no preview is pending, as often as it likes.

        The arguments are those of ``stage``; the user reads ``preview`` and the model's reply. The
        handler replaces the one before, and stays until ``clear_standing_resolve_handler``.

        Raises:
            ToolError: nothing can call ``resolve`` here.
        """
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        details = plain(details, "set_standing_resolve_handler")
        self._call.stage(StagedCallbacks(apply, reject, texts, details, standing=True))

    def clear_standing_resolve_handler(self) -> None:
        """Remove the standing handler, if there is one."""
        self._call.clear_standing()

    def read(self, path: str) -> str:
        """Return the text of a file as the user sees it, with the changes of an unsaved buffer.

        Raises OSError or UnicodeDecodeError.
        """
        return self._call.read(str(path), self.cwd)

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run a shell command in the working directory; the end of the call kills it.

        Raises:
            ToolError: it cannot start, or takes more than ``timeout`` seconds.
        """
        return self._call.run(str(command), timeout)


def result_of(value: Any, name: str) -> Result:
    """Return the value of a function as a result of JSON data.

    Raises:
        ToolError: it is neither text nor a value that JSON can represent.
    """
    if not isinstance(value, Result):
        return Result(_text(value, name))
    shown = None if value.shown is None else _text(value.shown, name)
    return Result(
        text=_text(value.text, name),
        details=None if value.details is None else plain(value.details, name),
        is_error=bool(value.is_error),
        shown=shown,
        images=[_image(image, name) for image in _several(value.images)],
    )


def _several(images: Any) -> list[Any]:
    is_one = isinstance(images, (bytes, bytearray, str, os.PathLike))
    return [images] if is_one else list(images or ())[:MOST_IMAGES]


def _image(image: Any, name: str) -> bytes:
    """Return the bytes of an image, from its file if it is a path; raises ToolError."""
    if isinstance(image, (bytes, bytearray)):
        return bytes(image)
    try:
        with open(image, "rb") as file:
            return file.read(LARGEST_IMAGE)
    except (OSError, TypeError) as error:
        raise ToolError(f"{name} returned an image that cannot be read: {error}") from error


def dry_run_of(value: Any, name: str) -> dict[str, Any]:
    """Return the value of ``dry_run`` as JSON data: the fields of ``DryRun``.

    Raises:
        ToolError: it is neither text nor a value that JSON can represent.
    """
    if not isinstance(value, DryRun):
        value = DryRun(preview=result_of(value, name).text)
    impact = plain(value.estimated_impact, name)
    if not isinstance(impact, dict):
        raise ToolError(f"{name} failed: estimated_impact must be a mapping.")
    return {
        "would_affect": texts_of(value.would_affect, name),
        "preview": _text(value.preview, name),
        "impact": impact,
        "summary": _text(value.summary, name),
        "reversible": None if value.reversible is None else bool(value.reversible),
    }


def texts_of(value: Any, name: str) -> list[str]:
    """Return one text, or the texts of an iterable, as a list; raises ToolError."""
    if value is None:
        return []
    values = (
        [value] if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) else value
    )
    return [_text(item, name) for item in values]


def _text(value: Any, name: str) -> str:
    """Return text as is, and any other value as JSON."""
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
    # Neither a server nor Neovim accepts a lone surrogate.
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(value: Any, name: str) -> Any:
    """Return a value as JSON data: numbers, text, lists, mappings."""
    with _refuse(value, name):
        text = json.dumps(to_jsonable_python(value), allow_nan=False)
        return json.loads(text.encode("utf-8", "replace"))


@contextmanager
def _refuse(value: Any, name: str) -> Iterator[None]:
    try:
        yield
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        kind, reason = type(value).__name__, str(error).split("\n", 1)[0]
        problem = f"a value of type {kind} that is no text and no JSON: {reason}"
        raise ToolError(f"{name} returned {problem}") from error
