"""One file of a change that is loaded in a buffer."""

from __future__ import annotations

from agentchat.core.diff.changeset import FileChange, line_edits
from agentchat.core.diff.line_diff import changes
from agentchat.core.errors import Stale, ToolError
from agentchat.core.tools.ports import Applied
from agentchat.workspace.editor import Editor, LineEdits, Made, Moved
from agentchat.workspace.snapshot import Snapshot, decoded

UNCHANGED = "Nothing was changed."


class BufferChange:
    """Changes a buffer from ``before`` to ``after``, and back if something else fails."""

    def __init__(self, editor: Editor, file: FileChange, seen: Snapshot) -> None:
        self._editor = editor
        self._file = file
        self._seen = seen
        self._lines, self._form = decoded(file.after or b"", seen.form)
        self._made: Made | None = None
        self._saved = False

    def check(self) -> None:
        """Raise Stale or ToolError if the change cannot be made in the buffer."""
        if self._seen.encoded() != (self._file.before or b""):
            raise Stale(self._file.name)
        if not self._seen.modifiable:
            raise ToolError(f"The buffer of {self._file.name} is 'nomodifiable'. {UNCHANGED}")
        if not self._seen.can_hold(self._lines):
            held = f"in the encoding {self._seen.encoding}, which cannot hold the new text"
            raise ToolError(f"The buffer of {self._file.name} is {held}. {UNCHANGED}")

    async def make(self) -> None:
        """Change the text; raises Stale."""
        edits = _edits(self._seen.lines, self._lines)
        if not edits and self._form == self._seen.form:
            return
        try:
            self._made = await self._editor.replace(
                self._file.path, self._seen.tick, edits, self._form
            )
        except Moved as error:
            raise Stale(self._file.name) from error

    async def save(self) -> None:
        """Save the buffer, if the user had no changes of their own in it; raises ToolError."""
        if self._seen.modified or self._made is None:
            return
        outcome = await self._editor.save(self._file.path)
        if not outcome.saved:
            raise ToolError(f"Cannot save {self._file.name}: {outcome.problem}. {UNCHANGED}")
        self._saved = True

    async def applied(self) -> Applied:
        """Return what became of it, after saving."""
        reformatted: tuple[tuple[int, int], ...] = ()
        now = await self._editor.snapshot(self._file.path) if self._saved else None
        if now is not None:
            found = changes(self._lines, now.lines)
            reformatted = tuple((one.b_start + 1, max(one.b_end, one.b_start + 1)) for one in found)
        unsaved = self._made is not None and not self._saved
        return Applied(self._file.path, not unsaved, reformatted)

    async def take_back(self) -> None:
        """Put the text back as it was; raises ToolError if it moved meanwhile."""
        if self._made is None:
            return
        now = await self._editor.snapshot(self._file.path)
        if now is None or (now.tick != self._made.tick and not self._saved):
            raise ToolError(f"{self._file.name} could not be taken back.")
        try:
            await self._restore(now, self._made)
        except Moved as error:
            raise ToolError(f"{self._file.name} could not be taken back.") from error

    async def _restore(self, now: Snapshot, made: Made) -> None:
        """Go back in the undo tree; where that leads elsewhere, make the text as it was."""
        path, form = self._file.path, self._seen.form
        await self._editor.undo(path, now.tick, made.undo, form)
        found = await self._editor.snapshot(path)
        if found is not None and found.lines != self._seen.lines:
            edits = _edits(found.lines, self._seen.lines)
            await self._editor.replace(path, found.tick, edits, form)
            found = await self._editor.snapshot(path)
        if found is not None and found.modified and not self._seen.modified:
            await self._editor.save(path)


def _edits(before: tuple[str, ...], after: tuple[str, ...]) -> LineEdits:
    """Return the line edits; a buffer without text has one line, which is empty."""
    if before == after:
        return []
    if not before or not after:
        return [(0, max(len(before), 1), list(after))]
    return line_edits(before, after)
