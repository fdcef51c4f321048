"""The calls there were in a project, as its journals tell: what they were and how they ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.core.messages import Reply
from agentchat.journal.file import ENDING, FOLDER
from agentchat.journal.reader import read
from agentchat.journal.records import Decided, Opened, Record, Said

ANSWERS = frozenset({"always", "accept", "reject", "cancel"})
JOURNALS = 40
"""The newest of all are read, whichever project they are of."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """One call; ``outcome`` is what was decided, or the user's answer if it was asked about."""

    tool: str
    given: Mapping[str, Any]
    outcome: str


def past_calls(state_dir: str | os.PathLike[str], cwd: str, most: int) -> tuple[PastCall, ...]:
    """Return the newest calls of a project that were decided about, newest first.

    Args:
        cwd: the project, as an absolute and resolved path.
    """
    found: list[PastCall] = []
    for path in _newest((Path(state_dir) / FOLDER).glob(f"*{ENDING}")):
        if len(found) >= most:
            break
        try:
            found += reversed(_calls(read(path), cwd))
        except OSError:  # gone, or not ours to read
            continue
    return tuple(found[:most])


def _newest(paths: Iterable[Path]) -> list[Path]:
    aged: list[tuple[float, Path]] = []
    for path in paths:
        try:
            aged.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(aged, reverse=True)[:JOURNALS]]


def _calls(records: Iterable[Record], cwd: str) -> list[PastCall]:
    said: dict[str, tuple[str, Mapping[str, Any]]] = {}
    decided: dict[str, str] = {}
    for record in records:
        if isinstance(record, Opened) and record.cwd != cwd:
            return []
        if isinstance(record, Said) and isinstance(record.message, Reply):
            said.update(_made(record.message))
        elif isinstance(record, Decided) and decided.get(record.call_id) not in ANSWERS:
            decided[record.call_id] = record.verdict
    return [PastCall(*said[id], outcome) for id, outcome in decided.items() if id in said]


def _made(reply: Reply) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for call in reply.calls:
        try:
            given = json.loads(call.arguments)
        except (ValueError, RecursionError):
            continue
        if isinstance(given, dict):
            yield call.id, (call.name, given)
