"""Brings back the previews that were pending when the last process of a chat ended.

One that changes files is shown again, on top of what its files are now. It is dropped, with a line
for the user and the model, if a file changed where it does, if its bytes were withheld from the
journal because of a secret, or if only a tool of the ended process could apply it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from agentchat.agent.execution.previews import Previews
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.turn.view import Observer, View
from agentchat.journal.records import RecordedFile
from agentchat.journal.timeline import PendingPreview
from agentchat.journal.undo_plan import read_contents
from agentchat.journal.writer import JournalWriter

INTERRUPTED = "the plugin's process ended while it was resolved. Read its files before you go on."
NO_FILES = "the plugin's process ended. It changed nothing; stage it again if it is still needed."
NO_BYTES = "the journal does not have the text of {}, as it contains a secret."


class PendingPreviews:
    """The previews of one chat that its last process left."""

    def __init__(
        self, *, previews: Previews, view: View, journal: JournalWriter, observer: Observer
    ) -> None:
        self._previews = previews
        self._view = view
        self._journal = journal
        self._observer = observer
        self._pending = journal.restored.timeline.pending_previews

    @property
    def is_needed(self) -> bool:
        """Whether there are any."""
        return bool(self._pending)

    async def restore(self) -> None:
        """Show each of them again, the oldest first, or report why it cannot be shown."""
        files = [file for pending in self._pending for file in pending.staged.files]
        hashes = {name for file in files for name in (file.before, file.after) if name}
        contents = await asyncio.to_thread(read_contents, self._journal.records(), hashes)
        for pending in self._pending:
            try:
                await self._restore(pending, contents)
            except (ToolError, OSError) as error:
                text = f"The preview {pending.staged.label!r} is dropped: {error}"
                self._view.add_note("info", text)
                self._observer.add_note(text)

    async def _restore(self, pending: PendingPreview, contents: Mapping[str, bytes | None]) -> None:
        staged = pending.staged
        if pending.resolving or not staged.files:
            raise ToolError(INTERRUPTED if pending.resolving else NO_FILES)
        change = ChangeSet(tuple(_file_change(file, contents) for file in staged.files))
        preview = self._previews.of_change(
            staged.label, staged.source, change, in_overlay=staged.in_overlay
        )
        await self._previews.restore(
            replace(preview, id=staged.preview, calls=staged.calls, for_user=staged.for_user)
        )


def _file_change(file: RecordedFile, contents: Mapping[str, bytes | None]) -> FileChange:
    """Return the change with its bytes; raises ToolError if the journal does not have them."""

    def read(name: str | None) -> bytes | None:
        content = contents.get(name) if name is not None else None
        if name is not None and content is None:
            raise ToolError(NO_BYTES.format(file.path))
        return content

    return FileChange(
        path=file.path,
        before=read(file.before),
        after=read(file.after),
        mode=file.mode,
        owner=file.owner,
        attributes=file.attributes,
        folders=file.folders,
        old_path=file.old_path,
    )
