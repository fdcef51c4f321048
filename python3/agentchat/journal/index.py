"""The chats saved on disk: found by project and words, forked, and asked for their past calls."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.core.messages import Reply, UserText
from agentchat.journal.file import FOLDER, SUFFIX, JournalFile, journal_path
from agentchat.journal.reader import read_history, read_records, scan
from agentchat.journal.records import (
    ChatOpened,
    DecisionMade,
    MessageRecorded,
    Record,
    TurnFinished,
    TurnStarted,
)

TITLE_CHARACTERS = 80
USER_CHOICES = frozenset({"always", "accept", "reject", "cancel"})
MAX_JOURNALS = 40
"""Past calls are looked for in the newest of all journals, whichever project they belong to."""


@dataclass(frozen=True, slots=True)
class SavedChat:
    """One chat: ``title`` is the first line of its first prompt, ``time`` when it ended (unix)."""

    chat: str
    title: str
    time: float


@dataclass(frozen=True, slots=True)
class PastCall:
    """One call; ``outcome`` is what was decided, or the user's answer if it was asked about."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: str


def list_saved_chats(
    state_dir: str | os.PathLike[str], cwd: str, words: str = ""
) -> list[SavedChat]:
    """Return the chats of a project that have messages, newest first.

    Reads no more of each journal than its beginning, unless words are looked for.

    Args:
        cwd: the project, as an absolute and resolved path.
        words: all of them must occur in the messages, in upper or lower case.
    """
    paths = (Path(state_dir) / FOLDER).glob(f"*{SUFFIX}")
    found = (_read_head(path, cwd, words.lower().split()) for path in paths)
    return sorted((one for one in found if one is not None), key=lambda one: one.time, reverse=True)


def fork_chat(state_dir: str | os.PathLike[str], source: str, chat: str) -> None:
    """Begin the journal of ``chat`` with all messages of ``source``, in the same project.

    What ``source`` changed in files stays its own: the copy undoes none of it.

    Raises:
        UserError: the journal cannot be written.
    """
    records = scan(journal_path(state_dir, source)).records
    turn = max((r.number for r in records if isinstance(r, TurnStarted)), default=0)
    opened = [record for record in records if isinstance(record, ChatOpened)]
    journal = JournalFile.open(state_dir, chat)
    try:
        for record in opened[-1:]:
            # First of all, so that nobody takes the copy for a chat of another project.
            journal.append(ChatOpened(chat, record.cwd, record.model, record.version))
        for message in read_history(records).messages:
            journal.append(MessageRecorded(message))
        if turn:
            journal.append(TurnStarted(turn))
            journal.append(TurnFinished(turn, "stop"))
    finally:
        journal.close()


def list_past_calls(
    state_dir: str | os.PathLike[str], cwd: str, limit: int
) -> tuple[PastCall, ...]:
    """Return the newest calls of a project that were decided about, newest first.

    Args:
        cwd: the project, as an absolute and resolved path.
    """
    found: list[PastCall] = []
    for path in _newest((Path(state_dir) / FOLDER).glob(f"*{SUFFIX}")):
        if len(found) >= limit:
            break
        try:
            found += reversed(_decided_calls(read_records(path), cwd))
        except OSError:  # gone, or not readable for us
            continue
    return tuple(found[:limit])


def _read_head(path: Path, cwd: str, words: list[str]) -> SavedChat | None:
    try:
        time = path.stat().st_mtime
        title = find_title(read_records(path), cwd, words)
    except OSError:  # gone, or not readable for us
        return None
    return SavedChat(path.name.removesuffix(SUFFIX), title, time) if title else None


def find_title(records: Iterable[Record], cwd: str, words: list[str]) -> str:
    """Return the title of a chat, empty if it is not one that is looked for.

    Reads no further than it must. Forks of older versions have messages before they say of which
    project they are: a title alone is not enough.
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
        return message.shown or message.text
    return message.text if isinstance(message, Reply) else ""


def _first_line(text: str) -> str:
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1] + "…"


def _newest(paths: Iterable[Path]) -> list[Path]:
    aged: list[tuple[float, Path]] = []
    for path in paths:
        try:
            aged.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(aged, reverse=True)[:MAX_JOURNALS]]


def _decided_calls(records: Iterable[Record], cwd: str) -> list[PastCall]:
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    decided: dict[str, str] = {}
    for record in records:
        if isinstance(record, ChatOpened) and record.cwd != cwd:
            return []
        if isinstance(record, MessageRecorded) and isinstance(record.message, Reply):
            calls.update(_parse_calls(record.message))
        elif isinstance(record, DecisionMade) and decided.get(record.call_id) not in USER_CHOICES:
            decided[record.call_id] = record.verdict
    return [PastCall(*calls[id], outcome) for id, outcome in decided.items() if id in calls]


def _parse_calls(reply: Reply) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for call in reply.calls:
        try:
            given = json.loads(call.arguments)
        except (ValueError, RecursionError):
            continue
        if isinstance(given, dict):
            yield call.id, (call.name, given)
