"""A model server in a process of its own that requests calls and measures how long they take.

``python -m bench.call_server PID …`` prints its URL. Each line on its standard input is a JSON
list of calls ``[tool, arguments]``, which the next reply requests. After the request that has
their results it prints a JSON list: the seconds from the end of that reply to this request, and
for each PID the seconds that the main thread of that process was busy meanwhile.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer, Request
from tests.support.replies import Call, Hold, Reply, text

PAUSE = 0.2
"""Seconds between the calls and the end of the reply: until then they are parsed and shown."""


class Clock:
    """The time, and the processor time of the main thread of each process, in seconds."""

    def __init__(self, processes: list[str]) -> None:
        self._schedules = [Path(f"/proc/{pid}/task/{pid}/schedstat") for pid in processes]

    def read(self) -> list[float]:
        """Return all; a processor time is 0 on a system that does not report it."""
        return [time.monotonic(), *map(_busy, self._schedules)]


def _busy(schedule: Path) -> float:
    return int(schedule.read_text().split()[0]) / 1e9 if schedule.exists() else 0.0


def play(
    server: ModelServer, clock: Clock, wanted: list[tuple[str, dict[str, Any]]]
) -> list[float]:
    """Serve a turn: a reply that requests the calls, then one that ends it; return the times."""
    requested, end, answered = threading.Event(), threading.Event(), threading.Event()
    finished: list[list[float]] = []

    def begin(request: Request) -> bool:
        requested.set()
        return True

    def finish(request: Request) -> bool:
        finished.append(clock.read())
        answered.set()
        return True

    parts = [
        Call(tool, json.dumps(given), f"c{n}", 1 << 20) for n, (tool, given) in enumerate(wanted)
    ]
    server.script(Reply((*parts, Hold(end)), finish="tool_calls"), when=begin)
    server.script(text("Done."), when=finish)
    requested.wait()
    time.sleep(PAUSE)
    began = clock.read()
    end.set()
    answered.wait()
    return [after - before for before, after in zip(began, finished[0], strict=True)]


def main() -> None:
    """Serve a turn for each line, until the standard input closes."""
    server, clock = ModelServer(), Clock(sys.argv[1:])
    print(server.url, flush=True)
    for line in sys.stdin:
        print(json.dumps(play(server, clock, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
