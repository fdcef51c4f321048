"""Read a file, or some lines of it, as the user sees it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import Field

from agentchat.core.errors import ToolError
from agentchat.core.limits import IMAGE_PIXELS, KIB, READ_BYTES, READ_LINES
from agentchat.core.messages import Image
from agentchat.core.tools.ports import FileTarget, Workspace
from agentchat.core.tools.tool import Access, Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.builtin import read
from agentchat.tools.files import cannot_read, locate_file
from agentchat.tools.format import argument_text, with_notices
from agentchat.tools.schema import PydanticArguments, ToolArguments, WholeNumber

LARGEST = 32 * 1024 * 1024
"""Bytes of an image file that is read at all."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class UndecodableImage(Exception):
    """The bytes begin like an image and are none."""


def kind_of(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; ``None`` if it is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def scale_down(data: bytes, kind: str, pixels: int = IMAGE_PIXELS) -> tuple[Image, str]:
    """Return the image, scaled down if wider or higher than ``pixels``, and a note about that.

    Raises:
        Undecodable: says why.
    """
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data)) as image:
            width, height = image.size
            if max(width, height) <= pixels:
                image.verify()
                return Image(kind, data), ""
            image.draft("RGB", (pixels, pixels))
            image.thumbnail((pixels, pixels))
            scaled, kind = _encoded(image, kind)
            shown = f"{image.size[0]}x{image.size[1]}"
    except (OSError, SyntaxError, ValueError, Warning, Pillow.DecompressionBombError) as error:
        raise UndecodableImage(str(error)) from error
    note = f"[Scaled down from {width}x{height} to {shown} pixels.]"
    return Image(kind, scaled), note


def _encoded(image: object, kind: str) -> tuple[bytes, str]:
    """Return the scaled image in its own format; the first picture of a moving one as PNG."""
    from PIL import Image as Pillow

    assert isinstance(image, Pillow.Image)
    out = io.BytesIO()
    name = {"image/jpeg": "JPEG", "image/webp": "WEBP"}.get(kind, "PNG")
    image.save(out, name)
    return out.getvalue(), f"image/{name.lower()}"


