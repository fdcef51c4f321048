"""What a user's function prints, which the user sees while the function runs."""

from __future__ import annotations

import io
import threading
import time
from typing import Any

from agentchat.rpc.peer import IncomingRequest

PRINT_SECONDS = 1 / 30
MOST_PRINTED = 16 * 1024
"""Characters that wait to be shown; the older part of a flood is dropped."""


class Printer:
    """Sends what a function prints as progress: bounded, and at most 30 times a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._text = ""
        self._incoming: IncomingRequest | None = None
        threading.Thread(target=self._run, name="print", daemon=True).start()

    def begin(self, incoming: IncomingRequest) -> None:
        """Send printed text for this request from now on."""
        with self._lock:
            self._incoming = incoming

    def end(self) -> None:
        """Send the rest; text that is printed between requests is dropped."""
        self._flush()
        with self._lock:
            self._incoming = None

    def write(self, text: str) -> None:
        """Add some text, from any thread."""
        with self._lock:
            if self._incoming is None:
                return
            self._text = (self._text + text[-MOST_PRINTED:])[-MOST_PRINTED:]
        self._ready.set()

    def _flush(self) -> None:
        with self._lock:
            text, self._text = self._text, ""
            if text and self._incoming is not None:
                self._incoming.progress(text.encode("utf-8", "replace").decode("utf-8"))

    def _run(self) -> None:
        while True:
            self._ready.wait()
            self._ready.clear()
            self._flush()
            time.sleep(PRINT_SECONDS)


class PrintedBytes(io.RawIOBase):
    """The raw stream below ``sys.stdout`` and ``sys.stderr``, which writes to the printer."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer

    def writable(self) -> bool:
        """Return true."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the real output, which is discarded."""
        return 1

    def write(self, data: Any) -> int:
        """Show some bytes."""
        self._printer.write(bytes(data).decode("utf-8", "replace"))
        return len(data)
