"""The help documents all that exists, and nothing that does not."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.permissions import sensitive_paths
from agentchat.core.tools.tool import Tool
from agentchat.models.providers import PROVIDERS
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS, BUILTINS
from tests.docs import offered
from tests.docs.page import HELP, index
from tests.support.launch import CHECKOUT, neovim

KINDS = (
    "commands", "maps", "chat keys", "approval keys", "review keys", "diff keys", "settings",
    "events", "functions", "highlight groups", "tools", "groups", "modes",
)  # fmt: skip
WHOLE = {
    "agentchat.txt", "agentchat", "agentchat.nvim", "agentchat-contents",
    "g:agentchat", "b:agentchat",
}  # fmt: skip
"""Tags of the page, the plugin and the settings as a whole."""

TYPES = {
    "string": "string",
    "place": "string|table",
    "boolean": "boolean",
    "switch": '"auto"|boolean',
    "number": "number",
    "integer": "integer",
    "strings": "string[]",
    "list": "table[]",
    "command": "string|string[]",
    "table": "table",
    "tables": "table<string, table>",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the Lua side offers."""
    return offered.lua_side(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The tags that Neovim finds; a tag that stands twice fails."""
    return index(tmp_path_factory.mktemp("doc"))


def options(schema: Mapping[str, Any]) -> dict[str, bool]:
    """The names in a schema, those of its parts included, and whether each may be left out."""
    required = set(schema.get("required", ()))
    found = {}
    for name, shape in schema.get("properties", {}).items():
        found[name] = name not in required
        found.update(options(shape.get("items", {})))
    return found


# --- tags -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_tag(kind: str, said: Mapping[str, Any], indexed: set[str]) -> None:
    expected = offered.tags(said)
    assert set(expected) == set(KINDS)
    assert expected[kind]
    assert sorted(expected[kind] - indexed) == []


def test_nothing_has_a_tag_that_does_not_exist(said: Mapping[str, Any], indexed: set[str]) -> None:
    known = set[str]().union(*offered.tags(said).values())
    assert sorted(indexed - known - HELP.contents - WHOLE) == []


def test_the_contents_name_chapters_that_exist(indexed: set[str]) -> None:
    assert HELP.contents
    assert sorted(HELP.contents - indexed) == []


def test_its_links_lead_somewhere() -> None:
    done = subprocess.run(
        [neovim(), "-l", "scripts/helptags.lua", "doc"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- what stands below a tag ------------------------------------------------------------------


@pytest.mark.parametrize("tool", BUILTINS, ids=lambda tool: str(tool.name))
def test_a_tool_is_documented_with_its_arguments(tool: Tool) -> None:
    text = HELP.sections[f"agentchat-tool-{tool.name}"]
    for name, optional in options(tool.arguments.schema()).items():
        assert f"{{{name}}}" in text
        assert (f"{{{name}}}?" in text) == optional, name
    for alias in tool.metadata.aliases:
        assert f"`{alias}`" in text


def test_a_group_is_documented_with_its_tools() -> None:
    there = [tool.name for tool in BUILTINS]
    for group in BUILTIN_GROUPS:
        text = HELP.sections[f"agentchat-group-{group.name}"]
        members = [name for name in group.tools if name in there]
        assert "All tools" in text or ", ".join(members) + "." in " ".join(text.split())


def test_a_setting_is_documented_with_its_type_and_default(said: Mapping[str, Any]) -> None:
    for path, shape in said["settings"].items():
        text = HELP.sections[f"g:agentchat.{path}"]
        allowed = shape.get("one_of")
        kind = "|".join(f'"{word}"' for word in allowed) if allowed else TYPES[shape["kind"]]
        default = shape.get("default")
        value = (default or "").replace('"', "'")
        ending = "" if default is None else f", default: `{value}`"
        assert f"{{{path}}}  ({kind}{ending})" in text, path


def test_a_group_of_the_user_is_documented_with_its_fields(said: Mapping[str, Any]) -> None:
    for path, names in said["inner"].items():
        text = HELP.sections[f"g:agentchat.{path}"]
        assert [name for name in names if f"• {{{name}}}" not in text] == []


def test_the_table_of_settings_is_complete(said: Mapping[str, Any]) -> None:
    table = HELP.sections["g:agentchat"]
    names = {path.rpartition(".")[2] for path in said["settings"]}
    assert sorted(name for name in names if f" {name} = " not in table) == []


def test_a_highlight_group_is_documented_with_its_link(said: Mapping[str, Any]) -> None:
    for name, link in said["highlights"].items():
        said_first = [name, link] if link else [name]
        assert HELP.sections[f"hl-{name}"].split()[: len(said_first)] == said_first


def test_servers_known_by_name_are_listed() -> None:
    text = HELP.sections["agentchat-openai"]
    for name, provider in PROVIDERS.items():
        key = f"${provider.key_variable}" if provider.key_variable else "-"
        assert f" {name} {key} {provider.base_url or '-'} " in " ".join(text.split())


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        (
            "agentchat-protected",
            {*sensitive_paths.PROTECTED_FOLDERS, *sensitive_paths.PROTECTED_FILES},
        ),
        ("agentchat-secrets", {*sensitive_paths.SECRET_FOLDERS, *sensitive_paths.SECRET_FILES}),
        ("agentchat-secrets", {"/".join(path) for path in sensitive_paths.SECRET_PATHS}),
    ],
)
def test_names_that_deserve_a_question_are_listed(tag: str, names: set[str]) -> None:
    words = HELP.sections[tag].replace(",", " ").split()
    assert sorted(names - set(words)) == []


# --- the page ---------------------------------------------------------------------------------


def test_lines_fit_on_a_page() -> None:
    lines = HELP.text.splitlines()
    assert [line for line in lines if len(line) > 78] == []
    assert [line for line in lines if line != line.rstrip() or "\t" in line] == []


def test_its_lua_examples_are_lua(tmp_path: Path) -> None:
    assert HELP.lua
    files = []
    for number, code in enumerate(HELP.lua):
        files.append(tmp_path / f"{number}.lua")
        files[-1].write_text(code, encoding="utf-8")
    done = subprocess.run(
        [neovim(), "-l", "scripts/syntax.lua", *map(str, files)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
