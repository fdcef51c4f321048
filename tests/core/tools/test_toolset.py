"""Names, aliases, groups and mentions: what a chat may call and what the model is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.errors import UserError
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.tools.mentions import read_mentions
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.tool import Capability, Environment, Metadata, Tool, ToolOptions
from agentchat.core.tools.toolset import Toolset, search_tools
from agentchat.core.turn.chat import Chat
from tests.core.turn.world import RESOLVE, a_chat, a_tool

READ = a_tool("read", metadata=Metadata(aliases=("read_file",)), snippet="Read a file")
BASH = a_tool("bash", snippet="Run a command", guidelines=("Say what a command does.",))
GREP = a_tool("grep", snippet="Search", guidelines=("Say what a command does.",))
FILES = Group("files", ("read", "grep", "unknown"))
EMPTY = Group("empty", ("unknown",))


def a_toolset(*given: str) -> Toolset:
    return Toolset(Registry([READ, BASH, GREP, RESOLVE]), [FILES, EMPTY], given)


def test_a_tool_answers_to_its_alias_until_it_is_unregistered() -> None:
    registry = Registry([READ])
    assert registry.get("read_file") is READ
    assert registry.unregister("read")
    assert registry.get("read_file") is None
    assert not registry.unregister("read")


@pytest.mark.parametrize("name", ["read", "read_file"])
def test_a_name_is_taken_once_and_both_owners_are_named(name: str) -> None:
    with pytest.raises(UserError, match=rf'"{name}" of {name} is taken by read'):
        Registry([READ, a_tool(name)])


def test_what_a_registry_knows() -> None:
    registry = Registry([READ, BASH])
    assert registry.all() == (READ, BASH)
    assert registry.filter(["bash", "nothing", "read_file", "read"]) == (BASH, READ)


def test_a_chat_has_the_tools_of_what_it_was_given_each_once() -> None:
    assert [t.name for t in a_toolset("files", "read", "files").tools()] == ["read", "grep"]


def test_a_tool_is_called_by_name_or_alias_only_if_it_was_given() -> None:
    toolset = a_toolset("read")
    assert toolset.find("read_file") is READ
    assert toolset.find("Read") is None
    assert toolset.find("bash") is None
    assert toolset.unknown_tool_message("bash") == 'Tool "bash" not found. Available tools: read.'


def test_hidden_tools_are_never_listed_given_or_mentioned() -> None:
    toolset = a_toolset("resolve")
    assert toolset.tools() == ()
    assert RESOLVE not in toolset.all_tools()
    assert read_mentions("@resolve", toolset).names == ()
    assert toolset.find("resolve") is RESOLVE


def test_a_group_without_a_known_tool_is_not_offered() -> None:
    assert [group.name for group in a_toolset().groups()] == ["files"]


@pytest.mark.parametrize(
    ("typed", "read", "names"),
    [
        ("use @read now", "use the read tool now", ("read",)),
        ("@{read}ing with @files.", "the read tooling with the files tools.", ("read", "files")),
        ("mail a@read and @@read", "mail a@read and @@read", ()),
        ("@reader @empty @{nope}", "@reader @empty @{nope}", ()),
        ("@read @read", "the read tool the read tool", ("read",)),
        ("@read, then @bash.", "the read tool, then the bash tool.", ("read", "bash")),
    ],
)
def test_mentions_become_words_and_unknown_ones_stay(
    typed: str, read: str, names: tuple[str, ...]
) -> None:
    mentioned = read_mentions(typed, a_toolset())
    assert (mentioned.text, mentioned.names) == (read, names)


def test_a_groups_prompt_stands_for_its_mention_and_a_tool_comes_before_a_group() -> None:
    groups = [Group("mine", ("read",), prompt="my readers"), Group("bash", ("read",))]
    toolset = Toolset(Registry([READ, BASH]), groups, [])
    assert read_mentions("@mine and @bash", toolset).text == "my readers and the bash tool"


def test_the_system_prompt_speaks_of_the_active_tools_only() -> None:
    said = system_prompt([READ, BASH, GREP], [], Environment("/ws", "2026-01-02", "Use tabs."))
    assert "- read: Read a file\n- bash: Run a command" in said
    assert said.count("Say what a command does.") == 1
    assert "Prefer grep" in said
    assert "/ws" in said
    assert "2026-01-02" in said
    assert "Use tabs." in said
    alone = system_prompt([BASH], [], Environment("/ws"))
    assert "grep" not in alone


def test_a_group_can_replace_the_default_system_prompt() -> None:
    own = Group("g", (), system_prompt="You are a poet.", replace_system_prompt=True)
    said = system_prompt([READ], [own], Environment("/ws"))
    assert said.startswith("You are a poet.")
    assert "Available tools" not in said


def many(count: int) -> list[Tool]:
    return [a_tool(f"extra_{n}", always_load=False) for n in range(count)]


FINDER = a_tool("tool_search", hidden=True)


def a_large_toolset(count: int, **about: Any) -> Toolset:
    tools = [READ, *many(count)]
    names = [tool.name for tool in tools]
    return Toolset(Registry([*tools, FINDER]), [], names, **about)


def offered(toolset: Toolset) -> list[str]:
    return [tool.name for tool in toolset.offered()]


@pytest.mark.parametrize(("count", "wanted", "deferred"), [(14, 0, 0), (15, 0, 15), (5, 3, 5)])
def test_above_the_threshold_only_always_loaded_tools_are_sent(
    count: int, wanted: int, deferred: int
) -> None:
    toolset = a_large_toolset(count, deferred_threshold=wanted)
    assert len(toolset.deferred()) == deferred
    assert ("tool_search" in offered(toolset)) == (deferred > 0)
    assert "read" in offered(toolset)


def test_a_search_activates_what_it_finds_in_this_chat_only() -> None:
    toolset, other = a_large_toolset(20), a_large_toolset(20)
    assert toolset.search("extra 7")[0].name == "extra_7"
    assert "extra_7" in offered(toolset)
    assert "extra_7" not in offered(other)


def test_names_can_be_loaded_always() -> None:
    assert offered(a_large_toolset(20, always_load=["extra_3"])) == [
        "read",
        "extra_3",
        "tool_search",
    ]


def test_an_alias_names_what_is_loaded_always() -> None:
    hidden = a_tool("hidden_one", always_load=False, metadata=Metadata(aliases=("shy",)))
    tools = [hidden, *many(20)]
    names = [tool.name for tool in tools]
    toolset = Toolset(Registry(tools), [], names, always_load=["shy"])
    assert offered(toolset) == ["hidden_one"]


def test_of_equal_tools_a_search_finds_the_safer_first() -> None:
    capabilities = {"wipe_a": Capability(), "wipe_b": Capability(dry_run=True)}
    tools = [a_tool(name, capability=capability) for name, capability in capabilities.items()]
    assert [tool.name for tool in search_tools(tools, "wipe")] == ["wipe_b", "wipe_a"]


def test_a_search_weighs_name_before_hint_before_description() -> None:
    named = a_tool("deploy")
    hinted = a_tool("ship", metadata=Metadata(search_hint="deploy it"))
    told = replace(a_tool("send"), description="Can deploy too")
    found = search_tools([told, a_tool("other"), hinted, named], "deploy")
    assert [tool.name for tool in found] == ["deploy", "ship", "send"]
    assert search_tools([named], "") == ()


# --- taking back, and what tools and groups tell the model --------------------------------------


def test_a_tool_that_is_removed_is_gone_from_its_groups_until_it_is_given_again() -> None:
    toolset = a_toolset("files")
    assert toolset.remove("read_file")
    assert toolset.tools() == (GREP,)
    assert toolset.find("read") is None
    assert not toolset.remove("read")
    toolset.add("files")
    assert toolset.tools() == (READ, GREP)


def test_a_group_that_is_removed_leaves_what_was_given_by_itself() -> None:
    toolset = a_toolset("files", "grep")
    assert toolset.remove("files")
    assert toolset.tools() == (GREP,)
    assert not toolset.remove("files")
    assert not toolset.remove("nothing")


def test_a_group_is_one_line_of_context_or_one_for_each_tool() -> None:
    wide = replace(FILES, name="wide", collapse=False)
    toolset = Toolset(Registry([READ, BASH, GREP]), [FILES, wide], [])
    assert toolset.context_lines("files") == ("files",)
    assert toolset.context_lines("wide") == ("read", "grep")
    assert toolset.context_lines("read_file") == ("read",)


LOUD = replace(BASH, name="loud", system_prompt="Mind the loud tool.")
QUIET = Group("quiet", ("loud",), system_prompt="Be quiet.", ignore_tool_prompts=True)


@pytest.mark.parametrize(
    ("given", "heard"),
    [(["loud"], True), (["quiet"], False), (["quiet", "loud"], True), (["read"], False)],
)
def test_a_tools_own_prompt_is_told_unless_all_its_groups_ignore_it(
    given: list[str], heard: bool
) -> None:
    toolset = Toolset(Registry([READ, LOUD]), [QUIET], given)
    said = Chat("c", toolset, Environment("/ws")).request().system
    assert ("Mind the loud tool." in said) == heard
    assert ("Be quiet." in said) == ("quiet" in given)


def test_the_users_prompt_of_a_tool_replaces_its_own() -> None:
    chat = Chat("c", Toolset(Registry([READ, LOUD]), [], ["loud", "read"]), Environment("/ws"))
    options = {"loud": ToolOptions(system_prompt="Quietly."), "read": ToolOptions(system_prompt="")}
    chat.toolset.configure(options)
    system = chat.request().system
    assert "Quietly." in system
    assert "Mind the loud tool." not in system


def test_names_in_the_settings_that_do_not_exist_are_told_with_the_nearest_that_does() -> None:
    given = ["files", "raed", "read_file", "fils", "resolve"]
    toolset = Toolset(Registry([READ, RESOLVE]), [FILES], given, always_load=["rea", "qqq"])
    toolset.configure({"read": ToolOptions(enabled=False), "bash": ToolOptions()})
    assert toolset.unknown_names() == (
        'g:agentchat.tools.default names "fils", which does not exist: did you mean files?',
        'g:agentchat.tools.default names "raed", which does not exist: did you mean read?',
        'g:agentchat.tools.always_load names "qqq", which does not exist',
        'g:agentchat.tools.always_load names "rea", which does not exist: did you mean read?',
        'g:agentchat.tools.opts names "bash", which does not exist',
    )


def test_a_disabled_tool_is_neither_offered_nor_found_nor_mentioned_but_keeps_its_name() -> None:
    registry = Registry([READ, BASH, RESOLVE])
    toolset = Toolset(registry, [FILES], ["files", "bash"])
    disabled = ToolOptions(enabled=False)
    toolset.configure({"read_file": disabled, "resolve": disabled, "raed": disabled})
    assert toolset.find("read") is None
    assert [tool.name for tool in toolset.offered()] == ["bash"]
    assert not toolset.can_be_mentioned("read")
    assert not toolset.can_be_mentioned("files")
    assert toolset.find("resolve") is not None
    with pytest.raises(UserError):
        registry.register(a_tool("read"))
    toolset.configure({})
    assert toolset.find("read") == READ


def test_options_hold_for_a_tool_that_is_registered_later() -> None:
    registry = Registry()
    toolset = Toolset(registry, [], ["late"])
    toolset.configure({"late": ToolOptions(enabled=False)})
    registry.register(a_tool("late"))
    assert toolset.tools() == ()


def test_a_mode_changes_nothing_before_the_tail_of_a_request() -> None:
    look = replace(READ, metadata=Metadata(read_only=True))
    toolset = Toolset(Registry([look, BASH]), [], ["read", "bash"])
    chat = Chat("c", toolset, Environment("/ws"), Policy(Grants(), "plan"))
    planning = chat.request()
    assert planning.forbidden == {"bash"}
    chat.policy.mode = "ask"
    asking = chat.request()
    assert asking.forbidden == frozenset()
    assert (planning.tools, planning.system) == (asking.tools, asking.system)


def test_tools_with_a_dry_run_come_first_and_what_is_added_moves_nothing() -> None:
    dry = Capability(dry_run=True)
    edit, write = a_tool("edit", capability=dry), a_tool("write", capability=dry)
    toolset = Toolset(Registry([READ, BASH, edit, write, FINDER]), [], ["read", "edit"])
    assert offered(toolset) == ["edit", "read"]
    toolset.add("bash")
    toolset.add("write")
    assert offered(toolset) == ["edit", "read", "bash", "write"]
    again = Toolset(Registry([READ, BASH, edit, write]), [], ["read", "edit"])
    again.restore(toolset.selection())
    assert offered(again) == offered(toolset)


def test_what_a_search_finds_is_appended_and_the_system_prompt_stays() -> None:
    tools = [READ, FINDER, *(replace(tool, snippet="S") for tool in many(16))]
    toolset = Toolset(Registry(tools), [], [tool.name for tool in tools if not tool.hidden])
    chat = Chat("c", toolset, Environment("/ws"))
    before = chat.request()
    toolset.search("7")
    toolset.search("9")
    after = chat.request()
    assert offered(toolset) == ["read", "tool_search", "extra_7", "extra_9"]
    assert before.tools == after.tools[:2]
    assert (before.system, before.catalogue) == (after.system, after.catalogue)


def test_a_chat_gets_back_what_it_had_even_if_it_is_known_later() -> None:
    first = a_large_toolset(20)
    first.add("extra_3")
    first.remove("extra_4")
    registry = Registry([READ, FINDER])
    again = Toolset(registry, [], ["read"])
    again.restore(first.selection())
    for tool in many(20):
        registry.register(tool)
    assert offered(again) == offered(first) == ["read", "extra_3", "tool_search"]
    assert [tool.name for tool in again.tools()] == [tool.name for tool in first.tools()]


def test_a_description_may_depend_on_the_chat_and_changes_no_definition() -> None:
    tool = a_tool("where", describe=lambda around: f"Work in {around.cwd}.")
    chat = a_chat(tool)
    sent = chat.request().tools[0]
    assert sent.description == f"Work in {chat.environment.cwd}."
    assert tool.description == "where"
    assert chat.toolset.find("where") is tool
