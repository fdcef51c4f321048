"""What is swept where a chat works."""

from __future__ import annotations

import os
from pathlib import Path

from agentchat.editor.site import Site
from agentchat.workspace.local import LocalWorkspace


def test_what_a_killed_process_left_beside_a_file_is_swept(tmp_path: Path) -> None:
    dead = tmp_path / "src" / ".agentchat-999999999-0123456789abcdef.tmp"
    mine = tmp_path / "src" / f".agentchat-{os.getpid()}-0123456789abcdef.tmp"
    for path in (dead, mine):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    local = LocalWorkspace(str(tmp_path))
    site = Site(local, local.confinement, local.root)
    site.sweep([str(tmp_path / "src/a.py"), str(tmp_path / "gone/b.py")])
    assert (dead.exists(), mine.exists()) == (False, True)
