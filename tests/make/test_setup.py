"""The set-up of the checkout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
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


def test_what_is_installed_is_told_by_the_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "STAMP", tmp_path / "setup.stamp")
    setup.STAMP.write_text(setup.stamp("3.12.1", {setup.RUNTIME}))
    known = setup.read_stamp("3.12.1")
    assert setup.hash_line(setup.RUNTIME) in known
    assert setup.hash_line(setup.DEVELOPMENT) not in known
    assert setup.read_stamp("3.13.0") == []


def test_a_step_is_a_line_with_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with setup.step("building it"):
        assert capsys.readouterr().out == "agentchat: building it …"
    assert re.fullmatch(r" \d+\.\d s\n", capsys.readouterr().out)
