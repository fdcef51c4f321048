"""A working directory for one thread, so that ``open("notes.txt")`` means the workspace's.

Linux and macOS can give a thread a directory of its own. Where that is forbidden, as in some
containers, the directory of the whole process moves, and calls for another one wait.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agentchat.core.errors import ToolError

CLONE_FS = 0x200
WAIT_SECONDS = 10.0

_TURN = threading.Condition()
_moved: list[str] = []
_home = ""


@contextmanager
def inside(folder: str) -> Iterator[None]:
    """Work in ``folder``; for a thread that does nothing else afterwards.

    Raises ToolError if the folder is gone.
    """
    if not os.path.isdir(folder):
        raise ToolError(f"Working directory not found: {folder}. Nothing was run.")
    if _alone(folder):
        yield
        return
    _enter(folder)
    try:
        yield
    finally:
        _leave()


def _alone(folder: str) -> bool:
    """Give this thread a working directory of its own; return whether that worked."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        change = getattr(libc, "pthread_chdir_np", None)
        return change is not None and change(os.fsencode(folder)) == 0
    unshare = getattr(libc, "unshare", None)
    if unshare is None or unshare(CLONE_FS) != 0:
        return False
    os.chdir(folder)
    return True


def _enter(folder: str) -> None:
    global _home
    with _TURN:
        if not _TURN.wait_for(lambda: set(_moved) <= {folder}, WAIT_SECONDS):
            raise ToolError(f"A tool of another chat is at work in {_moved[0]}. Try again later.")
        if not _moved:
            _home = os.getcwd()
            os.chdir(folder)
        _moved.append(folder)


def _leave() -> None:
    with _TURN:
        _moved.pop()
        if not _moved:
            os.chdir(_home)
        _TURN.notify_all()
