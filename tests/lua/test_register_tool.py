"""`register_tool` refuses what is no tool, and says what to change."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

REGISTER = """
local ok, problem = pcall(require('agentchat').register_tool, %s)
return ok and 'registered' or problem
"""
RUN = "run = function() end"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (f"{{ name = 'a_tool', {RUN} }}", "registered"),
        ("'a_tool'", "register_tool: the tool must be a table, got string"),
        (f"{{ {RUN} }}", "register_tool: name is missing"),
        ("{ name = 'a' }", "register_tool: run is missing: function(args, ctx) … end"),
        ("{ name = 'a', run = { RUN, RUN } }".replace("RUN", "function() end"), "registered"),
        ("{ name = 'a', run = {} }", "run must be a function or functions, got table"),
        (f"{{ name = 'a b', {RUN} }}", 'register_tool: "a b" is no name for a tool'),
        (f"{{ name = 'a', readonly = true, {RUN} }}", "unknown field readonly: did you mean"),
        (f"{{ name = 'a', timeout = 'x', {RUN} }}", "timeout must be a number, got string"),
        (f"{{ name = 'a', aliases = 'x', {RUN} }}", "aliases must be a list of strings"),
        (
            f"{{ name = 'a', require_approval_before = 1, {RUN} }}",
            "require_approval_before must be a boolean or function, got number",
        ),
        (
            f"{{ name = 'a', read_only = true, destructive = true, {RUN} }}",
            "a tool is read_only or destructive, not both",
        ),
        (
            f"{{ schema = {{ type = 'function', ['function'] = {{ name = 'b' }} }}, {RUN} }}",
            "registered",
        ),
    ],
)
def test_a_wrong_tool_is_refused_with_what_to_change(
    alone: Editor, spec: str, problem: str
) -> None:
    assert problem in alone.lua(REGISTER % spec)
