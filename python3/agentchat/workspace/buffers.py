"""A workspace as the user sees it: the text of a loaded buffer replaces that of its file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from agentchat.core.diff.aspects import split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.line_diff import diff_lines
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.workspace import (
    AppliedFile,
    BufferState,
    Command,
    FileKind,
    FileTarget,
    ProcessResult,
    Workspace,
    WrappedWorkspace,
)
from agentchat.rpc.background import run_to_completion
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferFlags,
    BufferMovedError,
    BufferSnapshot,
    Editor,
    LineEdits,
    decode_text,
    line_text,
    raw_lines,
)
from agentchat.workspace.files.transaction import ChangeFailed, failure_reason

FRESH_SECONDS = 0.3


@dataclass
class ApplyPlan:
    """Where the files of a change are changed.

    ``loaded`` are changed in their buffers, ``on_disk`` on disk. ``renamed`` are loaded files that
    get another name, ``to_reload`` the paths of buffers whose file changes on disk.
    """

    loaded: dict[str, BufferChange] = field(default_factory=dict)
    on_disk: list[FileChange] = field(default_factory=list)
    renamed: list[FileChange] = field(default_factory=list)
    to_reload: list[str] = field(default_factory=list)


class BuffersWorkspace(WrappedWorkspace):
    """Another workspace, seen through an editor.

    A buffer replaces its file if it has unsaved changes or the file exists: an empty buffer for a
    new file does not make that file exist.

    The text of a file that is read in pieces is kept from the first piece to the last, so that the
    pieces fit together; at most until the next turn.

    A call is located just before it runs. If no buffer had its file then, the editor is not asked
    again to read it, unless ``FRESH_SECONDS`` have passed.
    """

    def __init__(self, inner: Workspace, editor: Editor) -> None:
        super().__init__(inner)
        self._editor = editor
        self._reading: tuple[str, bytes] | None = None
        self._unloaded: dict[str, float] = {}
        """When no buffer had a file that was located, for the first reading of it."""

    async def ready(self) -> None:
        """Return when it can be used, for a turn that begins; raises Unreachable."""
        self._reading = None
        self._unloaded.clear()
        await self._inner.ready()

    async def close(self) -> None:
        """Close the workspace."""
        self._reading = None
        await self._inner.close()

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path; a read-only buffer makes it read-only."""
        target = await self._inner.locate(path)
        flags = await self._editor.flags(target.path)
        if flags is None:
            self._unloaded[target.path] = time.monotonic()
            return target
        self._unloaded.pop(target.path, None)
        return replace(
            target,
            exists=target.exists or flags.modified,
            read_only=target.read_only or flags.readonly,
            loaded=self._buffer_state(flags),
        )

    def _buffer_state(self, flags: BufferFlags) -> BufferState:
        if not flags.modifiable:
            return BufferState.LOCKED
        if flags.modified:
            return BufferState.UNSAVED
        return BufferState.PLAIN if self._editor.plain_save else BufferState.SAVED

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""
        kind = await self._inner.kind(path)
        if kind is not None:
            return kind
        flags = await self._editor.flags(path)
        return "file" if flags is not None and flags.modified else None

    async def size(self, path: str) -> int:
        """Return the size of the text in bytes, as the user sees it."""
        snapshot = await self._buffer_of(path)
        return await self._inner.size(path) if snapshot is None else len(snapshot.to_bytes())

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the text of the buffer, or the bytes of the file; raises OSError."""
        if start and self._reading is not None and self._reading[0] == path:
            data = self._reading[1]
        else:
            snapshot = await self._buffer_of(path)
            if snapshot is None:
                return await self._inner.read(path, limit, start)
            data = snapshot.to_bytes()
        end = len(data) if limit is None else start + limit
        self._reading = (path, data) if end < len(data) else None
        return data[start:end]

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

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change in buffers and on disk, all files or none; raises as ``Workspace.apply``.

        A change that has begun is finished, also when the caller is cancelled.
        """
        return await run_to_completion(self._apply(change))

    async def _apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        plan = ApplyPlan()
        snapshots = await asyncio.gather(*map(self._snapshot, change.files))
        for file, snapshot in zip(change.files, snapshots, strict=True):
            await self._assign(file, snapshot, plan)
        disk = ChangeSet(tuple(plan.on_disk))
        applied = await self._inner.apply(disk) if disk.files else ()
        results = {file.path: file for file in applied}
        try:
            for file in plan.renamed:
                await self._editor.rename(file.old_path, file.path)
            for buffer in plan.loaded.values():
                await buffer.apply()
            for buffer in plan.loaded.values():
                await buffer.save()
        except Exception as error:
            await self._roll_back(disk, plan, error)
            raise
        results.update({path: await buffer.result() for path, buffer in plan.loaded.items()})
        for path in plan.to_reload:
            await self._editor.reload(path)
        return tuple(results[file.path] for file in change.files)

    async def _snapshot(self, file: FileChange) -> BufferSnapshot | None:
        return None if split_aspect(file.path)[1] else await self._editor.snapshot(file.origin)

    async def _assign(
        self, file: FileChange, snapshot: BufferSnapshot | None, plan: ApplyPlan
    ) -> None:
        """Decide whether a file is changed in its buffer, on disk, or both; raises as ``apply``."""
        if file.old_path and await self._editor.flags(file.path) is not None:
            raise ChangeFailed(f"{file.path} is already open in a buffer.")
        if snapshot is None or await self._is_restored(file, snapshot):
            plan.on_disk.append(file)
            plan.to_reload += [file.path] if snapshot is not None else []
        elif file.after is None:
            plan.on_disk.append(await self._disk_change(file, snapshot))
            plan.to_reload.append(file.path)
        elif file.old_path:
            moved = await self._disk_change(file, snapshot)
            plan.on_disk.append(replace(moved, after=moved.before))
            plan.renamed.append(file)
            plan.loaded[file.path] = BufferChange(self._editor, file, snapshot)
            plan.loaded[file.path].check()
        else:
            plan.loaded[file.path] = BufferChange(self._editor, file, snapshot)
            await self._check_buffer(plan.loaded[file.path], file, snapshot)

    async def _is_restored(self, file: FileChange, snapshot: BufferSnapshot) -> bool:
        """Whether a deleted file is created again while an unmodified buffer still shows it."""
        if file.before is not None or snapshot.modified or snapshot.text is None:
            return False
        return await self._inner.kind(file.path) is None

    async def _check_buffer(
        self, buffer: BufferChange, file: FileChange, snapshot: BufferSnapshot
    ) -> None:
        """Raise StalePreview or ToolError if buffer or file differ from what was previewed."""
        buffer.check()
        if snapshot.modified:
            return
        data = await self._read_disk(file.path)
        if data is None and snapshot.text is None:
            return
        if data is None or not snapshot.matches(data):
            raise StalePreview(file.name)

    async def _disk_change(self, file: FileChange, snapshot: BufferSnapshot) -> FileChange:
        """Return the change on disk of a loaded file, with the bytes on disk as ``before``."""
        if snapshot.modified:
            raise ChangeFailed(f"{file.name} is open with the user's unsaved changes.")
        if snapshot.encoding != "utf-8":
            # Undo restores the recorded text, which would not be the bytes of this encoding.
            encoding = f"in the encoding {snapshot.encoding}"
            raise ChangeFailed(f"{file.name} is open in a buffer, {encoding}: close it first.")
        if snapshot.to_bytes() != file.before:
            raise StalePreview(file.name)
        return replace(file, before=await self._read_disk(file.origin))

    async def _read_disk(self, path: str) -> bytes | None:
        try:
            return await self._inner.read(path)
        except FileNotFoundError:
            return None

    async def _roll_back(self, disk: ChangeSet, plan: ApplyPlan, error: Exception) -> None:
        """Roll back the files that were changed; raise ToolError if that fails for one of them."""
        failures: list[str] = []
        for buffer in reversed(list(plan.loaded.values())):
            try:
                await buffer.roll_back()
            except ToolError as failure:
                failures.append(str(failure))
        for file in reversed(plan.renamed):
            await self._editor.rename(file.path, file.old_path)
        try:
            if disk.files:
                await self._inner.apply(disk.reversed())
        except ToolError as failure:
            failures.append(f"{failure} It could not be rolled back.")
        if failures:
            raise ToolError(" ".join([failure_reason(error), *failures])) from error

    async def _buffer_of(self, path: str) -> BufferSnapshot | None:
        """Return the buffer that replaces a file, if there is one."""
        if split_aspect(path)[1]:
            return None
        if time.monotonic() - self._unloaded.pop(path, -FRESH_SECONDS) < FRESH_SECONDS:
            return None
        snapshot = await self._editor.snapshot(path)
        if snapshot is None or snapshot.modified:
            return snapshot
        return snapshot if await self._inner.kind(path) == "file" else None


