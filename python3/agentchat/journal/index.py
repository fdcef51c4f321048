"""Saved chats: lists and searches them, forks them, and collects their past calls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentchat.core.messages import Reply, UserText
from agentchat.journal.file import FOLDER, SUFFIX, JournalFile, journal_path
from agentchat.journal.reader import (
    read_history,
    read_records,
    read_steps,
    read_todo,
    scan,
    todo_record,
)
from agentchat.journal.records import (
    ChatOpened,
    DecisionMade,
    MessageRecorded,
    Record,
    TurnFinished,
    TurnStarted,
)
from agentchat.journal.writer import step_record

TITLE_CHARACTERS = 80
USER_CHOICES = frozenset({"always", "accept", "reject", "cancel"})
MAX_JOURNALS = 40
"""How many journals are searched for past calls: the newest of all projects."""


@dataclass(frozen=True, slots=True)
class SavedChat:
    """One chat: ``title`` is the first line of its first prompt, ``time`` when it ended (unix)."""

    chat: str
    title: str
    time: float


@dataclass(frozen=True, slots=True)
class PastCall:
    """One call; ``outcome`` is the policy's verdict, or the user's choice if there was one."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: str


def list_saved_chats(
    state_dir: str | os.PathLike[str], cwd: str, words: str = ""
) -> list[SavedChat]:
    """Return the chats of a project that have messages, newest first.

    Reads only the beginning of each journal, unless there are words.

    Args:
        cwd: the project, as an absolute and resolved path.
        words: all of them must occur in the messages; case is ignored.
    """
    paths = (Path(state_dir) / FOLDER).glob(f"*{SUFFIX}")
    heads = (_read_head(path, cwd, words.lower().split()) for path in paths)
    chats = (chat for chat in heads if chat is not None)
    return sorted(chats, key=lambda chat: chat.time, reverse=True)


def fork_chat(state_dir: str | os.PathLike[str], source: str, chat: str) -> None:
    """Create the journal of ``chat`` with all messages of ``source``, in the same project.

    Changes of files are not copied: the fork cannot undo those of ``source``.

    Raises:
        UserError: the journal cannot be written.
    """
    records = scan(journal_path(state_dir, source)).records
    turn = max((r.number for r in records if isinstance(r, TurnStarted)), default=0)
    opened = [record for record in records if isinstance(record, ChatOpened)]
    journal = JournalFile.open(state_dir, chat)
    try:
        for record in opened[-1:]:
            # Must be first: before it a reader does not know the project.
            journal.append(replace(record, chat=chat, time=0.0))
        for message in read_history(records).messages:
            journal.append(MessageRecorded(message))
        for step in read_steps(records):
            journal.append(step_record(step))
        todo = read_todo(records)
        if todo:
            journal.append(todo_record(todo))
        if turn:
            journal.append(TurnStarted(turn))
            journal.append(TurnFinished(turn, "stop"))
    finally:
        journal.close()


def list_past_calls(
    state_dir: str | os.PathLike[str], cwd: str, limit: int
) -> tuple[PastCall, ...]:
    """Return the newest calls of a project that have a decision, newest first.

    Args:
        cwd: the project, as an absolute and resolved path.
    """
    calls: list[PastCall] = []
    for path in _newest((Path(state_dir) / FOLDER).glob(f"*{SUFFIX}")):
        if len(calls) >= limit:
            break
        try:
            calls += reversed(_decided_calls(read_records(path), cwd))
        except OSError:  # deleted or not readable
            continue
    return tuple(calls[:limit])


def _read_head(path: Path, cwd: str, words: list[str]) -> SavedChat | None:
    try:
        time = path.stat().st_mtime
        title = find_title(read_records(path), cwd, words)
    except OSError:  # deleted or not readable
        return None
    return SavedChat(path.name.removesuffix(SUFFIX), title, time) if title else None


def find_title(records: Iterable[Record], cwd: str, words: list[str]) -> str:
    """Return the title of a chat; empty if it does not match project and words.

    Reads no further than necessary. In forks of older versions messages precede the record that
    names the project, so a title alone is not enough.
    """
    title, missing, in_project = "", set(words), False
    for record in records:
        if isinstance(record, ChatOpened):
            if record.cwd != cwd:
                return ""
            in_project = True
        elif isinstance(record, MessageRecorded):
            text = _message_text(record)
            title = title or (_first_line(text) if isinstance(record.message, UserText) else "")
            missing -= {word for word in missing if word in text.lower()}
        if title and in_project and not missing:
            return title
    return ""


def _message_text(record: MessageRecorded) -> str:
    message = record.message
    if isinstance(message, UserText):
        return message.display_text or message.text
    return message.text if isinstance(message, Reply) else ""


def _first_line(text: str) -> str:
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1] + "…"


def _newest(paths: Iterable[Path]) -> list[Path]:
    with_times: list[tuple[float, Path]] = []
    for path in paths:
        try:
            with_times.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(with_times, reverse=True)[:MAX_JOURNALS]]


def _decided_calls(records: Iterable[Record], cwd: str) -> list[PastCall]:
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    outcomes: dict[str, str] = {}
    for record in records:
        if isinstance(record, ChatOpened) and record.cwd != cwd:
            return []
        if isinstance(record, MessageRecorded) and isinstance(record.message, Reply):
            calls.update(_parse_calls(record.message))
        elif isinstance(record, DecisionMade) and outcomes.get(record.call_id) not in USER_CHOICES:
            outcomes[record.call_id] = record.verdict
    return [PastCall(*calls[id], outcome) for id, outcome in outcomes.items() if id in calls]


def _parse_calls(reply: Reply) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for call in reply.calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict):
            yield call.id, (call.name, arguments)
