"""A workspace that reads from the middle of a file."""

from __future__ import annotations

from typing import Protocol


class Ranged(Protocol):
    """What all workspaces here can do."""

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return at most ``limit`` bytes from ``start``; raises OSError."""