class BufferChange:
    """Changes a buffer from ``before`` to ``after``, and back if another file fails."""

    def __init__(self, editor: Editor, file: FileChange, snapshot: BufferSnapshot) -> None:
        self._editor = editor
        self._file = file
        self._snapshot = snapshot
        self._text, self._form = decode_text(file.after or b"", snapshot.form)
        self._edit: BufferEdit | None = None
        self._saved = self._may_differ = False

    def check(self) -> None:
        """Raise StalePreview or ToolError if the change cannot be made in the buffer."""
        if self._snapshot.to_bytes() != (self._file.before or b""):
            raise StalePreview(self._file.name)
        if not self._snapshot.modifiable:
            raise ChangeFailed(f"The buffer of {self._file.name} is 'nomodifiable'.")
        if not self._snapshot.can_hold(self._text):
            raise ChangeFailed(
                f"The buffer of {self._file.name} is in the encoding {self._snapshot.encoding}, "
                "which cannot hold the new text."
            )

    async def apply(self) -> None:
        """Change the text; raises StalePreview."""
        edits = _line_edits(self._snapshot.text, self._text)
        if not edits and self._form == self._snapshot.form:
            return
        try:
            self._edit = await self._editor.replace(
                self._file.path, self._snapshot.tick, edits, (self._text, self._form)
            )
        except BufferMovedError as error:
            raise StalePreview(self._file.name) from error

    async def save(self) -> None:
        """Save the buffer, if the user had no changes of their own in it; raises ToolError."""
        if self._snapshot.modified or self._edit is None:
            return
        outcome = await self._editor.save(self._file.path)
        if not outcome.saved:
            raise ChangeFailed(f"Cannot save {self._file.name}: {outcome.problem}.")
        self._saved, self._may_differ = True, not outcome.unchanged

    async def result(self) -> AppliedFile:
        """Return how the file was changed, after saving."""
        reformatted: tuple[tuple[int, int], ...] = ()
        now = await self._editor.snapshot(self._file.path) if self._may_differ else None
        if now is not None and now.text != self._text:
            reformatted = tuple(
                (hunk.b_start + 1, max(hunk.b_end, hunk.b_start + 1))
                for hunk in diff_lines(raw_lines(self._text), raw_lines(now.text))
            )
        return AppliedFile(
            path=self._file.path,
            saved=self._edit is None or self._saved,
            reformatted=reformatted,
        )

    async def roll_back(self) -> None:
        """Restore the text; raises ToolError if it changed again meanwhile."""
        if self._edit is None:
            return
        now = await self._editor.flags(self._file.path)
        if now is None or (now.tick != self._edit.tick and not self._saved):
            raise ToolError(f"{self._file.name} could not be rolled back.")
        try:
            await self._restore(now, self._edit)
        except BufferMovedError as error:
            raise ToolError(f"{self._file.name} could not be rolled back.") from error

    async def _restore(self, now: BufferFlags, edit: BufferEdit) -> None:
        """Go back in the undo tree; edit the text if that does not restore it."""
        path, text, form = self._file.path, self._snapshot.text, self._snapshot.form
        await self._editor.undo(path, now.tick, edit.undo, form)
        restored = await self._editor.snapshot(path)
        if restored is not None and restored.text != text:
            edits = _line_edits(restored.text, text)
            await self._editor.replace(path, restored.tick, edits, (text, form))
            restored = await self._editor.snapshot(path)
        if restored is not None and restored.modified and not self._snapshot.modified:
            await self._editor.save(path)


def _line_edits(before: bytes | None, after: bytes | None) -> LineEdits:
    """Return the line edits; a buffer without text has one line, which is empty."""
    if before == after:
        return []
    old, new = raw_lines(before), raw_lines(after)
    if not old or not new:
        return [(0, max(len(old), 1), [line_text(line) for line in new])]
    changes = reversed(diff_lines(old, new))
    return [
        (c.a_start, c.a_end, [line_text(raw) for raw in new[c.b_start : c.b_end]]) for c in changes
    ]
