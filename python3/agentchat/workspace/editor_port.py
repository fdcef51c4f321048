"""What a workspace needs of an editor; the editor's room implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentchat.workspace.buffer_text import BufferSnapshot, TextForm

LineEdits = Sequence[tuple[int, int, Sequence[str]]]
"""``(first, last, new lines)``: 0-based, ``last`` excluded, the last place first."""


class BufferMovedError(Exception):
    """The buffer is no longer as it was at that tick; nothing was changed."""


@dataclass(frozen=True, slots=True)
class BufferEdit:
    """Edits that were made: the new tick, and the state of the undo tree before them."""

    tick: int
    undo: int


@dataclass(frozen=True, slots=True)
class SaveOutcome:
    """Whether a buffer was written; if not, ``problem`` is the editor's own words."""

    saved: bool
    problem: str = ""


class Editor(Protocol):
    """The loaded buffers of an editor, by the resolved path of their file."""

    @property
    def plain_save(self) -> bool:
        """Whether a buffer is saved without the user's autocommands."""

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return the loaded buffer of a file; ``None`` if there is none.

        Without unsaved changes it has taken what the disk has, unless the user forbids that.
        """

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""

    async def replace(self, path: str, tick: int, edits: LineEdits, form: TextForm) -> BufferEdit:
        """Make the edits as one undo step and set the form.

        An empty buffer has one line to replace. Raises Moved if its tick is another.
        """

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        """Go back to a state of the undo tree, and to the form; raises Moved as ``replace``."""

    async def rename(self, path: str, new: str) -> None:
        """Let the loaded buffer of a file, if there is one, follow the file to its new path.

        Called after the file was renamed on disk; the text and its undo history stay.
        """

    async def save(self, path: str) -> SaveOutcome:
        """Write the buffer as the user would, a read-only one too; the file's mode is kept.

        Folders that its file needs are made.
        """

    async def refresh(self) -> None:
        """Let what is on the screen, without unsaved changes, take what a command made of it."""

    async def reload(self, path: str) -> None:
        """Let a loaded buffer without unsaved changes take what the disk has, without a question.

        Called after a file was written beside the editor, or deleted.
        """
