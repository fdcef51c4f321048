"""What the requests of all chats used, by day: a file for each, with a line for each request."""

from __future__ import annotations

import datetime
import json
import logging
import os
from dataclasses import asdict
from pathlib import Path

from agentchat.core.messages import Usage
from agentchat.core.spending import Totals
from agentchat.disk.regular import read_regular

FOLDER = "usage"
LARGEST = 64 * 1024 * 1024
"""Bytes that are read at once; the next look goes on behind them."""
COUNTS = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)

APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
"""A pipe in the place of the file fails at once, in place of waiting for a reader."""

log = logging.getLogger(__name__)


class UsageLedger:
    """The file of today, which other processes of the plugin write, too.

    A line is written at once, so lines of two processes do not mix. What is not valid is left out.

    Args:
        folder: the plugin's own folder; the files are in ``usage``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._day = ""
        self._read = 0
        self._totals = Totals()

    def add(self, chat: str, model: str, usage: Usage) -> None:
        """Add a request; an error of the disk is in the log only."""
        counts = asdict(usage)
        line = json.dumps({"chat": chat, "model": model, **counts}) + "\n"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            file = os.open(self._path(), APPENDING, 0o600)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError:
            log.exception("the usage of a request is not written down")

    def today(self) -> Totals:
        """Return what all chats used today; only what is new in the file is read."""
        path = self._path()
        if path.stem != self._day:
            self._day, self._read, self._totals = path.stem, 0, Totals()
        try:
            new = read_regular(path, LARGEST, self._read)
        except OSError:  # nothing was used yet
            return self._totals
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._totals = self._totals.add(_usage(line))
        return self._totals

    def _path(self) -> Path:
        return self._folder / f"{datetime.date.today().isoformat()}.jsonl"


def _usage(line: bytes) -> Usage | None:
    try:
        plain = json.loads(line)
        counts = {name: int(plain.get(name) or 0) for name in COUNTS}
        cost, is_least = plain.get("cost"), plain.get("is_lower_bound") is True
        known = None if cost is None else float(cost)
        return Usage(**counts, cost=known, is_lower_bound=is_least)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return None
