"""Run the bench as a file: ``python bench/run.py`` is ``python -m bench`` from anywhere."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    runpy.run_module("bench", run_name="__main__")
