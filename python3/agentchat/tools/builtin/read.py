"""Read a file, or some lines of it, as the user sees it."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.limits import IMAGE_PIXELS, KIB, READ_BYTES, READ_LINES
from agentchat.core.messages import Image
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import locate_file, read_error, reads_path
from agentchat.tools.format import add_notices, argument_text, truncation_details

LARGEST_IMAGE = 32 * 1024 * 1024
"""The most bytes of an image file."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class UndecodableImage(Exception):
    """The bytes begin like an image, but are none."""


def image_type(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; ``None`` if they are no image."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _MAGIC if data.startswith(magic)), None)


def scale_down(data: bytes, kind: str, pixels: int = IMAGE_PIXELS) -> tuple[Image, str]:
    """Return the image, scaled down if wider or higher than ``pixels``, and a note about that.

    Raises:
        UndecodableImage: the image is damaged or too large.
    """
    from PIL import Image as Pillow

    data = _without_damaged_extras(data) if kind == "image/png" else data
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


def _without_damaged_extras(data: bytes) -> bytes:
    """Return a PNG without the ancillary chunks whose checksum is wrong.

    Viewers ignore these (PNG 13.1), Pillow refuses the whole image for them.
    """
    kept, start = [data[:8]], 8
    while start + 12 <= len(data):
        size = int.from_bytes(data[start : start + 4])
        chunk = data[start : start + 12 + size]
        is_ancillary = bool(chunk[4] & 0x20)
        if not is_ancillary or zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:]):
            kept.append(chunk)
        start += len(chunk)
    return b"".join((*kept, data[start:]))


def _encoded(image: object, kind: str) -> tuple[bytes, str]:
    """Return the scaled image in its own format; the first picture of a moving one as PNG."""
    from PIL import Image as Pillow

    assert isinstance(image, Pillow.Image)
    out = io.BytesIO()
    name = {"image/jpeg": "JPEG", "image/webp": "WEBP"}.get(kind, "PNG")
    image.save(out, name)
    return out.getvalue(), f"image/{name.lower()}"


class LineWindow:
    """Keeps whole lines from ``first`` on, and counts the lines of everything that is fed.

    Args:
        first: 1-based number of the first line to keep.
        lines: the most lines to keep.
        size: the most bytes to keep, without the end of the last line.
    """

    def __init__(self, first: int, lines: int, size: int) -> None:
        self.first = first
        self.full = False
        self.overlong: int | None = None
        """Bytes of the first line to keep, if it alone is over ``size``."""
        self._lines = lines
        self._size = size
        self.count = 0
        """How many lines are kept."""
        self._kept: list[bytes] = []
        self._kept_size = 0
        self._line = bytearray()
        self._line_size = 0
        self._ended = 0
        self._open = False

    @property
    def last(self) -> int:
        """1-based number of the last line that is kept."""
        return self.first + self.count - 1

    @property
    def total(self) -> int:
        """How many lines were fed."""
        return self._ended + self._open

    @property
    def data(self) -> bytes:
        """The kept lines with their ends."""
        return b"".join(self._kept)

    def feed(self, data: bytes) -> None:
        """Add the next bytes."""
        start = self._skip(data, 0) if self._ended + 1 < self.first else 0
        if not self.full:
            start = self._add_lines(data, start)
        while start < len(data) and not self.full:
            start = self._add_line(data, start)
        self._ended += data.count(b"\n", start)
        if data:
            self._open = not data.endswith(b"\n")

    def finish(self) -> None:
        """End the last line: nothing follows."""
        if self._open and not self.full and self._ended + 1 >= self.first:
            self._end_line()

    def _skip(self, data: bytes, start: int) -> int:
        """Return the start of the first line to keep, or the end."""
        needed = self.first - 1 - self._ended
        count = data.count(b"\n", start)
        if count < needed:
            self._ended += count
            return len(data)
        for _ in range(needed):
            start = data.index(b"\n", start) + 1
        self._ended += needed
        return start

    def _add_lines(self, data: bytes, start: int) -> int:
        """Add all whole lines, if they fit; return where the rest starts."""
        end = data.rfind(b"\n", start) + 1
        lines = data.count(b"\n", start, end)
        fits = self._kept_size + end - start <= self._size and self.count + lines <= self._lines
        if self._line or not lines or not fits:
            return start
        self._keep(data[start:end], lines)
        self._ended += lines
        return end

    def _keep(self, data: bytes, lines: int) -> None:
        self._kept.append(data)
        self._kept_size += len(data)
        self.count += lines
        self.full = self.count >= self._lines

    def _add_line(self, data: bytes, start: int) -> int:
        """Add the rest of a line; return where the next one starts."""
        end = data.find(b"\n", start)
        stop = len(data) if end < 0 else end + 1
        self._line_size += stop - start
        if len(self._line) <= self._size + 1:
            self._line += data[start:stop]
        if end >= 0:
            self._ended += 1
            self._end_line()
        return stop

    def _end_line(self) -> None:
        has_end = self._line.endswith(b"\n") or self._line_size > len(self._line)
        size = self._line_size - has_end
        if self._kept_size + size > self._size:
            self.full = True
            if not self._kept:
                self.overlong = size
        else:
            self._keep(bytes(self._line), 1)
        self._line = bytearray()
        self._line_size = 0


CHUNK = 1024 * KIB
"""Bytes read at a time, and held in memory."""

UTF16_BYTES = 4 * CHUNK
"""The largest file in UTF-16 that is shown as text."""

BINARY_SHARE = 0.3
"""From this share of invalid characters on, a file is binary: fewer may be an old encoding."""

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


