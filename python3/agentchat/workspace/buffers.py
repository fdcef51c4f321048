"""A workspace as the user sees it: loaded buffers stand for their files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentchat.core.diff.changeset import ChangeSet, FileChange, line_edits
from agentchat.core.diff.line_diff import diff_lines
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.tools.ports import (
    AppliedFile,
    BufferState,
    Command,
    CommandSandbox,
    DirectoryEntry,
    FileTarget,
    ProcessResult,
    Workspace,
)
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferMovedError,
    BufferSnapshot,
    Editor,
    LineEdits,
    decode_lines,
)
from agentchat.workspace.files.transaction import ChangeFailed


@dataclass
class ApplyPlan:
    """Where the files of a change are changed.

    ``behind`` are the paths of buffers whose file changes under them, ``renamed`` the loaded files
    that get another name.
    """

    loaded: dict[str, BufferChange] = field(default_factory=dict)
    on_disk: list[FileChange] = field(default_factory=list)
    renamed: list[FileChange] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)


class BuffersWorkspace:
    """Another workspace, seen through an editor.

    A buffer stands for its file if it has unsaved changes, or the file is there: an empty buffer
    for a file that does not exist yet does not make it exist.

    A text that is read in pieces is kept from the first piece to the last, so that the pieces fit
    together; at most until the next turn.
    """

    def __init__(self, inner: Workspace, editor: Editor) -> None:
        self._inner = inner
        self._editor = editor
        self._reading: tuple[str, bytes] | None = None

    @property
    def root(self) -> str:
        """The directory the user opened: absolute, resolved."""
        return self._inner.root

    @property
    def host(self) -> str:
        """The machine it is on; empty for the user's own."""
        return self._inner.host

    @property
    def confinement(self) -> CommandSandbox:
        """How its commands are confined."""
        return self._inner.confinement

    async def ready(self) -> None:
        """Return when it can be used, for a turn that begins; raises Unreachable."""
        self._reading = None
        await self._inner.ready()

    async def close(self) -> None:
        """Let go of it."""
        self._reading = None
        await self._inner.close()

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path; a read-only buffer makes it read-only."""
        target = await self._inner.locate(path)
        seen = await self._editor.snapshot(target.path)
        if seen is None:
            return target
        return replace(
            target,
            exists=target.exists or seen.modified,
            read_only=target.read_only or seen.readonly,
            loaded=self._loaded(seen),
        )

    def _loaded(self, seen: BufferSnapshot) -> BufferState:
        if not seen.modifiable:
            return BufferState.LOCKED
        if seen.modified:
            return BufferState.UNSAVED
        return BufferState.PLAIN if self._editor.plain_save else BufferState.SAVED

    async def kind(self, path: str) -> str | None:
        """Return ``file``, ``directory``, ``other`` or ``None`` (missing)."""
        kind = await self._inner.kind(path)
        return kind or ("file" if await self._buffer_of(path) else None)

    async def size(self, path: str) -> int:
        """Return the size of the text in bytes, as the user sees it."""
        seen = await self._buffer_of(path)
        return await self._inner.size(path) if seen is None else len(seen.to_bytes())

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the text of the buffer, or the bytes of the file; raises OSError."""
        if start and self._reading is not None and self._reading[0] == path:
            data = self._reading[1]
        else:
            seen = await self._buffer_of(path)
            if seen is None:
                return await self._inner.read(path, limit, start)
            data = seen.to_bytes()
        end = len(data) if limit is None else start + limit
        self._reading = (path, data) if end < len(data) else None
        return data[start:end]

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return await self._inner.list(path)

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return the text of every buffer that differs from its file, by path."""
        texts = dict(await self._inner.unsaved())
        texts.update({path: s.to_bytes() for path, s in (await self._editor.unsaved()).items()})
        return texts

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program in its own process group; the group is dead when this returns."""
        finished = await self._inner.run(command, on_output)
        if command.confine:  # the program is the model's choice, and may have changed files
            await self._editor.refresh()
        return finished

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""
        return await self._inner.environment()

    async def fingerprint(
        self, commands: Sequence[Sequence[str]], command: str, cwd: str
    ) -> tuple[str, ...]:
        """Return a line for each file that decides what a shell command does in ``cwd``."""
        return await self._inner.fingerprint(commands, command, cwd)

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change in buffers and on disk, all files or none; raises Stale or ToolError.

        Once begun it is finished, whether cancelled or not.
        """
        applying = asyncio.ensure_future(self._apply(change))
        try:
            return await asyncio.shield(applying)
        except asyncio.CancelledError:
            await asyncio.gather(applying, return_exceptions=True)
            raise

    async def _apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        work = ApplyPlan()
        for file in change.files:
            await self._sort(file, work)
        disk = ChangeSet(tuple(work.on_disk))
        done = {one.path: one for one in await self._inner.apply(disk)} if disk.files else {}
        try:
            for file in work.renamed:
                await self._editor.rename(file.old_path, file.path)
            for buffer in work.loaded.values():
                await buffer.make()
            for buffer in work.loaded.values():
                await buffer.save()
        except Exception as error:
            await self._take_back(disk, work, error)
            raise
        done.update({path: await buffer.result() for path, buffer in work.loaded.items()})
        for path in work.behind:
            await self._editor.reload(path)
        return tuple(done[file.path] for file in change.files)

    async def _sort(self, file: FileChange, work: ApplyPlan) -> None:
        """Put a file where it is changed: in its buffer, on disk, or both; raises as ``apply``."""
        seen = await self._editor.snapshot(file.origin)
        if file.old_path and await self._editor.snapshot(file.path) is not None:
            raise ChangeFailed(f"{file.path} is open in a buffer already.")
        if seen is None or await self._comes_back(file, seen):
            work.on_disk.append(file)
            work.behind += [file.path] if seen is not None else []
        elif file.after is None:
            work.on_disk.append(await self._disk_change(file, seen))
            work.behind.append(file.path)
        elif file.old_path:
            moved = await self._disk_change(file, seen)
            work.on_disk.append(replace(moved, after=moved.before))
            work.renamed.append(file)
            work.loaded[file.path] = BufferChange(self._editor, file, seen)
            work.loaded[file.path].check()
        else:
            work.loaded[file.path] = BufferChange(self._editor, file, seen)
            await self._check(work.loaded[file.path], file, seen)

    async def _comes_back(self, file: FileChange, seen: BufferSnapshot) -> bool:
        """Whether the file is gone and only a buffer still has a text of it, not the user's own."""
        if file.before is not None or seen.modified or not seen.lines:
            return False
        return await self._inner.kind(file.path) is None

    async def _check(self, buffer: BufferChange, file: FileChange, seen: BufferSnapshot) -> None:
        """Raise Stale or ToolError if the buffer moved, or saving would undo foreign work."""
        buffer.check()
        if seen.modified:
            return
        data = await self._on_disk(file.path)
        if data is None and not seen.lines:
            return
        if data is None or not seen.matches(data):
            raise StalePreview(file.name)

    async def _disk_change(self, file: FileChange, seen: BufferSnapshot) -> FileChange:
        """Return the deletion or new name of a loaded file, from the bytes that the disk has."""
        if seen.modified:
            raise ChangeFailed(f"{file.name} is open with the user's unsaved changes.")
        if seen.encoding != "utf-8":
            # What is kept to bring it back is the text, not the bytes.
            raise ChangeFailed(
                f"{file.name} is open in a buffer, in the encoding {seen.encoding}: close it first."
            )
        if seen.to_bytes() != file.before:
            raise StalePreview(file.name)
        return replace(file, before=await self._on_disk(file.origin))

    async def _on_disk(self, path: str) -> bytes | None:
        try:
            return await self._inner.read(path)
        except FileNotFoundError:
            return None

    async def _take_back(self, disk: ChangeSet, work: ApplyPlan, error: Exception) -> None:
        """Undo what was done; raise if something could not be taken back."""
        stuck: list[str] = []
        for buffer in reversed(list(work.loaded.values())):
            try:
                await buffer.take_back()
            except ToolError as problem:
                stuck.append(str(problem))
        for file in reversed(work.renamed):
            await self._editor.rename(file.path, file.old_path)
        try:
            if disk.files:
                await self._inner.apply(disk.reversed())
        except ToolError as problem:
            stuck.append(f"{problem} It could not be taken back.")
        if stuck:
            raise ToolError(" ".join([_reason(error), *stuck])) from error

    async def _buffer_of(self, path: str) -> BufferSnapshot | None:
        """Return the buffer that stands for a file."""
        seen = await self._editor.snapshot(path)
        if seen is None or seen.modified:
            return seen
        return seen if await self._inner.kind(path) == "file" else None


