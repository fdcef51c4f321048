"""Where a chat works, as far as its model and tools are told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a chat knows of where it works: ``date`` as ISO text, ``rules`` of the project."""

    cwd: str
    date: str = ""
    rules: str = ""
