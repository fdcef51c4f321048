"""A process to be killed: ``python -m tests.faults.driver WHAT ROOT STATE``.

WHAT is ``make`` or ``recover``, or one of two writers that are no good: the tests must tell.
"""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.ground import Reopened, make_it, the_change


async def main(what: str, root: Path, state: Path) -> None:
    """Make the change, or open the chat again."""
    # In one thread the calls of two runs have the same numbers.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    if what == "make":
        await make_it(root, state)
    elif what == "recover":
        await Reopened(root, state).recover()
    else:
        for file in the_change(root).parts:
            if file.before is not None and file.after is not None:
                BROKEN[what](Path(file.path), file.after)


def in_place(path: Path, data: bytes) -> None:
    """Lose the file for a moment."""
    with open(path, "wb", buffering=0) as file:
        file.write(data)


def undressed(path: Path, data: bytes) -> None:
    """Lose what the file has beside its bytes."""
    beside = path.with_suffix(".new")
    in_place(beside, data)
    os.replace(beside, path)


BROKEN = {"in place": in_place, "undressed": undressed}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
