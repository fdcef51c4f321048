"""Editors to measure: the plugin with its default settings, on a small project."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import project
from tests.support.editor import Editor


@contextlib.contextmanager
def bench_editor(url: str | None = None, **settings: Any) -> Iterator[Editor]:
    """An editor with the model server at ``url``, or without one, and more settings."""
    env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench"} if url else {}
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "project"
        more = {"python": sys.executable, **settings}
        editor = Editor(home, project.build(workspace), settings=more, env=env)
        try:
            yield editor
        finally:
            editor.close()
