"""The interface of an editor for workspaces: the text of loaded buffers, edits, saving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

BOM = b"\xef\xbb\xbf"
_CODECS = {
    "utf-16": "utf-16-be",
    "utf-16le": "utf-16-le",
    "ucs-2": "utf-16-be",
    "ucs-2le": "utf-16-le",
    "ucs-4": "utf-32-be",
    "ucs-4le": "utf-32-le",
}
_ENDS = {"unix": b"\n", "dos": b"\r\n", "mac": b"\r"}


@dataclass(frozen=True, slots=True)
class TextForm:
    """How lines become the bytes of a file: Neovim's ``eol``, ``bomb`` and ``fileformat``."""

    eol: bool = True
    bomb: bool = False
    fileformat: str = "unix"


@dataclass(frozen=True, slots=True)
class BufferSnapshot:
    """A loaded buffer of a file at one moment.

    ``lines`` are without line ends, and empty for a buffer without text (``line2byte('$' + 1)``
    is -1). A NUL in the text is a newline in a line, a byte that is no UTF-8 a lone surrogate.
    ``tick`` is ``changedtick``; ``encoding`` is ``fileencoding``, or ``utf-8`` if that is empty.
    """

    tick: int
    modified: bool
    lines: tuple[str, ...]
    form: TextForm = TextForm()
    modifiable: bool = True
    readonly: bool = False
    encoding: str = "utf-8"

    def to_bytes(self) -> bytes:
        """Return the text as the bytes of a file, in UTF-8 whatever ``fileencoding`` is."""
        return encode_lines(self.lines, self.form)

    def matches(self, data: bytes) -> bool:
        """Whether these bytes of the file are this text; true for encodings unknown to Python."""
        try:
            text = data if self.encoding == "utf-8" else data.decode(_codec(self.encoding)).encode()
        except LookupError:
            return True
        except UnicodeError:
            return False
        return decode_lines(text, self.form)[0] == self.lines

    def can_hold(self, lines: Sequence[str]) -> bool:
        """Whether the buffer's encoding has all these characters; true for unknown encodings."""
        if self.encoding == "utf-8":
            return True
        try:
            "".join(lines).encode(_codec(self.encoding))
        except UnicodeError:
            return False
        except LookupError:
            return True
        return True


def _codec(encoding: str) -> str:
    """Return Python's name for an encoding of Neovim."""
    return _CODECS.get(encoding, encoding)


def encode_lines(lines: Sequence[str], form: TextForm) -> bytes:
    """Return lines as the bytes of a file."""
    mark = BOM if form.bomb else b""
    if not lines:
        return mark
    end = _ENDS[form.fileformat]
    raw = (line.encode("utf-8", "surrogateescape").replace(b"\n", b"\0") for line in lines)
    return mark + end.join(raw) + (end if form.eol else b"")


def decode_lines(data: bytes, form: TextForm) -> tuple[tuple[str, ...], TextForm]:
    """Return bytes as lines, and the form that encodes these lines as the same bytes.

    It is the given form as far as that is possible; ``unix`` fits all bytes.
    """
    lines, actual = _split_lines(data, form.fileformat)
    if encode_lines(lines, actual) != data:
        lines, actual = _split_lines(data, "unix")
    return lines, actual


def _split_lines(data: bytes, fileformat: str) -> tuple[tuple[str, ...], TextForm]:
    end = _ENDS[fileformat]
    text = data.removeprefix(BOM)
    form = TextForm(not text or text.endswith(end), data.startswith(BOM), fileformat)
    raw = text.removesuffix(end).split(end) if text else []
    return tuple(_line(line) for line in raw), form


def _line(raw: bytes) -> str:
    """Return a line as Neovim holds it: a NUL byte is a newline."""
    nul_as_newline = bytes.maketrans(b"\0", b"\n")
    return raw.translate(nul_as_newline).decode("utf-8", "surrogateescape")


LineEdits = Sequence[tuple[int, int, Sequence[str]]]
"""``(first, last, new lines)``: 0-based, ``last`` excluded, the last place first."""


class BufferMovedError(Exception):
    """The buffer has changed since that tick; no edit was made."""


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """Edits of a buffer: the tick after them, and the state of the undo tree before them."""

    tick: int
    undo: int


@dataclass(frozen=True, slots=True)
class SaveOutcome:
    """Whether a buffer was written; if not, ``problem`` is the editor's message."""

    saved: bool
    problem: str = ""


class Editor(Protocol):
    """The loaded buffers of an editor, by the resolved path of their file."""

    @property
    def plain_save(self) -> bool:
        """Whether a buffer is saved without the user's autocommands."""

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return the loaded buffer of a file; ``None`` if there is none.

        Without unsaved changes it was reloaded from disk first, unless the user forbids that.
        """

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""

    async def replace(self, path: str, tick: int, edits: LineEdits, form: TextForm) -> BufferEdit:
        """Make the edits as one undo step and set the form.

        An empty buffer has one line to replace. Raises BufferMovedError if its tick is another.
        """

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        """Go back to a state of the undo tree, and to the form; raises as ``replace``."""

    async def rename(self, path: str, new: str) -> None:
        """Rename the loaded buffer of a file, if there is one, as its file was.

        Called after the file was renamed on disk; the text and its undo history stay.
        """

    async def save(self, path: str) -> SaveOutcome:
        """Write the buffer as the user would, a read-only one too; the file's mode is kept.

        Missing folders of its file are created.
        """

    async def refresh(self) -> None:
        """Reload the visible buffers without unsaved changes, after a command has run."""

    async def reload(self, path: str) -> None:
        """Reload a buffer without unsaved changes from disk, without asking the user.

        Called after its file was written or deleted outside of the editor.
        """
