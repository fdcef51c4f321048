"""The interface of an editor for workspaces: the text of loaded buffers, edits, saving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agentchat.core.frozen import frozen

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


@frozen
class TextForm:
    """How lines become the bytes of a file: Neovim's ``eol``, ``bomb`` and ``fileformat``."""

    eol: bool = True
    bomb: bool = False
    fileformat: str = "unix"


@frozen
class BufferFlags:
    """The state of a loaded buffer at one moment; ``tick`` is ``changedtick``."""

    tick: int
    modified: bool
    modifiable: bool = True
    readonly: bool = False


@frozen
class BufferSnapshot(BufferFlags):
    """A loaded buffer of a file at one moment.

    ``text`` is its lines, joined by line feeds, in UTF-8; ``None`` for a buffer without text
    (``line2byte('$' + 1)`` is -1). ``encoding`` is ``fileencoding``, or ``utf-8`` if that is empty.
    """

    text: bytes | None = None
    form: TextForm = TextForm()
    encoding: str = "utf-8"

    def to_bytes(self) -> bytes:
        """Return the text as the bytes of a file, in UTF-8 whatever ``fileencoding`` is."""
        return encode_text(self.text, self.form)

    def matches(self, data: bytes) -> bool:
        """Whether these bytes of the file are this text; true for encodings unknown to Python."""
        try:
            text = data if self.encoding == "utf-8" else data.decode(_codec(self.encoding)).encode()
        except LookupError:
            return True
        except UnicodeError:
            return False
        return decode_text(text, self.form)[0] == self.text

    def can_hold(self, text: bytes | None) -> bool:
        """Whether the buffer's encoding has all these characters; true for unknown encodings."""
        if self.encoding == "utf-8":
            return True
        try:
            (text or b"").decode("utf-8", "surrogateescape").encode(_codec(self.encoding))
        except UnicodeError:
            return False
        except LookupError:
            return True
        return True


def _codec(encoding: str) -> str:
    """Return Python's name for an encoding of Neovim."""
    return _CODECS.get(encoding, encoding)


def encode_text(text: bytes | None, form: TextForm) -> bytes:
    """Return the text of a buffer as the bytes of a file."""
    mark = BOM if form.bomb else b""
    if text is None:
        return mark
    end = _ENDS[form.fileformat]
    return mark + text.replace(b"\n", end) + (end if form.eol else b"")


def decode_text(data: bytes, form: TextForm) -> tuple[bytes | None, TextForm]:
    """Return bytes as the text of a buffer, and the form that encodes it as the same bytes.

    It is the given form as far as that is possible; ``unix`` fits all bytes.
    """
    text, actual = _decode_text(data, form.fileformat)
    if form.fileformat != "unix" and encode_text(text, actual) != data:
        text, actual = _decode_text(data, "unix")
    return text, actual


def _decode_text(data: bytes, fileformat: str) -> tuple[bytes | None, TextForm]:
    end = _ENDS[fileformat]
    body = data.removeprefix(BOM)
    form = TextForm(not body or body.endswith(end), data.startswith(BOM), fileformat)
    return body.removesuffix(end).replace(end, b"\n") if body else None, form


def raw_lines(text: bytes | None) -> list[bytes]:
    """Return the lines of a buffer's text; none for a buffer without text."""
    return [] if text is None else text.split(b"\n")


def line_text(raw: bytes) -> str:
    """Return a line as an editor takes it.

    A NUL byte is a newline there, and a byte that is no UTF-8 a lone surrogate.
    """
    return raw.replace(b"\0", b"\n").decode("utf-8", "surrogateescape")


LineEdits = Sequence[tuple[int, int, Sequence[str]]]
"""``(first, last, new lines)``: 0-based, ``last`` excluded, the last place first."""


class BufferMovedError(Exception):
    """The buffer has changed since that tick; no edit was made."""


@frozen
class BufferEdit:
    """Edits of a buffer: the tick after them, and the state of the undo tree before them."""

    tick: int
    undo: int


@frozen
class SaveOutcome:
    """Whether a buffer was written; if not, ``problem`` is the editor's message.

    ``unchanged`` means that the text is certainly the one after the last ``replace``.
    """

    saved: bool
    problem: str = ""
    unchanged: bool = False


class Editor(Protocol):
    """The loaded buffers of an editor, by the resolved path of their file."""

    @property
    def plain_save(self) -> bool:
        """Whether a buffer is saved without the user's autocommands."""

    async def flags(self, path: str) -> BufferFlags | None:
        """Return the state of the loaded buffer of a file; ``None`` if there is none.

        Without unsaved changes it was reloaded from disk first, unless the user forbids that.
        """

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return the state of a loaded buffer as ``flags`` does, with its text."""

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""

    async def replace(
        self, path: str, tick: int, edits: LineEdits, new: tuple[bytes | None, TextForm]
    ) -> BufferEdit:
        """Make the edits as one undo step; ``new`` is the text after them, and its form.

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
