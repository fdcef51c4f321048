"""Web addresses: their host in one canonical form, patterns of hosts, and which ones are local.

A host is compared label by label in the form that is connected to: lower case, ASCII (IDNA), no
final dot, addresses as the standard library writes them. What two programs could read differently
is refused instead of guessed: user names, backslashes, blanks, ``0x7f.1``, zone ids, ``ß``.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.text import clip

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_LONGEST_HOST = 253
_LONGEST_URL = 8_192
_AMBIGUOUS = frozenset("ßς\u200c\u200d")
"""Letters that the two versions of IDNA turn into different names."""

_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\\]")

_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NETWORKS = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32")))
"""Networks that the standard library calls global, but clouds use for their metadata."""

_LOCAL_SUFFIXES = ("localhost", "local", "internal", "home.arpa")
"""Endings of names that only mean something on this computer or in its network."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@frozen
class Url:
    """An http or https address; ``target`` is its path and query, as they are requested."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host, with the port unless it is the usual one."""
        return self.at(self.host)

    def at(self, host: str) -> str:
        """Return another host with the port of this address."""
        bracketed = f"[{host}]" if ":" in host else host
        return bracketed if self.port == _PORTS[self.scheme] else f"{bracketed}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Url:
    """Return an address; raises ToolError that says how to write it."""
    text = text.strip()
    try:
        parts = _split(text)
        host = canonical_host(parts.hostname or "")
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        if not port:
            raise ValueError("port 0 cannot be reached")
    except ValueError as error:
        raise ToolError(f"{clip(text)!r} is not an address to fetch: {error}.") from error
    query = f"?{parts.query}" if parts.query else ""
    return Url(scheme=parts.scheme, host=host, port=port, target=f"{parts.path or '/'}{query}")


def _split(text: str) -> SplitResult:
    if len(text) > _LONGEST_URL:
        raise ValueError(f"it is longer than {_LONGEST_URL:,} characters")
    if _UNSAFE.search(text):
        raise ValueError("it holds blanks, backslashes or control characters; percent-encode them")
    parts = urlsplit(text)
    if parts.scheme not in _PORTS or not parts.netloc:
        raise ValueError("it must begin with https:// or http:// and name a host")
    if "@" in parts.netloc:
        raise ValueError("it must not hold a user name or a password")
    if "[" in parts.netloc and ":" not in (parts.hostname or ""):
        raise ValueError("only an IPv6 address stands in brackets")
    return parts


@lru_cache(512)
def canonical_host(text: str) -> str:
    """Return a host name or address in the form that is compared and connected to.

    Raises:
        ValueError: it is none, or programs read it differently; the message is a clause.
    """
    if ":" in text:
        return _canonical_ipv6(text)
    if _AMBIGUOUS.intersection(text):
        raise ValueError(f"the host {clip(text)!r} must be written in its ASCII form xn--…")
    try:
        if len(text) > _LONGEST_HOST + 1:  # a long name takes IDNA a very long time
            raise UnicodeError
        host = text.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError as error:
        raise ValueError(f"{clip(text)!r} is not a host name") from error
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{clip(text)!r} is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        return _canonical_ipv4(host)
    return host


def _canonical_ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise ValueError(f"{clip(text)!r} is not an IPv6 address") from error
    if address.scope_id:
        raise ValueError("an IPv6 address must not have a zone")
    return str(address.ipv4_mapped or address)


def _canonical_ipv4(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        reason = "an IPv4 address must be four decimal numbers like 192.0.2.1"
        raise ValueError(f"{reason}, not {clip(text)!r}") from error


# --- patterns -----------------------------------------------------------------------------------


def canonical_pattern(text: str) -> str:
    """Return a pattern of hosts in the form that is compared; raises UserError.

    ``python.org`` is that host, ``*.python.org`` every host below it, ``*`` every host; with
    ``:8000`` at the end only that port.
    """
    lead = next((lead for lead in ("*.", "*") if text.startswith(lead)), "")
    host, colon, port = _split_port(text.removeprefix(lead))
    try:
        if colon and not (port.isdecimal() and 0 < int(port) < 65536):
            raise ValueError(f"{clip(port)!r} is not a port")
        bare = lead == "*" and not host
        host = "" if bare else canonical_host(host)
        if lead and (lead == "*" or is_address(host)) and not bare:
            raise ValueError("* must be all of it, or stand for the first labels as in *.a.org")
    except ValueError as error:
        usage = 'write it like "docs.python.org", "*.python.org" or "127.0.0.1:8000"'
        raise UserError(f"host {clip(text)!r} cannot be matched: {error}; {usage}.") from error
    bracketed = f"[{host}]" if ":" in host else host
    return f"{lead}{bracketed}{colon}{port}"


def _split_port(text: str) -> tuple[str, str, str]:
    """Return host, colon and port; an IPv6 address is in brackets or has no port."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest[:1], rest[1:]
    if text.count(":") > 1:
        return text, "", ""
    return text.partition(":")


def matches_host(pattern: str, url: Url) -> bool:
    """Whether a canonical pattern matches the host, and the port if it has one."""
    name, _, port = _split_port(pattern)
    if port and int(port) != url.port:
        return False
    if name == "*":
        return True
    if name.startswith("*."):
        return url.host.endswith(name[1:]) and not is_address(url.host)
    return name == url.host


def names_host(pattern: str, url: Url) -> bool:
    """Whether a canonical pattern is exactly this host, without ``*``."""
    return "*" not in pattern and matches_host(pattern, url)


# --- local hosts --------------------------------------------------------------------------------


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address."""
    return _address(host) is not None


def is_local(host: str) -> bool:
    """Whether a host is known, without resolving it, to be no public one."""
    address = _address(host)
    if address is not None:
        return not is_public(address)
    ending = host.rpartition(".")
    return not ending[1] or any(
        host == suffix or host.endswith(f".{suffix}") for suffix in _LOCAL_SUFFIXES
    )


def is_public(address: Address) -> bool:
    """Whether an address is one of the internet, not of this computer, its network or its cloud."""
    if isinstance(address, ipaddress.IPv4Address):
        listed = any(address in network for network in _LOCAL_NETWORKS)
        return address.is_global and not address.is_multicast and not listed
    embedded = address.ipv4_mapped
    if embedded is None and address in _NAT64:
        embedded = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if embedded is not None:
        return is_public(embedded)
    return address in _GLOBAL_IPV6 and address.is_global and address.sixtofour is None


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