class BufferChange:
    """Changes a buffer from ``before`` to ``after``, and back if something else fails."""

    def __init__(self, editor: Editor, file: FileChange, seen: BufferSnapshot) -> None:
        self._editor = editor
        self._file = file
        self._seen = seen
        self._lines, self._form = decode_lines(file.after or b"", seen.form)
        self._made: BufferEdit | None = None
        self._saved = False

    def check(self) -> None:
        """Raise Stale or ToolError if the change cannot be made in the buffer."""
        if self._seen.to_bytes() != (self._file.before or b""):
            raise StalePreview(self._file.name)
        if not self._seen.modifiable:
            raise ChangeFailed(f"The buffer of {self._file.name} is 'nomodifiable'.")
        if not self._seen.can_hold(self._lines):
            held = f"in the encoding {self._seen.encoding}, which cannot hold the new text"
            raise ChangeFailed(f"The buffer of {self._file.name} is {held}.")

    async def make(self) -> None:
        """Change the text; raises Stale."""
        edits = _edits(self._seen.lines, self._lines)
        if not edits and self._form == self._seen.form:
            return
        try:
            self._made = await self._editor.replace(
                self._file.path, self._seen.tick, edits, self._form
            )
        except BufferMovedError as error:
            raise StalePreview(self._file.name) from error

    async def save(self) -> None:
        """Save the buffer, if the user had no changes of their own in it; raises ToolError."""
        if self._seen.modified or self._made is None:
            return
        outcome = await self._editor.save(self._file.path)
        if not outcome.saved:
            raise ChangeFailed(f"Cannot save {self._file.name}: {outcome.problem}.")
        self._saved = True

    async def result(self) -> AppliedFile:
        """Return what became of it, after saving."""
        reformatted: tuple[tuple[int, int], ...] = ()
        now = await self._editor.snapshot(self._file.path) if self._saved else None
        if now is not None:
            found = diff_lines(self._lines, now.lines)
            reformatted = tuple((one.b_start + 1, max(one.b_end, one.b_start + 1)) for one in found)
        unsaved = self._made is not None and not self._saved
        return AppliedFile(self._file.path, not unsaved, reformatted)

    async def take_back(self) -> None:
        """Put the text back as it was; raises ToolError if it moved meanwhile."""
        if self._made is None:
            return
        now = await self._editor.snapshot(self._file.path)
        if now is None or (now.tick != self._made.tick and not self._saved):
            raise ToolError(f"{self._file.name} could not be taken back.")
        try:
            await self._restore(now, self._made)
        except BufferMovedError as error:
            raise ToolError(f"{self._file.name} could not be taken back.") from error

    async def _restore(self, now: BufferSnapshot, made: BufferEdit) -> None:
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


def _reason(error: Exception) -> str:
    """Return why a change failed, without what became of the files."""
    if isinstance(error, StalePreview):
        return f"{error.path} changed since the preview."
    return error.reason if isinstance(error, ChangeFailed) else str(error)


def _edits(before: tuple[str, ...], after: tuple[str, ...]) -> LineEdits:
    """Return the line edits; a buffer without text has one line, which is empty."""
    if before == after:
        return []
    if not before or not after:
        return [(0, max(len(before), 1), list(after))]
    return line_edits(before, after)
