"""What is printed for an agent's configuration is what that agent reads."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat.mcp_server.command import main
from agentchat.mcp_server.configs import AGENTS, ServerCommand, configuration
from tests.support.launch import CHECKOUT

COMMAND = ServerCommand("/a dir/bin/agentchat", ("mcp", "--state", '/s "quoted"'))


def without_comment(text: str) -> Any:
    comment, _, rest = text.partition("\n")
    assert comment.startswith("// ")
    return json.loads(rest)


READERS: dict[str, Callable[[str], list[str]]] = {
    "claude": lambda text: shlex.split(text)[5:],
    "codex": lambda text: words(tomllib.loads(text)["mcp_servers"]["agentchat"]),
    "gemini": lambda text: words(without_comment(text)["mcpServers"]["agentchat"]),
    "opencode": lambda text: list(without_comment(text)["mcp"]["agentchat"]["command"]),
    "cursor": lambda text: words(without_comment(text)["mcpServers"]["agentchat"])[:-2],
}


def words(server: dict[str, Any]) -> list[str]:
    return [server["command"], *server["args"]]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_reads_the_command_word_by_word(agent: str) -> None:
    assert READERS[agent](configuration(agent, COMMAND)) == list(COMMAND.words)


def test_the_command_is_a_program_of_this_copy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "claude"]) == 0
    program = Path(shlex.split(capsys.readouterr().out)[5])
    assert program == CHECKOUT / "bin" / "agentchat"
    assert program.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--config", "emacs"], "claude, codex, gemini, opencode, cursor"),
        (["--project", "/no/such/folder"], "/no/such/folder is not a directory"),
    ],
)
def test_a_wrong_argument_is_named(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err.replace("'", "")
