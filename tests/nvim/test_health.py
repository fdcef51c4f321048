"""What ``:checkhealth`` is told of the model, the rules, MCP servers and the sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from agentchat.core.workspace import SandboxSetting
from agentchat.nvim.health import main, model_lines, stage_line


def checked(
    capsys: pytest.CaptureFixture[str], root: Path, settings: dict[str, Any], **more: Any
) -> dict[str, list[list[str]]]:
    names = ("config", "trust", "state")
    folders = {"root": str(root), **{name: str(root / name) for name in names}}
    main(json.dumps({"settings": settings, **folders, **more}))
    parts: dict[str, list[list[str]]] = json.loads(capsys.readouterr().out)
    return parts


@pytest.mark.parametrize(
    ("settings", "environ", "level", "said"),
    [
        ({}, {}, "info", "the built-in offline model"),
        ({"provider": "ollama", "name": "q"}, {}, "ok", "q at http://127.0.0.1:11434/v1"),
        ({"provider": "groq", "name": "q"}, {"GROQ_API_KEY": "k"}, "ok", "q at https://api.groq"),
        ({"provider": "groq", "name": "q"}, {"OPENAI_API_KEY": "k"}, "error", "$GROQ_API_KEY"),
        ({"provider": "olama"}, {}, "error", "Did you mean 'ollama'?"),
    ],
)
def test_the_model_of_new_chats_is_named_or_what_it_lacks(
    settings: dict[str, Any], environ: dict[str, str], level: str, said: str
) -> None:
    (line,) = model_lines(settings, environ)
    assert line[0] == level
    assert said in line[1]


def test_what_cannot_be_read_of_the_rules_is_named_wherever_it_stands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / ".agentchat/rules.json"
    file.parent.mkdir()
    file.write_text('{ "version": 1,\n "rules": [ } }')
    said = checked(capsys, tmp_path, {"rules": [{"action": "alow"}]})["rules"]
    assert [level for level, _ in said] == ["error", "error"]
    assert said[0][1].startswith("g:agentchat.rules[1]: ")
    assert said[1][1].startswith(".agentchat/rules.json:2: ")


def test_rules_that_wait_for_trust_are_told_and_the_others_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / ".agentchat/rules.json"
    file.parent.mkdir()
    file.write_text('{ "version": 1, "rules": [ { "action": "allow", "tool": "bash" } ] }')
    said = checked(capsys, tmp_path, {"rules": [{"action": "deny", "tool": "bash"}]})["rules"]
    assert [level for level, _ in said] == ["warn", "ok"]
    assert ":AgentApprovals trust" in said[0][1]
    assert said[1][1] == "1 in force here"


def test_each_mcp_server_is_told_with_what_keeps_it_from_starting(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    servers = {
        "good": {"command": sys.executable, "args": ["-V"]},
        "off": {"url": "https://docs.example/mcp", "disabled": True},
        "missing": {"command": "no-such-program"},
        "unset": {"command": "${NO_SUCH_VARIABLE}"},
        "both": {"command": "a", "url": "https://b.example"},
    }
    (tmp_path / ".mcp.json").write_text('{ "mcpServers": {} }')
    said = checked(capsys, tmp_path, {"mcp": {"servers": servers}})["mcp"]
    assert said == [
        ["error", 'g:agentchat.mcp.servers.both: both: needs either "command" or "url", a string.'],
        ["warn", f"not trusted, so not used: {tmp_path}/.mcp.json. Run :AgentMcp trust"],
        ["ok", f"good: {sys.executable} -V"],
        ["info", "off: https://docs.example/mcp (disabled)"],
        ["error", "g:agentchat.mcp.servers.missing: missing: no-such-program does not exist"],
        [
            "error",
            "g:agentchat.mcp.servers.unset: unset: ${NO_SUCH_VARIABLE} is not set: "
            "set it in the environment of Neovim.",
        ],
    ]


def test_the_state_of_an_mcp_server_is_shown_if_it_was_started(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": ["-V"]}
    live = {
        "a": {"state": "running", "tools": 1, "problem": ""},
        "b": {"state": "failed", "tools": 1, "problem": "MCP server b ended (exit 1): no luck."},
        "c": {"state": "starting", "tools": 0, "problem": ""},
        "d": {"state": "stopped", "tools": 0, "problem": ""},
    }
    settings = {"mcp": {"servers": dict.fromkeys(live, server)}}
    identity = f"{sys.executable} -V"
    assert checked(capsys, tmp_path, settings, servers=live)["mcp"] == [
        ["ok", f"a: {identity} (running, 1 tool)"],
        ["error", f"b: {identity}: MCP server b ended (exit 1): no luck. See :AgentMcp log b"],
        ["info", f"c: {identity} (starting)"],
        ["ok", f"d: {identity}"],
    ]


def test_a_project_without_mcp_servers_is_told_where_to_read_about_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = checked(capsys, tmp_path, {})["mcp"]
    assert said == [["info", "none configured; see :help agentchat-mcp"]]


@pytest.mark.parametrize("wanted", get_args(SandboxSetting))
def test_the_sandbox_is_told_whatever_was_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, wanted: str
) -> None:
    ((level, said),) = checked(capsys, tmp_path, {"sandbox": wanted})["sandbox"]
    assert level in {"info", "ok", "warn", "error"}
    assert said.startswith((f"{wanted}; ", f"{wanted}: ", "the setting requires"))


async def test_whether_stage_mode_works_is_told_and_why_not(tmp_path: Path) -> None:
    level, text = await stage_line(str(tmp_path), tmp_path / "state")
    assert level == "warn"
    assert "contains the state folder of the plugin" in text
    (tmp_path / "project").mkdir()
    level, text = await stage_line(str(tmp_path / "project"), tmp_path / "state")
    assert (level, "overlays work" in text) in (("ok", True), ("warn", False))
    assert not (tmp_path / "state/overlay").exists() or not any(
        (tmp_path / "state/overlay").iterdir()
    )
