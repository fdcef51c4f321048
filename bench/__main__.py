"""Measure all figures, or those named: ``make bench ARGS='startup --json FILE'``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    caching,
    calls,
    gate,
    isolation,
    matching,
    mcp,
    models,
    opening,
    prompt,
    queue,
    reading,
    response,
    resume,
    review,
    stage,
    startup,
    tools,
)
from bench.figures import Row, table

FIGURES: dict[str, Callable[[], list[Row]]] = {
    "startup": startup.measure,
    "opening": opening.measure,
    "reading": reading.measure,
    "response": response.measure,
    "resume": resume.measure,
    "prompt": prompt.measure,
    "queue": queue.measure,
    "tools": tools.measure,
    "gate": gate.measure,
    "isolation": isolation.measure,
    "calls": calls.measure,
    "caching": caching.measure,
    "matching": matching.measure,
    "mcp": mcp.measure,
    "models": models.measure,
    "review": review.measure,
    "stage": stage.measure,
}


def main() -> int:
    """Print a table; write a file only if asked."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if unknown := set(options.figures) - set(FIGURES):
        parser.error(
            f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}"
        )
    rows = [row for name in options.figures or FIGURES for row in FIGURES[name]()]
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps([row.record() for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
