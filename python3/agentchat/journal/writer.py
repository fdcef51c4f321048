"""Writes the records of a chat into its journal, before their effect is visible."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from agentchat.core.context.context import ContextStep
from agentchat.core.diff.changeset import FileChange
from agentchat.core.frozen import frozen
from agentchat.core.messages import History
from agentchat.core.spending import Totals
from agentchat.core.tools.todo import TodoItem
from agentchat.core.tools.toolset import ToolSelection
from agentchat.journal import records as r
from agentchat.journal.file import JournalFile
from agentchat.journal.reader import (
    PastCalls,
    read_history,
    read_past_calls,
    read_steps,
    read_todo,
    read_totals,
)
from agentchat.journal.timeline import Timeline, read_timeline

DURABLE = (
    r.ChangeStarted,
    r.CheckpointCreated,
    r.RecoveryStarted,
    r.PreviewStaged,
    r.PreviewResolving,
    r.UndoStarted,
    r.RedoStarted,
)
"""Records of what is about to be done: without them it could not be undone or finished later."""


@frozen
class RestoredChat:
    """The state of a chat as its journal has it when opened; ``tools`` if they were changed."""

    history: History
    timeline: Timeline
    tools: ToolSelection | None
    steps: tuple[ContextStep, ...] = ()
    """What is sent in place of older messages."""
    used: Totals = field(default_factory=Totals)
    """What all requests used."""
    todo: tuple[TodoItem, ...] = ()
    model: r.ModelChosen | None = None
    mode: str = ""
    """The mode that it was changed to."""
    calls: PastCalls = field(default_factory=PastCalls)
    agent: str = ""
    """The agent of another program that the chat is with."""


class JournalWriter:
    """The journal of one session; ``restored`` is the state it had when it was opened."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._progress = ""
        self.restored = _restore(file.take_previous())

    @classmethod
    def open(
        cls, state_dir: str | os.PathLike[str], chat: str, secrets: Iterable[str] = ()
    ) -> JournalWriter:
        """Open the journal of a chat as ``JournalFile.open`` does; reads it once."""
        return cls(JournalFile.open(state_dir, chat, secrets))

    def mask_secrets(self, secrets: Iterable[str]) -> None:
        """Mask these values in all later records."""
        self._file.mask_secrets(secrets)

    def records(self) -> Iterator[r.Record]:
        """Yield all records so far, from the file."""
        return self._file.records()

    def close(self) -> None:
        """Release the file immediately; it can be opened again once this returns."""
        self._file.close()

    def add(self, *records: r.Record, durable: bool = False) -> None:
        """Write records in one go.

        Args:
            durable: they survive a power cut once this returns; those of ``DURABLE`` always do.
        """
        durable = durable or any(isinstance(record, DURABLE) for record in records)
        self._file.append(*records, durable=durable)
        if any(isinstance(record, r.MessageRecorded) for record in records):
            self._progress = ""

    def add_progress(self, text: str) -> None:
        """Write the text so far of a reply that is arriving; only new text is written."""
        text = self._file.mask(text)
        start = len(self._progress)
        if not text.startswith(self._progress):
            # Another reply, or the new text completes a secret.
            start = _common_length(self._progress, text)
        if text != self._progress:
            self._file.append(r.ReplyProgress(text[start:], start))
            self._progress = text

    def store(self, files: Iterable[FileChange]) -> tuple[r.RecordedFile, ...]:
        """Store the bytes of files before and after a change; return what a record has of them."""
        return tuple(self._store_file(file) for file in files)

    def _store_file(self, file: FileChange) -> r.RecordedFile:
        return r.RecordedFile(
            path=file.path,
            before=None if file.before is None else self._file.store(file.before),
            after=None if file.after is None else self._file.store(file.after),
            mode=file.mode,
            owner=file.owner,
            attributes=file.attributes,
            folders=file.folders,
            old_path=file.old_path,
        )


def _common_length(old: str, new: str) -> int:
    """Return the length of the common start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _restore(records: Sequence[r.Record]) -> RestoredChat:
    newest = tuple(reversed(records))
    tools = next((item for item in newest if isinstance(item, r.ToolsGiven)), None)
    return RestoredChat(
        history=read_history(records),
        timeline=read_timeline(records, reopened=True),
        steps=read_steps(records),
        used=read_totals(records),
        todo=read_todo(records),
        calls=read_past_calls(records),
        model=next((item for item in newest if isinstance(item, r.ModelChosen)), None),
        mode=next((item.mode for item in newest if isinstance(item, r.ModeChanged)), ""),
        agent=next((item.agent for item in newest if isinstance(item, r.AgentStarted)), ""),
        tools=ToolSelection(tools.given, tools.removed, tools.activated)
        if tools is not None
        else None,
    )
