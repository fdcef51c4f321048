"""A process to be killed: ``python -m tests.faults.driver {make|recover} ROOT STATE``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.faults.ground import Reopened, make_it


async def main(what: str, root: Path, state: Path) -> None:
    """Make the change, or open the chat again."""
    if what == "make":
        await make_it(root, state)
    else:
        await Reopened(root, state).recover()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
