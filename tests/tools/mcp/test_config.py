"""The configuration of MCP servers, from settings and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.tools.mcp.config import (
    ConfigError,
    ServerConfig,
    parse_file,
    parse_server,
    parse_settings,
)

FILE = Path("/p/.mcp.json")


def server(**fields: object) -> ServerConfig:
    return parse_server("s", {"command": "c", **fields}, "here", "/p")


def problems(text: str) -> list[str]:
    return [str(problem) for problem in parse_file(text.encode(), FILE, "/p").problems]


def test_a_file_with_comments_and_last_commas_is_read() -> None:
    text = """{
      // the tracker
      "mcpServers": {
        "tracker": { "url": "https://example.org/mcp", /* a "quoted" comment */ },
        "files": { "command": "npx", "args": ["-y", "a//b", "c,]"], },
      },
    }"""
    found = parse_file(text.encode(), FILE, "/p")
    assert found.problems == ()
    assert found.servers["tracker"].transport == "http"
    assert found.servers["files"].args == ("-y", "a//b", "c,]")
    assert found.servers["files"].place == "/p/.mcp.json:5"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n"mcpServers": {\n"a" {}\n}}', "/p/.mcp.json:3: not valid JSON"),
        ("[]", '/p/.mcp.json:1: it has no table "mcpServers"'),
        ('{"servers": {\n\n"a": {}}}', '/p/.mcp.json:3: a: needs either "command" or "url"'),
        ('{"servers": {"a": {"command": "c", "url": "u"}}}', "needs either"),
        ('{"servers": {"a": {"command": "c", "args": "x"}}}', "args must be a list of strings"),
        ('{"servers": {"a": {"command": "c", "env": [1]}}}', "env must be a table of strings"),
        ('{"servers": {"a": {"command": "c", "timeout": 0}}}', "timeout must be a number of sec"),
        ('{"servers": {"a": {"url": "ftp://x"}}}', "url must begin with https://"),
        ('{"servers": {"a__b": {"command": "c"}}}', "a name is up to 32 letters"),
        ('{"servers": {"a": {"command": "c", "type": "http"}}}', "type 'http' does not fit"),
        ('{"servers": 3}', "must be a table of servers by name"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_problem_names_file_and_line(text: str, problem: str) -> None:
    assert problem in "\n".join(problems(text))


def test_a_file_that_is_not_utf_8_is_a_problem() -> None:
    found = parse_file(b"\xff{}", FILE, "/p")
    assert [str(problem) for problem in found.problems] == ["/p/.mcp.json: it is not UTF-8"]


def test_the_rest_of_the_settings_applies_beside_a_wrong_server() -> None:
    found = parse_settings({"a": {"command": "c"}, "b": {}}, "/p")
    assert list(found.servers) == ["a"]
    assert str(found.problems[0]).startswith("g:agentchat.mcp.servers.b: b: needs either")


def test_variables_are_expanded_and_never_part_of_what_is_shown() -> None:
    config = server(
        args=["--key", "${KEY}", "${env:OTHER:-fallback}"], env={"TOKEN": "x${KEY}"}, cwd="sub"
    )
    expanded = config.expand({"KEY": "secret"})
    assert expanded.args == ("--key", "secret", "fallback")
    assert expanded.env == {"TOKEN": "xsecret"}
    assert expanded.cwd == "/p/sub"
    assert config.identity == "c --key ${KEY} ${env:OTHER:-fallback}"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match=r"\$\{MISSING\} is not set"):
        server(args=["${MISSING}"]).expand({})


def test_the_fingerprint_changes_with_what_the_server_is() -> None:
    one = server(args=["${KEY}"])
    prints = {
        one.expand({"KEY": "a"}).fingerprint,
        one.expand({"KEY": "b"}).fingerprint,
        server(args=["a"], cwd="x").expand({}).fingerprint,
    }
    assert len(prints) == 3
    assert server(args=["a"]).expand({}).fingerprint in prints
