"""Writes a journal as JSON lines, for audit by other programs."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentchat.core.errors import UserError
from agentchat.journal import records as r
from agentchat.journal.codec import map_leaves, to_fields

_LEFT_OUT = (r.ContentStored, r.ReplyProgress)
"""The bytes of files, and text that the whole reply repeats."""


def export_journal(records: Iterable[r.Record], path: Path, overwrite: bool = False) -> int:
    """Write records to a file that only the user can read, and return their number.

    Args:
        overwrite: replace an existing file.

    Raises:
        UserError: the file exists or cannot be written.
    """
    lines = list(json_lines(records))
    try:
        write_lines(lines, path, overwrite)
    except FileExistsError as error:
        raise UserError(f"{path} exists. Overwrite it with :AgentLog! export.") from error
    return len(lines)


def write_lines(lines: Iterable[str], path: Path, overwrite: bool) -> None:
    """Write lines to a file that only the user can read.

    Raises:
        FileExistsError: it exists, and is not to be replaced.
        UserError: it cannot be written.
    """
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    flags = os.O_TRUNC if overwrite else os.O_EXCL
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except FileExistsError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"Cannot write {path}: {reason}. Choose another path.") from error


def json_lines(records: Iterable[r.Record]) -> Iterator[str]:
    """Yield a JSON object for each record: ``time`` in UTC, ``kind``, and its fields on disk."""
    for record in records:
        if not isinstance(record, _LEFT_OUT):
            fields = to_fields(record)
            head = {"time": _timestamp(record.time), "kind": fields.pop("kind", "")}
            fields = {name: value for name, value in fields.items() if name not in ("v", "at")}
            yield json.dumps(map_leaves({**head, **fields}, _as_json), ensure_ascii=False)


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _as_json(leaf: Any) -> Any:
    if isinstance(leaf, bytes):
        return base64.b64encode(leaf).decode()
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return str(leaf)
    known = leaf is None or isinstance(leaf, (bool, int, float, str))
    return leaf if known else str(leaf)
