"""`make demo` without a terminal."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from scripts import nvim, playback


@pytest.mark.timeout(playback.LIMIT + 10)
def test_the_scripted_demo_reads_edits_renames_and_is_refused_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo"],
        cwd=nvim.ROOT,
        env={**os.environ, "OPENAI_BASE_URL": "http://127.0.0.1:9/none"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for said in [line.message for line in playback.SCRIPT]:
        assert said in done.stdout
    assert "+VAT = 20" in done.stdout
    assert "+def price_of(" in done.stdout
    assert "the tests stay" in done.stdout


def test_an_unknown_model_is_refused_with_the_name_of_the_known_one() -> None:
    command = [sys.executable, "-m", "scripts.demo", "gpt-9"]
    done = subprocess.run(command, cwd=nvim.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "agentchat: MODEL can be smollm2, not gpt-9\n"
