"""Forked hosts: to Neovim, they are the interpreter with the command line it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import StartEditor
from tests.support import processes
from tests.support.chat import Chat
from tests.support.prefork import Prefork

HOST = "\n# pynvim.start_host()"
"""What marks code as that of a host, which is forked."""


def run(prefork: Prefork, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [prefork.python, "-c", code, *arguments]
    return subprocess.run(command, input="typed", capture_output=True, text=True, check=False)


def start(prefork: Prefork, code: str) -> subprocess.Popen[str]:
    """Start code that prints its pid, and wait until it has."""
    code = f"import os; print(os.getpid(), flush=True); {code}{HOST}"
    return subprocess.Popen([prefork.python, "-c", code], stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


def test_a_host_has_the_streams_arguments_directory_and_environment_of_its_command(
    prefork: Prefork, tmp_path: Path
) -> None:
    code = (
        "import json, os, sys;"
        "seen = [sys.stdin.read(), sys.argv, os.getcwd(), os.environ['HOST_TEST'], sys.executable];"
        "json.dump(seen, sys.stdout)"
    )
    done = subprocess.run(
        [prefork.python, "-c", code + HOST, "one", "two"],
        input="typed", capture_output=True, text=True, check=True,
        cwd=tmp_path, env={**os.environ, "HOST_TEST": "é"},
    )  # fmt: skip
    assert json.loads(done.stdout) == [
        "typed", ["-c", "one", "two"], str(tmp_path), "é", sys.executable
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('what is wrong')", 1, "what is wrong\n"),
        ("import atexit, os; atexit.register(os.write, 2, b'at exit')", 0, "at exit"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
    ],
)
def test_a_host_ends_as_a_python_would(
    prefork: Prefork, code: str, status: int, error: str
) -> None:
    done = run(prefork, code + HOST)
    assert done.returncode == status
    assert done.stderr.endswith(error)


def test_a_host_has_its_modules_loaded(prefork: Prefork) -> None:
    code = "import sys; sys.exit('pynvim' not in sys.modules)"
    assert run(prefork, code + HOST).returncode == 0
    assert run(prefork, code).returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_signal_ends_a_host(prefork: Prefork, number: signal.Signals) -> None:
    with start(prefork, "import time; time.sleep(60)") as process:
        pid = int(first_line(process))
        assert prefork.parents()[pid] == process.pid
        process.send_signal(number)
    assert process.returncode == -number
    assert processes.wait_gone([pid], 5) == {}


def test_no_host_outlives_the_server() -> None:
    prefork = Prefork()
    with start(prefork, "import time; time.sleep(60)") as process:
        pid = int(first_line(process))
        prefork.close()
    assert process.returncode != 0
    assert processes.wait_gone([pid], 5) == {}


@pytest.mark.skipif("AGENTCHAT_REAL_HOSTS" in os.environ, reason="no host is forked")
def test_the_host_of_a_scenario_is_forked_below_its_editor(
    prefork: Prefork, start_editor: StartEditor
) -> None:
    editor = start_editor()
    Chat.open(editor)
    pid = editor.wait_event("AgentHostStarted")["pid"]
    (host,) = [host for host, parent in prefork.parents().items() if parent == pid]
    assert editor.children() == [pid, host]
    assert editor.close() == {}
    assert prefork.parents() == {}
