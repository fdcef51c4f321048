"""Stand in for `python -c CODE ARGUMENTS`: have the prefork server run it in a process of its own.

Run with the standard library only, by a small script that `prefork.py` writes. It hands its
standard streams over, passes signals on, and ends as the other process ends.
"""

import array
import marshal
import os
import signal
import socket
import sys

NEEDED = "pynvim.start_host()"
"""What the code of a host contains; anything else is run by Python itself."""

SERVER_LOST = 70
"""Exit code where the server ended before the host."""

FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Run the command line ``PYTHON SOCKET -c CODE ARGUMENTS``."""
    python, address, *arguments = sys.argv[1:]
    if arguments[:1] != ["-c"] or NEEDED not in arguments[1]:
        os.execv(python, [python, *arguments])
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(address)
    except OSError:  # the server has ended: a host that starts slowly is better than none
        os.execv(python, [python, *arguments])
    request(server, arguments)
    release_streams()
    for number in FORWARDED:
        signal.signal(number, lambda number, _: server.sendall(bytes([number])))
    status = server.recv(4)
    end_as(int.from_bytes(status, "big", signed=True) if status else SERVER_LOST)


def request(server: socket.socket, arguments: list[str]) -> None:
    """Send the command, its directory and environment, and the three standard streams."""
    body = marshal.dumps((os.getpid(), arguments, os.getcwd(), dict(os.environb)))
    streams = array.array("i", [0, 1, 2])
    size = len(body).to_bytes(4, "big")
    server.sendmsg([size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    server.sendall(body)


def release_streams() -> None:
    """Let go of the streams, so that only the other process keeps them open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def end_as(status: int) -> None:
    """End with an exit code, or by a signal if ``status`` is negative."""
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
