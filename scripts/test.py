"""Run the tests: `python -m scripts.test JOBS [PYTEST ARGUMENTS]`, as `make test` does."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts import nvim

MOST_JOBS = 8


def main() -> int:
    """Run pytest with JOBS processes and print the result in one line."""
    jobs, *rest = sys.argv[1:]
    if jobs == "auto":
        jobs = str(min(os.cpu_count() or 1, MOST_JOBS))
    command = [sys.executable, "-m", "pytest", "-n", jobs, "--dist", "loadgroup", *rest]
    status = subprocess.run(
        command, cwd=nvim.ROOT, stdin=subprocess.DEVNULL, check=False
    ).returncode
    print(
        "==== tests: passed ====" if status == 0 else f"==== tests: FAILED (pytest {status}) ===="
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
