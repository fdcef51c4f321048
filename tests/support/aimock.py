"""A model server that somebody else wrote: aimock from npm, which speaks all five protocols.

It is fetched into `.tools` when it is first needed; without npm its tests are skipped.
"""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scripts import tools

LISTENING = "listening on "


@dataclass(frozen=True)
class Aimock:
    """A running server."""

    url: str

    def newest_request(self) -> dict[str, Any]:
        """The newest request for an answer, as it was understood: in the form of OpenAI's."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal") as page:
            journal = json.load(page)
        bodies = [entry["body"] for entry in journal if entry["method"] == "POST"]
        return dict(bodies[-1])


@contextmanager
def serving(fixtures: list[dict[str, Any]], folder: Path) -> Iterator[Aimock]:
    """Serve answers on loopback; ``fixtures`` are aimock's, the file of them is in ``folder``."""
    program = tools.aimock()
    if program is None:
        pytest.skip("aimock cannot be fetched: install node and npm (the registry must answer)")
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    command = ["node", str(program), "-p", "0", "-f", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        try:
            lines = (line for line in server.stdout if LISTENING in line)
            yield Aimock(next(lines).partition(LISTENING)[2].strip())
        finally:
            server.kill()
