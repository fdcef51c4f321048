"""Saved chats: lists and searches them, forks them, and collects their past calls."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Reply, UserText
from agentchat.journal.entries import step_record
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
    ModeChanged,
    ModelChosen,
    Record,
    ToolsGiven,
    TurnFinished,
    TurnStarted,
)

TITLE_CHARACTERS = 80
TITLE_SUFFIX = ".title"
"""A file beside a journal that the user gave a title. Not a record: the journal may be open."""
USER_CHOICES = frozenset({"always", "accept", "reject", "cancel"})
MAX_JOURNALS = 40
"""How many journals are searched for past calls: the newest of all projects."""


@frozen
class SavedChat:
    """One chat: ``time`` is when it ended (unix).

    ``title`` is the one that the user gave it, or the first line of its first prompt. ``source``
    is the chat that it is a fork of, if it is one.
    """

    chat: str
    title: str
    time: float
    source: str = ""


@frozen
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


def fork_chat(
    state_dir: str | os.PathLike[str], source: str, chat: str, requests: int | None = None
) -> None:
    """Create the journal of ``chat`` with the messages of ``source``, in the same project.

    Tools, mode and model are copied, too. Changes of files are not: the fork cannot undo those of
    ``source``.

    Args:
        requests: how many messages of the user, with what follows each; None for all.

    Raises:
        UserError: the journal cannot be written.
    """
    records = scan(journal_path(state_dir, source)).records
    messages = _first_requests(read_history(records).messages, requests)
    steps = [step for step in read_steps(records) if step.length <= len(messages)]
    turn = _turn_after(records, requests)
    opened = [record for record in records if isinstance(record, ChatOpened)]
    journal = JournalFile.open(state_dir, chat)
    try:
        for record in opened[-1:]:
            # Must be first: before it a reader does not know the project.
            copy = replace(record, chat=chat, source=source, copied=len(messages), time=0.0)
            journal.append(copy)
        for kind in (ToolsGiven, ModelChosen, ModeChanged):
            journal.append(*[record for record in records if isinstance(record, kind)][-1:])
        for message in messages:
            journal.append(MessageRecorded(message))
        for step in steps:
            journal.append(step_record(step))
        todo = read_todo(records)
        if todo:
            journal.append(todo_record(todo))
        if turn:
            journal.append(TurnStarted(turn))
            journal.append(TurnFinished(turn, "stop"))
    finally:
        journal.close()


def _first_requests(messages: Sequence[Message], requests: int | None) -> Sequence[Message]:
    """Return the messages up to that of the user after so many."""
    starts = [index for index, each in enumerate(messages) if isinstance(each, UserText)]
    if requests is None or requests >= len(starts):
        return messages
    return messages[: starts[requests]]


def rename_chat(state_dir: str | os.PathLike[str], chat: str, title: str) -> str:
    """Give a chat a title, open or not, and return it; an empty one takes the given one back.

    Raises:
        UserError: the chat is not on disk, or the title cannot be written.
    """
    journal, path = journal_path(state_dir, chat), _title_path(state_dir, chat)
    title = _first_line(title)
    if not journal.exists():
        raise UserError("This chat is not on disk any more.")
    try:
        if not title:
            path.unlink(missing_ok=True)
            return _read_title(journal)
        path.write_text(title, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error
    return title


def _title_path(state_dir: str | os.PathLike[str], chat: str) -> Path:
    return journal_path(state_dir, chat).with_suffix(TITLE_SUFFIX)


def _read_title(journal: Path) -> str:
    """Return the first line of the first prompt of a chat; empty if there is none."""
    for record in read_records(journal):
        if isinstance(record, MessageRecorded) and isinstance(record.message, UserText):
            return _first_line(_message_text(record))
    return ""


def _given_title(journal: Path) -> str:
    try:
        return _first_line(journal.with_suffix(TITLE_SUFFIX).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""


def _turn_after(records: Iterable[Record], requests: int | None) -> int:
    """Return the turn to which the last of so many messages of the user belongs; 0 if none."""
    turn = last = said = 0
    for record in records:
        if isinstance(record, TurnStarted):
            turn = record.number
        elif isinstance(record, MessageRecorded) and isinstance(record.message, UserText):
            said += 1
            last = turn if requests is None or said <= requests else last
    return last if requests is not None else turn


def delete_chat(state_dir: str | os.PathLike[str], chat: str) -> None:
    """Delete a chat: its journal, large results and overlay.

    Raises:
        UserError: it is open in an editor, or cannot be deleted.
    """
    state, path = Path(state_dir), journal_path(state_dir, chat)
    journal = JournalFile.open(state_dir, chat)  # the lock: no other process has it open
    try:
        path.unlink()
        _title_path(state, chat).unlink(missing_ok=True)
        for folder in ("results", "overlay"):
            shutil.rmtree(state / folder / chat, ignore_errors=True)
    except OSError as error:
        raise UserError(f"{path} cannot be deleted: {error.strerror}.") from error
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
        source = _source(read_records(path)) if title else ""
        title = title and (_given_title(path) or title)
    except OSError:  # deleted or not readable
        return None
    return SavedChat(path.name.removesuffix(SUFFIX), title, time, source) if title else None


def _source(records: Iterable[Record]) -> str:
    """Return the chat of which the one with these records is a fork; reads the first record."""
    first = next(iter(records), None)
    return first.source if isinstance(first, ChatOpened) else ""


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
