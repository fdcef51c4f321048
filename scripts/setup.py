"""Build `.venv` in the checkout: the host's packages, the test tools, a Neovim where none fits.

Run by `make setup` with any Python from 3.11 on; `--runtime` leaves the test tools out, which is
what the demo needs. A stamp holds the hashes of the requirement files and the interpreter's
version, so that a second run costs a fraction of a second. Each step is a line with its seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts import nvim

ROOT = nvim.ROOT
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "setup.stamp"
RUNTIME = ROOT / "requirements.txt"
DEVELOPMENT = ROOT / "requirements-dev.txt"
NEOVIM = ROOT / "requirements-neovim.txt"
CONTENTS = {
    RUNTIME: "the plugin's packages",
    DEVELOPMENT: "the tools for tests and checks",
    NEOVIM: "Neovim (the PATH has none from 0.11 on)",
}
"""What the requirement files have in them, for the user."""
VIRTUALENV = ROOT / ".tools" / "virtualenv"


class SetupError(Exception):
    """The setup failed; the message is one line that says what to do."""


def main() -> int:
    """Set up the checkout and return the exit code."""
    parser = argparse.ArgumentParser(prog="make setup")
    parser.add_argument("--exactly", action="store_true", help="insist on this interpreter")
    parser.add_argument("--runtime", action="store_true", help="without the test tools")
    options = parser.parse_args()
    files = [RUNTIME] if options.runtime else [RUNTIME, DEVELOPMENT]
    try:
        neovim = set_up(files, exactly=options.exactly)
    except SetupError as error:
        print(f"agentchat: {error}", file=sys.stderr)
        return 1
    number = ".".join(map(str, nvim.version(neovim)))
    report(f".venv is ready: {STAMP.read_text().splitlines()[0]}, Neovim {number}")
    return 0


def set_up(files: Sequence[Path], *, exactly: bool) -> str:
    """Bring `.venv` up to date with requirement files; return the path of the Neovim to use."""
    version = version_of(PYTHON)
    if version and exactly and version != version_of(Path(sys.executable)):
        report(f"rebuilding .venv: it has Python {version}")
        version = None
    if version is None or has_moved():
        build_venv()
        version = version_of(PYTHON)
    known = read_stamp(version)
    missing = [path for path in files if hash_line(path) not in known]
    neovim = nvim.find()
    if missing or neovim is None:
        install_packages([*missing, *([] if neovim else [NEOVIM])])
        others = [path for path in (RUNTIME, DEVELOPMENT) if hash_line(path) in known]
        STAMP.write_text(stamp(version, {*files, *others}))
    return neovim or packaged_neovim()


def has_moved(venv: Path = VENV) -> bool:
    """Tell whether `.venv` was moved, so that the scripts in it name a missing Python."""
    stamp = venv / STAMP.name
    return stamp.exists() and f"at {venv.resolve()}" not in stamp.read_text().splitlines()


def head(version: str | None) -> list[str]:
    """Return the lines of a stamp that say which `.venv` it is of."""
    return [f"Python {version}", f"at {VENV.resolve()}"]


def hash_line(path: Path) -> str:
    """Return the line of a stamp for a requirement file that is installed."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def stamp(version: str | None, files: set[Path]) -> str:
    """Return the stamp of a `.venv` with this Python, in which these files are installed."""
    return "\n".join([*head(version), *sorted(map(hash_line, files)), ""])


def read_stamp(version: str | None) -> list[str]:
    """Return the lines of the stamp; none if it is of another `.venv`."""
    lines = STAMP.read_text().splitlines() if STAMP.exists() else []
    return lines if lines[:2] == head(version) else []


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
    remove_venv()
    with step(f"building .venv with {sys.executable}"):
        done = run([sys.executable, "-m", "venv", str(VENV)], quiet=True)
    if not done:
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


def install_packages(files: Sequence[Path]) -> None:
    """Install requirement files, and compile the packages to bytecode."""
    with step(f"installing {', '.join(CONTENTS[path] for path in files)}"):
        if not (uv_install(files) or pip_install(files)):
            raise SetupError("pip failed (see above); is the package index reachable?")
    with step("compiling them"):
        compile_packages()


def packaged_neovim() -> str:
    """Return the path of the Neovim that was installed into `.venv`."""
    found = nvim.packaged()
    if found is None:
        raise SetupError(
            "the packaged Neovim does not start here; install Neovim 0.11 or newer, then try again"
        )
    return found


def uv_install(files: Sequence[Path]) -> bool:
    """Install requirement files with uv, which is faster than pip, where it is there and can.

    It does not know the settings of pip: where pip has some, pip is asked.
    """
    program = shutil.which("uv")
    if program is None or any(name.startswith("PIP_") for name in os.environ):
        return False
    command = [program, "pip", "install", "--quiet", "--python", str(PYTHON)]
    return run([*command, *_named(files)], quiet=True)


def pip_install(files: Sequence[Path]) -> bool:
    """Install requirement files into `.venv` with pip."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--no-compile"]
    return run([*command, "--disable-pip-version-check", *_named(files)])


def _named(files: Sequence[Path]) -> list[str]:
    return [part for path in files for part in ("-r", str(path))]


def compile_packages() -> None:
    """Compile `.venv` to bytecode; files that this Python cannot compile are skipped."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.check_output([PYTHON, "-c", code], text=True).strip()
    run([str(PYTHON), "-m", "compileall", "-qq", "-j", "0", folder], quiet=True)


def run(command: list[str], *, quiet: bool = False, **env: str) -> bool:
    """Run a command, without pip settings that would harm `.venv`; tell whether it succeeded.

    What it says is printed if it fails, unless that is to be ``quiet``.
    """
    clean = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", **env}
    clean.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        command, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0 and not quiet:
        print(f"\n{done.stdout}{done.stderr}", file=sys.stderr, flush=True)
    return done.returncode == 0


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is done, and once it is done its seconds on the same line."""
    print(f"agentchat: {what} …", end="", flush=True)
    began = time.monotonic()
    try:
        yield
    finally:
        print(f" {time.monotonic() - began:.1f} s", flush=True)


def report(text: str) -> None:
    """Print a message to the user."""
    print(f"agentchat: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
