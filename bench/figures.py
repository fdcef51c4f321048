"""Figures of the bench: a measured value and the one it is compared with."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table; times are milliseconds, other units are named."""

    figure: str
    what: str
    base: float
    value: float
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        """The value as a multiple of the base."""
        return self.value / self.base if self.base else float("inf")

    def record(self) -> dict[str, float | str]:
        """Return the row for JSON."""
        return {**asdict(self), "ratio": round(self.ratio, 3)}


def compare(figure: str, what: str, base: Sequence[float], value: Sequence[float]) -> Row:
    """Compare the medians of two series of seconds."""
    return Row(figure, what, statistics.median(base) * 1e3, statistics.median(value) * 1e3)


def spread(figure: str, base: Sequence[float], value: Sequence[float], what: str = "") -> list[Row]:
    """Compare the middle, the 99th percentile and the worst of two series of seconds."""
    points = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)]
    return [
        Row(figure, f"{what}{name}", percentile(base, share) * 1e3, percentile(value, share) * 1e3)
        for name, share in points
    ]


def percentile(series: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of the series lies."""
    ordered = sorted(series)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text for a terminal."""
    lines = [f"{'':28}{'':34}{'base':>12}{'value':>12}{'ratio':>16}"]
    for row in rows:
        digits = 3 if row.unit == "ms" else 0
        numbers = f"{row.base:12.{digits}f}{row.value:12.{digits}f} {row.unit:6}{row.ratio:9.2f}"
        lines.append(f"{row.figure:28}{row.what:34}{numbers}")
    return "\n".join(lines)
