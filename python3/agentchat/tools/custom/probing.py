"""Finds out which files can be imported, without being held up or brought down by any."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentchat.tools.custom.files import Source
from agentchat.tools.custom.importing import Problem

START_SECONDS = 30.0
"""How long the process may take to come up, on a machine that is busy."""

IMPORT_SECONDS = 10.0
"""How long one file may take to be imported."""

PACKAGES = str(Path(__file__).resolve().parents[3])
BOOT = """
import os, sys, threading
def watch():
    os.read(int(sys.argv[1]), 1)
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
from agentchat.tools.custom.probe import main
main()
"""
"""Watches, before anything that takes time, a pipe that ends with the process that waits."""

ENVIRONMENT = {
    "PYTHONPATH": PACKAGES,
    # Both halve the time it takes to start.
    "PYTHONDONTWRITEBYTECODE": "",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}


def probe(sources: Sequence[Source], seconds: float = IMPORT_SECONDS) -> list[Problem]:
    """Return what is wrong with files, at most one problem each. Blocks; call it in a thread.

    A file that does not come to an end is given up, and the others are tried in a new process.
    """
    problems: list[Problem] = []
    left = list(sources)
    while left:
        answers = list(_answers(left, seconds))
        for source, answer in zip(left, answers, strict=False):
            if answer is not None:
                problems.append(Problem(source.path, *answer))
        left = left[len(answers) :]
    return problems


def _answers(sources: Sequence[Source], seconds: float) -> Iterator[tuple[int, str] | None]:
    """Yield an answer per file, up to and with the first that ended the process."""
    with _process(sources) as lines:
        try:
            lines.get(timeout=START_SECONDS)
            for _ in sources:
                line = lines.get(timeout=seconds)
                if not line:
                    yield 0, "it ends the process that imports it"
                    return
                said = json.loads(line)
                yield None if said is None else (int(said[0]), str(said[1]))
        except queue.Empty:
            yield 0, f"it is not imported within {seconds:g} s; is there an endless loop?"


@contextlib.contextmanager
def _process(sources: Sequence[Source]) -> Iterator[queue.Queue[bytes]]:
    """Start the probe in a process group of its own; all of it is gone afterwards."""
    wanted = [[str(s.path), base64.b64encode(s.data).decode()] for s in sources]
    lifeline, held = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", BOOT, str(lifeline)],
        pass_fds=(lifeline,),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=PACKAGES,
        env={**os.environ, **ENVIRONMENT},
        start_new_session=True,
    )
    os.close(lifeline)
    lines: queue.Queue[bytes] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(wanted).encode())
        yield lines
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(1.0)
        os.close(held)
        if process.stdout is not None:
            process.stdout.close()


def _read(process: subprocess.Popen[Any], lines: queue.Queue[bytes]) -> None:
    """Pass on the lines, then empty bytes for ever: there are no more."""
    assert process.stdout is not None
    with contextlib.suppress(ValueError):  # closed meanwhile
        for line in process.stdout:
            lines.put(line)
    for _ in range(2):
        lines.put(b"")
