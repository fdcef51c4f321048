"""The set-up of the checkout."""

from __future__ import annotations

from pathlib import Path

from scripts import setup


def test_a_linked_environment_is_used_and_a_moved_one_is_not(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "setup.stamp").write_text(f"Python 3.12.1\nat {venv}\n")
    link = tmp_path / "link"
    link.symlink_to(venv)
    assert not setup.has_moved(venv)
    assert not setup.has_moved(link)
    assert setup.has_moved(venv.rename(tmp_path / "moved"))
