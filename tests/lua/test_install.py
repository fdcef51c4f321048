"""`:AgentInstall` in a Neovim without a screen, against interpreters that only pretend."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import launch

PYTHON = """\
#!/bin/sh
echo "$(basename "$0") $*" >> '{log}'
case "$*" in
  "-c import sys"*) echo {version} ;;
  "-m venv "*) {venv}
    for last; do :; done
    mkdir -p "$last/bin" && cp "$0" "$last/bin/python" ;;
  "-m pip --version") {has_pip} ;;
  *"install"*) {pip} ;;
esac
"""


@dataclass
class Machine:
    """A computer with the Pythons a test gives it."""

    home: Path

    def python(
        self,
        name: str,
        version: str,
        *,
        venv: str = "",
        pip: str = "exit 0",
        has_pip: str = "exit 0",
    ) -> None:
        """Put an interpreter on the PATH; what it does at each step is shell."""
        path = self.home / "bin" / name
        log = self.home / "log"
        path.write_text(
            PYTHON.format(log=log, version=version, venv=venv, pip=pip, has_pip=has_pip)
        )
        path.chmod(0o755)

    def install(self) -> tuple[int, str]:
        """Run the command as a script would; return its exit code and what it said."""
        env = launch.environment(self.home, {"PATH": f"{self.home}/bin:/usr/bin:/bin"})
        init = launch.init_file(self.home, {})
        done = subprocess.run(
            [launch.neovim(), "--headless", "-u", init, "-i", "NONE", "+AgentInstall", "+qa"],
            env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def ran(self) -> list[str]:
        """What the interpreters were told to do."""
        log = self.home / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose own Pythons are hidden by ones that do not run."""
    machine = Machine(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"):
        broken = tmp_path / "bin" / name
        broken.write_text("#!/bin/sh\nexit 9\n")
        broken.chmod(0o755)
    return machine


def test_the_newest_python_makes_the_environment(machine: Machine) -> None:
    machine.python("python3.12", "3.12")
    machine.python("python3", "3.11")
    code, said = machine.install()
    assert code == 0, said
    assert "Python 3.12" in said
    assert "the Python environment is ready" in said
    assert (machine.home / "data" / "nvim" / "agentchat" / "venv" / "bin" / "python").exists()
    installs = [line for line in machine.ran() if "requirements.txt" in line]
    assert len(installs) == 1
    assert installs[0].startswith("python -m pip install")


def test_an_environment_that_is_there_is_brought_up_to_date(machine: Machine) -> None:
    machine.python("python3", "3.11")
    machine.install()
    machine.install()
    assert len([line for line in machine.ran() if "-m venv" in line]) == 1
    assert len([line for line in machine.ran() if "requirements.txt" in line]) == 2


def test_a_system_without_ensurepip_uses_the_outer_pip(machine: Machine) -> None:
    machine.python("python3", "3.11", venv='case "$*" in *without-pip*) ;; *) exit 1 ;; esac')
    code, said = machine.install()
    assert code == 0, said
    assert any("-m pip --python" in line for line in machine.ran())


def test_no_python_that_is_new_enough_is_one_line(machine: Machine) -> None:
    machine.python("python3", "3.10")
    code, said = machine.install()
    assert code != 0
    assert "Python 3.11 or newer is needed (found 3.10)" in said
    assert "stack traceback" not in said


def test_packages_that_cannot_be_had_are_one_line(machine: Machine) -> None:
    machine.python("python3", "3.11", pip="echo 'ERROR: No matching distribution' >&2; exit 1")
    code, said = machine.install()
    assert code != 0
    assert "installing packages failed: ERROR: No matching distribution" in said
    assert "stack traceback" not in said
