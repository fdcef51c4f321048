"""The check of settings, and the nearest known key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor

GOOD: dict[str, Any] = {
    "python": "/usr/bin/python3",
    "model": {"provider": "openai", "base_url": "http://x", "api_key_cmd": ["pass", "key"]},
    "tools": {
        "default": ["read", "files"],
        "paths": ["~/tools"],
        "max_parallel": 4,
        "always_load": ["word_count"],
        "groups": {"mine": {"tools": ["read"], "prompt": "p", "collapse": False}},
        "opts": {"bash": {"enabled": False, "system_prompt": "p"}},
    },
    "rules": [{"action": "deny", "tool": "bash"}],
    "mode": "plan",
    "ui": {"prompt_delay_ms": 250.5},
    "workspace": "ssh://dev@box.example:2222/srv/app",
    "ssh": {"command": ["ssh", "-F", "config"], "python": "/opt/bin/python3"},
}

BAD: list[tuple[Any, str]] = [
    ("yes", "g:agentchat must be a table, got string"),
    ([1, 2], "g:agentchat must be a table, got list"),
    ({"modle": {}}, "unknown setting g:agentchat.modle: did you mean model?"),
    ({"tools": {"def": []}}, "unknown setting g:agentchat.tools.def: did you mean default?"),
    (
        {"ui": {"delay": 1}},
        "unknown setting g:agentchat.ui.delay: known are conceal, height, position, prompt_delay",
    ),
    ({"model": {"temperature": 3}}, "g:agentchat.model.temperature must be at most 2, got 3"),
    ({"model": {"max_tokens": 0}}, "g:agentchat.model.max_tokens must be at least 1, got 0"),
    (
        {"model": {"params": ["a"]}},
        "g:agentchat.model.params must be a table of named values, got table",
    ),
    ({"model": "gpt"}, "g:agentchat.model must be a table, got string"),
    (
        {"ui": {"prompt_delay_ms": "soon"}},
        "g:agentchat.ui.prompt_delay_ms must be a number, got string",
    ),
    (
        {"budget": {"turn": 0}},
        "g:agentchat.budget.turn must be more than 0, got 0; leave it out for no limit",
    ),
    ({"budget": {"day": -1}}, "g:agentchat.budget.day must be more than 0, got -1"),
    ({"budget": {"chat": "5"}}, "g:agentchat.budget.chat must be a number of US dollars"),
    ({"budget": 5}, "g:agentchat.budget must be a table, got number"),
    ({"ui": {"prompt_delay_ms": -1}}, "g:agentchat.ui.prompt_delay_ms must be at least 0, got -1"),
    ({"mode": "aks"}, 'g:agentchat.mode must be one of ask, edit, plan, stage, yolo, got "aks"'),
    (
        {"workspace": "box:/srv"},
        "g:agentchat.workspace must be ssh://[user@]host[:port]/path or { kind = 'command'",
    ),
    (
        {"workspace": {"kind": "operations", "file": "memory.py"}},
        "g:agentchat.workspace must be ssh://[user@]host[:port]/path or { kind = 'command', "
        "run = { 'docker', 'exec', '-i', 'box' } } or { kind = 'operations', file = '/path",
    ),
    ({"workspace": "ssh://-oX/y"}, "g:agentchat.workspace must be ssh://[user@]host[:port]"),
    ({"workspace": "ssh://a:0/"}, "g:agentchat.workspace must be ssh://[user@]host[:port]/"),
    ({"ssh": {"comand": []}}, "unknown setting g:agentchat.ssh.comand: did you mean command?"),
    ({"tools": {"max_parallel": 1.5}}, "g:agentchat.tools.max_parallel must be a whole number"),
    ({"tools": {"default": ["a", 1]}}, "g:agentchat.tools.default must be a list of strings"),
    (
        {"tools": {"opts": {"bash": {"require_aproval_before": True}}}},
        "unknown setting g:agentchat.tools.opts.bash.require_aproval_before: did you mean",
    ),
    (
        {"tools": {"opts": {"bash": {"enabled": "no"}}}},
        "g:agentchat.tools.opts.bash.enabled must be true, false or a function, got string",
    ),
    ({"tools": {"opts": {"bash": True}}}, "g:agentchat.tools.opts.bash must be a table"),
    ({"tools": {"always_load": "read"}}, "g:agentchat.tools.always_load must be a list of strings"),
    ({"tools": {"default": "read"}}, "g:agentchat.tools.default must be a list of strings"),
    (
        {"tools": {"groups": {"mine": {"tolos": []}}}},
        "unknown setting g:agentchat.tools.groups.mine.tolos: did you mean tools?",
    ),
]


def check(editor: Editor, value: Any) -> tuple[Any, list[str]]:
    kept, problems = editor.lua(
        "return { require('agentchat.config.schema').check(..., 'g:agentchat') }", value
    )
    return kept, problems


def test_good_settings_are_kept_as_they_are(alone: Editor) -> None:
    assert check(alone, GOOD) == (GOOD, [])


@pytest.mark.parametrize(("value", "problem"), BAD, ids=[line[:50] for _, line in BAD])
def test_a_bad_setting_is_named(alone: Editor, value: Any, problem: str) -> None:
    _, problems = check(alone, value)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_the_rest_of_bad_settings_applies(alone: Editor) -> None:
    kept, problems = check(alone, {**GOOD, "mode": 3, "colour": "red"})
    assert len(problems) == 2
    assert kept == {key: value for key, value in GOOD.items() if key != "mode"}


def test_a_buffers_settings_override_the_global_ones(alone: Editor) -> None:
    alone.lua("vim.g.agentchat = { mode = 'edit', tools = { max_parallel = 3, default = {'a'} } }")
    alone.lua("vim.b.agentchat = { tools = { default = { 'b', 'c' } } }")
    settings = alone.lua("return require('agentchat.config.settings').get(0)")
    assert settings["mode"] == "edit"
    assert settings["tools"]["default"] == ["b", "c"]
    assert settings["tools"]["max_parallel"] == 3
    assert settings["tools"]["deferred_threshold"] == 15


def test_setup_adds_to_what_is_set(alone: Editor) -> None:
    alone.lua("vim.g.agentchat = { mode = 'edit', ui = { prompt_delay_ms = 1 } }")
    alone.lua("require('agentchat').setup({ mode = 'plan', model = { name = 'm' } })")
    assert alone.eval("g:agentchat") == {
        "mode": "plan", "ui": {"prompt_delay_ms": 1}, "model": {"name": "m"},
    }  # fmt: skip
