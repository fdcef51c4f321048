"""The screen at the plugin's main moments, compared with what it was when a person looked at it.

After a wanted change: ``make test ARGS='tests/scenarios/test_screens.py --snapshot-update'``, and
look at the pictures of ``python -m scripts.screenshot``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import StartEditor, connected
from tests.support import project
from tests.support.model_server import ModelServer
from tests.support.scenes import SCENES

SIZES = [(120, 40), (80, 24)]


@pytest.fixture
def workspace() -> Iterator[Path]:
    """The project in a folder whose path is equally long everywhere: paths move what follows."""
    root = Path("/tmp").resolve()
    with tempfile.TemporaryDirectory(dir=root, prefix="a" * (25 - len(str(root)))) as folder:
        yield project.build(Path(folder) / "project")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", ["chat", "command", "diff", "review"])
def test_the_screen_is_as_it_was(
    start_editor: StartEditor,
    model_server: ModelServer,
    workspace: Path,
    snapshot: SnapshotAssertion,
    scene: str,
    size: tuple[int, int],
) -> None:
    editor = start_editor(env=connected(model_server), size=size)
    SCENES[scene](editor, model_server)
    screen = "\n".join(editor.screen())
    name = workspace.parent.name
    assert screen.replace(name, "folder".ljust(len(name), "-")) == snapshot


@pytest.mark.parametrize("scene", ["answer", "attached"])
def test_the_parts_of_the_screen_have_their_groups(
    start_editor: StartEditor, model_server: ModelServer, snapshot: SnapshotAssertion, scene: str
) -> None:
    editor = start_editor(env=connected(model_server), size=(90, 45))
    SCENES[scene](editor, model_server)
    column = editor.eval("win_screenpos(0)[1]") - 1
    rows = [
        " ".join(f"{text} <{group}>" for text, group in row) for row in editor.grid.spans(column)
    ]
    assert "\n".join(row for row in rows if not row.startswith("~")) == snapshot
