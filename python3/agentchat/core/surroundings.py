"""Where a chat works, as far as its model and tools are told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a chat knows of where it works: ``date`` as ISO text, ``rules`` of the project.

    ``host`` is the machine, empty for the user's own.
    """

    cwd: str
    date: str = ""
    rules: str = ""
    host: str = ""
