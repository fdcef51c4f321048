"""The border between Python and Lua: one table of functions, the same on both sides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from agentchat.nvim import lua_api
from tests.support.editor import Editor

PACKAGE = Path(lua_api.__file__).parents[1]
RPC = "require('agentchat.host.rpc')"


def test_python_and_lua_hold_the_same_names(alone: Editor) -> None:
    offered = alone.lua(f"return vim.tbl_keys({RPC}.FUNCTIONS)")
    assert sorted(offered) == sorted(get_args(lua_api.LuaFunction))


def test_each_name_leads_to_a_function(alone: Editor) -> None:
    kinds = alone.lua(f"return vim.tbl_map(type, {RPC}.FUNCTIONS)")
    assert set(kinds.values()) == {"function"}


def test_python_names_no_other_module_of_lua() -> None:
    named = {
        path.name: found
        for path in PACKAGE.rglob("*.py")
        if (found := re.findall(r"require\(['\"](agentchat\.[\w.]+)", path.read_text("utf-8")))
    }
    assert {name for found in named.values() for name in found} == {"agentchat.host.rpc"}
    assert len(named) == 1


def test_an_error_in_a_call_nobody_waits_for_is_one_line(alone: Editor) -> None:
    alone.lua(f"{RPC}.call('page.show')")
    assert re.search("page.show failed: .", alone.wait_notice("page.show failed"))


def test_a_list_that_came_in_parts_takes_the_place_of_its_name_once(alone: Editor) -> None:
    alone.lua(f"{RPC}.FUNCTIONS['keep'] = function(table) _G.kept = table end")
    alone.lua(f"{RPC}.call('list.add', 'long', {{ 'a', 'b' }})")
    alone.lua(f"{RPC}.call('list.add', 'long', {{ 'c' }})")
    named = {"doc": {"lines": {"$list": "long"}, "title": None}}
    for lines in (["a", "b", "c"], {"$list": "long"}):
        alone.lua(f"{RPC}.call('keep', ...)", named)
        assert alone.lua("return _G.kept") == {"doc": {"lines": lines}}


def test_nulls_in_the_data_of_others_stay(alone: Editor) -> None:
    alone.lua(f"{RPC}.FUNCTIONS['keep'] = function(table) _G.kept = table end")
    given = {"details": {"a": None, "b": [1, None, {"c": None}]}, "extra": {"x": None}, "y": None}
    alone.lua(f"{RPC}.call('keep', ...)", given)
    kept = {name: value for name, value in given.items() if name != "y"}
    assert alone.lua("return _G.kept") == kept
