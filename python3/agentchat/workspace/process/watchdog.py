"""Ends the programs of a host that was killed itself, and so could not.

A small shell waits at the other end of a pipe. It is told which groups run; when the pipe
closes, whatever the reason, it kills those that are left.
"""

from __future__ import annotations

import atexit
import contextlib
import subprocess

SCRIPT = """
groups=
while read -r sign group; do
  kept=
  for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
  groups=$kept
  [ "$sign" = - ] || groups="$groups $group"
done
for one in $groups; do kill -s KILL -- "-$one"; done
"""


class Watchdog:
    """Knows the process groups that run; starts its shell with the first."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Kill this group when the host is gone."""
        self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Forget a group that is dead."""
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # without a keeper programs run all the same
            if self._shell is None or self._shell.poll() is not None:
                self._start()
            if self._shell is not None and self._shell.stdin is not None:
                self._shell.stdin.write(line.encode())

    def _start(self) -> None:
        self._shell = subprocess.Popen(
            ("/bin/sh", "-c", SCRIPT),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """Let the shell kill what is left, and end."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._shell.stdin.close()
                self._shell.wait(1)
            self._shell = None