class LineWindow:
    """Takes whole lines from ``first`` on, and counts the lines of all that is fed.

    Args:
        first: 1-based number of the first line wanted.
        lines: the most lines taken.
        size: the most bytes taken, the last line's end not counted.
    """

    def __init__(self, first: int, lines: int, size: int) -> None:
        self.first = first
        self.full = False
        self.overlong: int | None = None
        """Bytes of the first wanted line, if it alone is over ``size``."""
        self._lines = lines
        self._size = size
        self._taken: list[bytes] = []
        self._used = 0
        self._current = bytearray()
        self._current_size = 0
        self._ended = 0
        self._open = False

    @property
    def taken(self) -> int:
        """How many lines were taken."""
        return len(self._taken)

    @property
    def last(self) -> int:
        """1-based number of the last line taken."""
        return self.first + self.taken - 1

    @property
    def total(self) -> int:
        """How many lines were fed."""
        return self._ended + self._open

    @property
    def data(self) -> bytes:
        """The lines taken, with their ends."""
        return b"".join(self._taken)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        at = 0
        while at < len(data):
            if self._ended + 1 < self.first:
                at = self._skip(data, at)
            elif self.full:
                self._ended += data.count(b"\n", at)
                at = len(data)
            else:
                at = self._take(data, at)
        if data:
            self._open = not data.endswith(b"\n")

    def finish(self) -> None:
        """Tell that nothing follows."""
        if self._open and not self.full and self._ended + 1 >= self.first:
            self._end_line()

    def _skip(self, data: bytes, at: int) -> int:
        """Return where the first wanted line begins, or the end."""
        needed = self.first - 1 - self._ended
        found = data.count(b"\n", at)
        if found < needed:
            self._ended += found
            return len(data)
        for _ in range(needed):
            at = data.index(b"\n", at) + 1
        self._ended += needed
        return at

    def _take(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        stop = len(data) if end < 0 else end + 1
        self._current_size += stop - at
        if len(self._current) <= self._size + 1:
            self._current += data[at:stop]
        if end >= 0:
            self._ended += 1
            self._end_line()
        return stop

    def _end_line(self) -> None:
        ended = self._current.endswith(b"\n") or self._current_size > len(self._current)
        size = self._current_size - ended
        if self._used + size > self._size:
            self.full = True
            if not self._taken:
                self.overlong = size
        else:
            self._taken.append(bytes(self._current))
            self._used += self._current_size
            self.full = self.taken >= self._lines
        self._current = bytearray()
        self._current_size = 0


CHUNK = 1024 * KIB
"""Bytes read at a time; no more of a file than this is held."""

WIDE_BYTES = 4 * CHUNK
"""The largest file in UTF-16 that is shown as text."""

STRANGE = 0.3
"""From this share of characters that are no text on, a file is called binary: fewer may be a text
in an old encoding."""

_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_BOM = b"\xef\xbb\xbf"


class ReadArguments(ToolArguments):
    """What ``read`` takes."""

    path: str = Field(description="Path of the file, relative to the workspace or absolute")
    offset: WholeNumber | None = Field(None, description="Line to start at; the first is 1")
    limit: WholeNumber | None = Field(None, ge=1, description="The most lines to return")


async def run(arguments: ReadArguments, context: ToolContext) -> ToolOutput:
    """Return the text of a file, an image, or what the file is if it is neither."""
    offset = arguments.offset or 1
    if offset < 0:
        raise ToolError(f"offset must not be negative, but is {offset}. The first line is 1.")
    target = await locate_file(arguments.path, context)
    try:
        return await _read(target, offset, arguments.limit, context.workspace)
    except FileNotFoundError as error:
        raise ToolError(f"Path not found: {target.display_path}") from error
    except OSError as error:
        raise cannot_read(target, error) from error


async def _read(
    target: FileTarget, offset: int, limit: int | None, source: Workspace
) -> ToolOutput:
    start = await source.read(target.path, CHUNK)
    kind = read.kind_of(start)
    if kind is not None:
        return await _image(target, kind, source)
    if start[:2] in _WIDE:
        return await _wide(target, offset, limit, source)
    if b"\0" in start[:8192]:
        return await _binary(target, source)
    window = LineWindow(offset, min(limit or READ_LINES, READ_LINES), READ_BYTES)
    async for chunk in _chunks(target, start, source):
        window.feed(chunk)
    window.finish()
    text, note = _text(window.data)
    if text is None:
        return await _binary(target, source)
    return _result(target, window, text, limit, note)


async def _chunks(target: FileTarget, start: bytes, source: Workspace) -> AsyncIterator[bytes]:
    """Yield the file's bytes piece by piece, without the byte order mark."""
    at, chunk = len(start), start.removeprefix(_BOM)
    while chunk:
        yield chunk
        chunk = await source.read(target.path, CHUNK, at)
        at += len(chunk)


def _text(data: bytes) -> tuple[str | None, str]:
    """Return the text of some lines and a note about it; ``None`` if they are no text."""
    try:
        text, note = data.decode("utf-8"), ""
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        note = "[Some bytes are not valid UTF-8; each is shown as \ufffd.]"
    strange = text.count("\ufffd") + sum(text.count(chr(code)) for code in range(1, 9))
    if "\0" in text or strange > len(text) * STRANGE:
        return None, ""
    return text, note


def _result(
    target: FileTarget, window: LineWindow, text: str, limit: int | None, note: str
) -> ToolOutput:
    if window.overlong is not None:
        size = -(-window.overlong // KIB)
        over = f"over the {READ_BYTES // KIB} KiB limit; read part of it with bash."
        return ToolOutput(f"[Line {window.first} is {size} KiB, {over}]")
    if window.first > max(window.total, 1):
        lines = "1 line" if window.total == 1 else f"{window.total} lines"
        beyond = f"offset {window.first} is beyond the end of {target.display_path}"
        raise ToolError(f"{beyond}: the file has {lines}.")
    notes = [found for found in (note, _more(window, limit)) if found]
    details = {"first": window.first, "last": window.last, "total": window.total}
    return ToolOutput(with_notices(text, notes), details=details)


def _more(window: LineWindow, limit: int | None) -> str:
    """Return the note about the lines that follow; empty at the end of the file."""
    left = window.total - window.last
    if left <= 0:
        return ""
    if limit is not None and window.taken == limit <= READ_LINES:
        return f"[{left} more lines in file. Use offset={window.last + 1} to continue.]"
    shown = f"[Showing lines {window.first}-{window.last} of {window.total}."
    return f"{shown} Use offset={window.last + 1} to continue.]"


async def _image(target: FileTarget, kind: str, source: Workspace) -> ToolOutput:
    data = await source.read(target.path, read.LARGEST + 1)
    if len(data) > read.LARGEST:
        size = read.LARGEST // (KIB * KIB)
        raise ToolError(
            f"{target.display_path} is an image of more than {size} MiB, too large to show."
        )
    try:
        image, note = await asyncio.to_thread(read.scale_down, data, kind)
    except read.UndecodableImage as error:
        raise ToolError(
            f"{target.display_path} looks like {kind} but is damaged: {error}"
        ) from error
    text = f"Read image file [{kind}]"
    return ToolOutput(f"{text}\n{note}" if note else text, images=(image,))


async def _wide(
    target: FileTarget, offset: int, limit: int | None, source: Workspace
) -> ToolOutput:
    """Read UTF-16 as text, if it is not large and valid."""
    data = await source.read(target.path, WIDE_BYTES + 1)
    try:
        text = data.decode("utf-16") if len(data) <= WIDE_BYTES else "\0"
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return await _binary(target, source)
    window = LineWindow(offset, min(limit or READ_LINES, READ_LINES), READ_BYTES)
    window.feed(text.encode("utf-8"))
    window.finish()
    note = "[The file is UTF-16; shown as UTF-8.]"
    return _result(target, window, window.data.decode("utf-8"), limit, note)


async def _binary(target: FileTarget, source: Workspace) -> ToolOutput:
    size = await source.size(target.path)
    return ToolOutput(
        f"{target.display_path} is a binary file of {size} bytes; its content is not shown."
    )


def touches(arguments: ReadArguments) -> Access:
    """Return what a call reads."""
    return Access(reads=(arguments.path,))


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``read src/a.py:10-24``."""
    path, first, count = argument_text(given.get("path")), given.get("offset"), given.get("limit")
    if not isinstance(first, (int, float)) and not isinstance(count, (int, float)):
        return f"read {path}"
    start = max(int(first), 1) if isinstance(first, (int, float)) else 1
    end = f"-{start + int(count) - 1}" if isinstance(count, (int, float)) else ""
    return f"read {path}:{start}{end}"


TOOL = Tool(
    name="read",
    description=(
        f"Read a file. Returns at most {READ_LINES} lines or {READ_BYTES // KIB} KiB; use offset "
        "and limit for the rest. Unsaved changes in the editor are included. Images (png, jpeg, "
        "gif, webp) are returned as images."
    ),
    arguments=PydanticArguments(ReadArguments),
    steps=(run,),
    metadata=Metadata(
        concurrency_safe=True,
        read_only=True,
        aliases=("read_file",),
        search_hint="show the content of a file or image",
        permission_class="read",
        audit_operation="read",
    ),
    touches=touches,
    render_call=render_call,
    snippet="Read file contents",
    guidelines=("Use read to examine files instead of cat or sed.",),
)
