"""The Makefile, as a person meets it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts import nvim

PROGRAM = "#!/bin/sh\n{body}\n"


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the checkout."""
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=nvim.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, body: str) -> Path:
    """Write a shell script that can be run."""
    path.write_text(PROGRAM.format(body=body))
    path.chmod(0o755)
    return path


def test_help_lists_every_target_of_the_front_door() -> None:
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    assert {"setup", "demo", "test", "quick", "check", "bench", "help"} <= listed


def test_a_python_that_is_too_old_is_told_in_one_line(tmp_path: Path) -> None:
    old = program(tmp_path / "python", "exit 1")
    done = make("setup", f"PYTHON={old}")
    told = [line for line in done.stderr.splitlines() if line.startswith("agentchat: ")]
    assert done.returncode != 0
    assert len(told) == 1
    assert "no Python 3.11 or newer" in told[0]


def test_an_old_neovim_does_not_fit(tmp_path: Path) -> None:
    old = program(tmp_path / "nvim", "echo NVIM v0.9.5")
    assert nvim.version(str(old)) == (0, 9, 5)
    assert nvim.version(str(old)) < nvim.OLDEST


def test_a_development_version_counts_by_its_number(tmp_path: Path) -> None:
    new = program(tmp_path / "nvim", "echo NVIM v0.12.0-dev-1234+g0123456")
    assert nvim.version(str(new)) >= nvim.OLDEST


def test_a_neovim_that_does_not_start_fits_nowhere(tmp_path: Path) -> None:
    assert nvim.version(str(tmp_path / "missing")) < nvim.OLDEST
