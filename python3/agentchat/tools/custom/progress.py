"""Text from a thread to the block of its call: collected, bounded, 30 times a second at most."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

SECONDS = 1 / 30
CHARACTERS = 16 * 1024
"""The most that waits to be shown; of a flood the newest part is shown."""


class Progress:
    """Passes text on to ``show``, on the loop's thread. ``add`` may be called from any thread."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting = ""
        self._scheduled = False
        self._closed = False

    def add(self, text: str) -> None:
        """Take some text; what comes after the end of the call is dropped."""
        with self._lock:
            if self._closed:
                return
            self._waiting = (self._waiting + text[-CHARACTERS:])[-CHARACTERS:]
            wakes, self._scheduled = not self._scheduled, True
        if wakes:
            try:
                self._loop.call_soon_threadsafe(self._loop.call_later, SECONDS, self._flush)
            except RuntimeError:
                self._closed = True  # the loop is closed

    def line(self, text: str) -> None:
        """Take some text that is a line of its own."""
        self.add(text if text.endswith("\n") else f"{text}\n")

    def close(self) -> None:
        """Pass on what is left; nothing more is taken."""
        self._flush()
        with self._lock:
            self._closed = True

    def _flush(self) -> None:
        with self._lock:
            text, self._waiting, self._scheduled = self._waiting, "", False
            if self._closed:
                return
        if text:
            self._show(text.encode("utf-8", "replace").decode("utf-8"))
