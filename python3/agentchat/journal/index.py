"""The chats there are on disk: found again by project and words, and continued in a copy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agentchat.core.messages import Reply, UserText
from agentchat.journal.file import ENDING, FOLDER, Journal, journal_path
from agentchat.journal.reader import history, read
from agentchat.journal.records import Opened, Record, Said, TurnFinished, TurnStarted

TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Saved:
    """One chat: ``title`` is the first line of its first prompt, ``at`` unix seconds of its end."""

    chat: str
    title: str
    at: float


def saved_chats(state_dir: str | os.PathLike[str], cwd: str, words: str = "") -> list[Saved]:
    """Return the chats of a project in which something was said, newest first.

    Args:
        cwd: the project, as an absolute and resolved path.
        words: all of them must be in what was said, whatever their case.
    """
    paths = (Path(state_dir) / FOLDER).glob(f"*{ENDING}")
    found = (_looked_at(path, cwd, words.lower().split()) for path in paths)
    return sorted((one for one in found if one is not None), key=lambda one: one.at, reverse=True)


def fork(state_dir: str | os.PathLike[str], source: str, chat: str) -> None:
    """Begin the journal of ``chat`` with all that was said in ``source``.

    What ``source`` changed in files stays its own: the copy takes none of it back.

    Raises:
        UserError: the journal cannot be written.
    """
    records = list(read(journal_path(state_dir, source)))
    turn = max((r.number for r in records if isinstance(r, TurnStarted)), default=0)
    journal = Journal.open(state_dir, chat)
    try:
        for message in history(records).messages:
            journal.append(Said(message))
        if turn:
            journal.append(TurnStarted(turn))
            journal.append(TurnFinished(turn, "stop"))
    finally:
        journal.close()


def _looked_at(path: Path, cwd: str, words: list[str]) -> Saved | None:
    try:
        at = path.stat().st_mtime
        title = _title(read(path), cwd, words)
    except OSError:  # gone, or not ours to read
        return None
    return Saved(path.name.removesuffix(ENDING), title, at) if title else None


def _title(records: Iterable[Record], cwd: str, words: list[str]) -> str:
    """Return the title of a chat, empty if it is not one that is looked for.

    Reads no further than it must.
    """
    title, missing = "", set(words)
    for record in records:
        if isinstance(record, Opened) and record.cwd != cwd:
            return ""
        if isinstance(record, Said):
            said = _said(record)
            title = title or (_first_line(said) if isinstance(record.message, UserText) else "")
            missing -= {word for word in missing if word in said.lower()}
        if title and not missing:
            return title
    return ""


def _said(record: Said) -> str:
    message = record.message
    if isinstance(message, UserText):
        return message.shown or message.text
    return message.text if isinstance(message, Reply) else ""


def _first_line(text: str) -> str:
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1] + "…"
