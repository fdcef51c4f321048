"""The check of the help."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts import nvim


def check(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Check a help folder with one page."""
    (folder / "page.txt").write_text(text)
    neovim = nvim.find()
    assert neovim is not None
    return subprocess.run(
        [neovim, "-l", "scripts/helptags.lua", str(folder)],
        cwd=nvim.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_links_to_own_and_to_neovims_tags_are_fine(tmp_path: Path) -> None:
    done = check(
        tmp_path, "*agentchat-tag*\n\nSee |agentchat-tag| and |:write|; a || b is no link.\n"
    )
    assert done.returncode == 0, done.stderr


def test_a_tag_that_stands_twice_fails(tmp_path: Path) -> None:
    done = check(tmp_path, "*agentchat-tag*\n\n*agentchat-tag*\n")
    assert done.returncode == 1
    assert "Duplicate tag" in done.stderr


def test_a_link_to_nowhere_fails_with_its_place(tmp_path: Path) -> None:
    done = check(tmp_path, "*agentchat-tag*\n\nSee |agentchat-nowhere|.\n")
    assert done.returncode == 1
    assert "page.txt:3: no help tag |agentchat-nowhere|" in done.stderr
