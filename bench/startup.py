"""The time to start and quit Neovim, with and without the plugin in turns."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from tests.support import launch

from bench.figures import Row, compare

RUNS = 25


def measure() -> list[Row]:
    """Start Neovim with nothing and with the plugin, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        env = launch.environment(Path(folder), {})
        extra = {"without": [], "with": ["--cmd", f"set runtimepath^={launch.CHECKOUT}"]}
        seconds: dict[str, list[float]] = {name: [] for name in extra}
        for _ in range(RUNS):
            for name, arguments in extra.items():
                seconds[name].append(_start_and_quit(arguments, env))
    return [compare("startup", "with the plugin / without", seconds["without"], seconds["with"])]


def _start_and_quit(arguments: list[str], env: dict[str, str]) -> float:
    before = time.perf_counter()
    command = [launch.neovim(), "--headless", "-u", "NORC", "-i", "NONE", *arguments, "+qa"]
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - before
