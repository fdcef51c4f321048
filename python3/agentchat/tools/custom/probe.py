"""Imports files in a process of its own, to see that each comes to an end.

Reads a JSON list of ``[path, base64 of the content]`` and writes one JSON line when it is ready
and one per file: ``null``, or ``[line, text]`` of what is wrong with it.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

from agentchat.tools.custom.files import Source
from agentchat.tools.custom.importing import ImportProblem, import_source


def main() -> None:
    """Import what standard input names."""
    wanted = json.load(sys.stdin)
    # What a file prints goes nowhere; the answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    print('"ready"', file=answers, flush=True)
    for path, data in wanted:
        print(json.dumps(_answer(Path(path), data)), file=answers, flush=True)
    os._exit(0)  # threads that a file started are no reason to wait


def _answer(path: Path, data: str) -> list[object] | None:
    try:
        import_source(Source(path, base64.b64decode(data)))
    except ImportProblem as found:
        return [found.problem.line, found.problem.text]
    return None
