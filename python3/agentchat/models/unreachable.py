"""Why a server could not be reached, and whether it may be reached soon."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentchat.models.receiving import Limits, silent


@dataclass(frozen=True, slots=True)
class Unreachable:
    """``line`` is for the user and ends in what to do; ``passing``: trying again may help."""

    short: str
    line: str
    passing: bool = True


def unreachable(error: BaseException, url: str, limits: Limits) -> Unreachable:
    """Find out from a connection error and its causes what is wrong."""
    chain = list(_causes(error))
    names = " ".join(type(cause).__name__ for cause in chain)
    if any(isinstance(cause, socket.gaierror) for cause in chain) or "not known" in str(chain):
        host = urlsplit(url).hostname
        return Unreachable(
            f"The host {host} is not found",
            f"The host {host} is not found. Check base_url ({url}) and the network.",
        )
    if any(isinstance(cause, ssl.SSLError) for cause in chain) or "CERTIFICATE" in str(chain):
        return Unreachable(
            "No secure connection",
            f"No secure connection to {url}: {chain[-1]}. Check whether it is http or https.",
            passing=False,
        )
    if "ConnectTimeout" in names:
        return Unreachable(
            "No connection in time",
            f"No connection to {url} within {limits.connect:g} s. Check base_url and the network.",
        )
    if "Timeout" in names:
        return Unreachable("No answer", silent("nothing", limits.byte_idle), passing=False)
    if "ConnectError" in names:
        return Unreachable("No connection", f"Cannot connect to {url}. Is the server running?")
    return Unreachable(
        "The connection broke",
        f"The connection to {url} broke before an answer came. Look at the server's log.",
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
