"""Editors to measure: the plugin with its default settings, on a small project."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support import project
from tests.support.editor import Editor


@contextlib.contextmanager
def bench_editor(url: str | None = None) -> Iterator[Editor]:
    """An editor with the model server at ``url``, or without one."""
    env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench"} if url else {}
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "project"
        editor = Editor(
            home, project.build(workspace), settings={"python": sys.executable}, env=env
        )
        try:
            yield editor
        finally:
            editor.close()
