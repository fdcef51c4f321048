"""Hosts of web addresses: what they are, which patterns match them, which are local."""

from __future__ import annotations

import ipaddress

import pytest

from agentchat.core.errors import ToolError, UserError
from agentchat.core.urls import (
    canonical_pattern,
    is_local,
    is_public,
    matches_host,
    names_host,
    parse_url,
)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://docs.python.org/3/", "https://docs.python.org/3/"),
        ("https://DOCS.Python.ORG", "https://docs.python.org/"),
        ("  https://python.org/a?b=c#d  ", "https://python.org/a?b=c"),
        ("https://python.org./", "https://python.org/"),
        ("https://python.org:443/", "https://python.org/"),
        ("https://python.org:8443/", "https://python.org:8443/"),
        ("http://python.org:80", "http://python.org/"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://ｐython。org/", "https://python.org/"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
        ("http://[::FFFF:127.0.0.1]/", "http://127.0.0.1/"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ],
)
def test_an_address_has_one_canonical_form(text: str, url: str) -> None:
    assert str(parse_url(text)) == url


@pytest.mark.parametrize(
    "text",
    [
        "python.org",
        "ftp://python.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:python.org",
        "https:///python.org",
        "https://",
        "https://python.org@evil.example/",
        "https://user:secret@python.org/",
        "https://evil.example\\@python.org/",
        "https://evil.example\\.python.org/",
        "https://python.org\t.evil.example/",
        "https://py thon.org/",
        "https://python.org\r\nHost: evil.example/",
        "https://a..b/",
        "https://.python.org/",
        "https://-a.example/",
        "https://%65vil.example/",
        "https://python.org:0/",
        "https://python.org:99999/",
        "https://python.org:x/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1.5/",
        "http://[fe80::1%25eth0]/",
        "http://[::1/",
        "http://[v1.x]/",
        "https://faß.example/",
        "https://py\u200dthon.org/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/",
        f"https://{'ü' * 8_000}.example/",
        f"https://a.example/{'a' * 9_000}",
    ],
)
def test_an_address_that_programs_could_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="is not an address to fetch"):
        parse_url(text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("python.org", "https://python.org/", True),
        ("Python.ORG.", "https://PYTHON.org./", True),
        ("python.org", "http://python.org:8080/", True),
        ("python.org", "https://docs.python.org/", False),
        ("*.python.org", "https://docs.python.org/", True),
        ("*.python.org", "https://a.b.python.org/", True),
        ("*.python.org", "https://python.org/", False),
        ("*.python.org", "https://python.org.evil.example/", False),
        ("*.python.org", "https://evilpython.org/", False),
        ("*.python.org", "https://docs.python.org.evil.example/", False),
        ("*.python.org", "https://evil.example/docs.python.org", False),
        ("*.python.org", "https://evil.example/?https://docs.python.org", False),
        ("*.python.org", "https://evil.example#.python.org", False),
        ("python.org", "https://python-org.example/", False),
        ("bücher.example", "https://xn--bcher-kva.example/", True),
        ("*.xn--bcher-kva.example", "https://a.BÜCHER.example/", True),
        ("python.org:8443", "https://python.org:8443/", True),
        ("python.org:8443", "https://python.org/", False),
        ("*.python.org:443", "https://docs.python.org/", True),
        ("127.0.0.1", "http://127.0.0.1:9000/", True),
        ("127.0.0.1:8000", "http://127.0.0.1:9000/", False),
        ("::1", "http://[::1]/", True),
        ("[::1]:8000", "http://[0:0::1]:8000/", True),
        ("::ffff:10.0.0.1", "http://10.0.0.1/", True),
        ("*", "https://anything.example/", True),
        ("*", "http://10.0.0.1/", True),
        ("*:8000", "http://python.org:8000/", True),
        ("*:8000", "http://python.org/", False),
    ],
)
def test_hosts_match_by_labels(pattern: str, text: str, matches: bool) -> None:
    assert matches_host(canonical_pattern(pattern), parse_url(text)) is matches


REFUSED_PATTERNS = """
https://python.org python.org/3 a@python.org py*.org *python.org *.*.org ** *. *.127.0.0.1
python.org: python.org:x 127.1 *.0.0.1
"""


@pytest.mark.parametrize("pattern", REFUSED_PATTERNS.split())
def test_a_pattern_that_cannot_match_is_refused_with_an_example(pattern: str) -> None:
    with pytest.raises(UserError, match=r"host .* cannot be matched: .*\*\.python\.org"):
        canonical_pattern(pattern)


def test_only_a_pattern_without_a_star_names_a_host() -> None:
    url = parse_url("http://127.0.0.1:8000/")
    assert names_host(canonical_pattern("127.0.0.1"), url)
    assert names_host(canonical_pattern("127.0.0.1:8000"), url)
    assert not names_host(canonical_pattern("*"), url)


NOT_PUBLIC = """
127.0.0.1 127.8.8.8 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
100.100.100.200 192.0.0.192 168.63.129.16 198.18.0.1 224.0.0.1 255.255.255.255 240.0.0.1
:: ::1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1
2002:7f00:1:: fec0::1 2001::1 ::127.0.0.1 2001:db8::1
"""


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_an_address_of_this_computer_network_or_cloud_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "151.101.0.223", "2606:4700::1", "64:ff9b::808:808"]
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("printer", True),
        ("printer.local", True),
        ("metadata.google.internal", True),
        ("10.0.0.1", True),
        ("::1", True),
        ("python.org", False),
        ("localhost.example", False),
        ("1.1.1.1", False),
    ],
)
def test_some_hosts_are_local_without_being_resolved(host: str, local: bool) -> None:
    assert is_local(host) is local