@frozen
class ReadArguments(ToolArguments):
    """What ``read`` takes."""

    path: Annotated[str, "Path of the file, relative to the workspace or absolute"]
    offset: Annotated[int | None, "Line to start at; the first is 1"] = None
    limit: Annotated[int | None, "The most lines to return", {"minimum": 1}] = None


async def run(arguments: ReadArguments, context: ToolContext) -> ToolOutput:
    """Return the text of a file, an image, or a description of any other file."""
    offset = arguments.offset or 1
    if offset < 0:
        raise ToolError(f"offset must not be negative, but is {offset}. The first line is 1.")
    target = await context.workspace.locate(arguments.path)
    try:
        return await _read(target, offset, arguments.limit, context.workspace)
    except OSError as error:
        await locate_file(arguments.path, context)  # raises what is wrong with the path
        raise read_error(target, error) from error


async def _read(
    target: FileTarget, offset: int, limit: int | None, source: Workspace
) -> ToolOutput:
    start = await source.read(target.path, CHUNK)
    kind = image_type(start)
    if kind is not None:
        return await _read_image(target, kind, source)
    if start[:2] in _UTF16_MARKS:
        return await _read_utf16(target, offset, limit, source)
    if b"\0" in start[:8192]:
        return await _describe_binary(target, source)
    window = LineWindow(offset, min(limit or READ_LINES, READ_LINES), READ_BYTES)
    async for chunk in _chunks(target, start, source):
        window.feed(chunk)
    window.finish()
    text, note = _text(window.data)
    if text is None:
        return await _describe_binary(target, source)
    return _result(target, window, text, limit, note)


async def _chunks(target: FileTarget, start: bytes, source: Workspace) -> AsyncIterator[bytes]:
    """Yield the file's bytes piece by piece, without the byte order mark."""
    yield start.removeprefix(_BOM)
    position, chunk = len(start), start
    while len(chunk) == CHUNK:  # a shorter one is the last
        chunk = await source.read(target.path, CHUNK, position)
        position += len(chunk)
        yield chunk


def _text(data: bytes) -> tuple[str | None, str]:
    """Return the text of some lines, with a note; ``None`` if they are binary."""
    try:
        text, note = data.decode("utf-8"), ""
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        note = "[Some bytes are not valid UTF-8; each is shown as \ufffd.]"
    invalid = text.count("\ufffd") + sum(text.count(chr(code)) for code in range(1, 9))
    if "\0" in text or invalid > len(text) * BINARY_SHARE:
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
        raise ToolError(
            f"offset {window.first} is beyond the end of {target.display_path}: "
            f"the file has {lines}."
        )
    notices = [notice for notice in (note, _rest_notice(window, limit)) if notice]
    details: dict[str, Any] = {
        "first": window.first,
        "last": window.last,
        "total": window.total,
    }
    if window.last < window.total and limit is None:
        by = "lines" if window.last - window.first + 1 == READ_LINES else "bytes"
        details |= truncation_details(by, text, total_lines=window.total)
    return ToolOutput(add_notices(text, notices), details=details)


def _rest_notice(window: LineWindow, limit: int | None) -> str:
    """Return the notice about the lines that follow; empty at the end of the file."""
    more = window.total - window.last
    if more <= 0:
        return ""
    if limit is not None and window.count == limit <= READ_LINES:
        return f"[{more} more lines in file. Use offset={window.last + 1} to continue.]"
    shown = f"[Showing lines {window.first}-{window.last} of {window.total}."
    return f"{shown} Use offset={window.last + 1} to continue.]"


async def _read_image(target: FileTarget, kind: str, source: Workspace) -> ToolOutput:
    data = await source.read(target.path, LARGEST_IMAGE + 1)
    if len(data) > LARGEST_IMAGE:
        size = LARGEST_IMAGE // (KIB * KIB)
        raise ToolError(
            f"{target.display_path} is an image of more than {size} MiB, too large to show."
        )
    try:
        image, note = await asyncio.to_thread(scale_down, data, kind)
    except UndecodableImage as error:
        raise ToolError(
            f"{target.display_path} looks like {kind} but is damaged: {error}"
        ) from error
    text = f"Read image file [{kind}]"
    return ToolOutput(f"{text}\n{note}" if note else text, images=(image,))


async def _read_utf16(
    target: FileTarget, offset: int, limit: int | None, source: Workspace
) -> ToolOutput:
    """Read UTF-16 as text, if it is valid and not large."""
    data = await source.read(target.path, UTF16_BYTES + 1)
    try:
        text = data.decode("utf-16") if len(data) <= UTF16_BYTES else "\0"
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return await _describe_binary(target, source)
    window = LineWindow(offset, min(limit or READ_LINES, READ_LINES), READ_BYTES)
    window.feed(text.encode("utf-8"))
    window.finish()
    note = "[The file is UTF-16; shown as UTF-8.]"
    return _result(target, window, window.data.decode("utf-8"), limit, note)


async def _describe_binary(target: FileTarget, source: Workspace) -> ToolOutput:
    size = await source.size(target.path)
    return ToolOutput(
        f"{target.display_path} is a binary file of {size} bytes; its content is not shown."
    )


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
    arguments=ValueArguments(ReadArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        concurrency_safe=True,
        read_only=True,
        aliases=("read_file",),
        search_hint="show the content of a file or image",
        permission_class="read",
        audit_operation="read",
    ),
    touches=reads_path,
    render_call=render_call,
    snippet="Read file contents",
    guidelines=("Use read to examine files instead of cat or sed.",),
)
