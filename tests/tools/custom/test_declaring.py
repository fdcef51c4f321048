"""``@tool``: what a function's hints, docstring and options make of it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import agentchat
from agentchat import Context, Result, ToolError, tool
from agentchat.core.errors import DefinitionError
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.tool import ArgumentError, Environment, Metadata
from agentchat.tools.custom.declaration.definition import definition_of
from agentchat.tools.custom.declaration.template import parse, parse_words
from tests.tools.custom.making import declared, made


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return declared(tool(description="d")(function)).parameters.schema()


def test_hints_make_the_schema_and_the_docstring_the_description() -> None:
    @tool(read_only=True)
    def word_count(path: str, most: int = 5) -> str:
        """Count the words in a file.

        A word is what blanks surround.

        Args:
            path: the file,
                relative to the workspace
            most (int): how many at most

        Returns:
            the number
        """
        return ""

    found = declared(word_count)
    assert found.spec.name == "word_count"
    assert found.spec.description.startswith("Count the words in a file.\n\nA word is")
    assert "Args" not in found.spec.description
    assert found.parameters.schema() == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file, relative to the workspace"},
            "most": {"type": "integer", "description": "how many at most", "default": 5},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_a_label_a_snippet_and_a_prompt_of_its_own_reach_the_system_prompt(tmp_path: Path) -> None:
    found = made(
        tmp_path, lambda path: "", name="count", label="Word count",
        prompt_snippet="Counts words", system_prompt="Count before you answer.",
    )  # fmt: skip
    text = system_prompt([found], [], Environment("/ws"))
    assert "- count: Counts words\n" in text
    assert "Count before you answer." in text
    assert found.full_name == "Word count (count)"
    assert found.title({"path": "a"}) == 'Word count path="a"'
    assert "Count before" not in system_prompt([found], [], Environment("/ws"), {"count"})


def test_the_function_stays_what_it_was() -> None:
    @tool
    def double(n: int) -> int:
        """Double."""
        return 2 * n

    assert double(4) == 8


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (str | None, {"type": "string"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Annotated[str, "which one"], {"type": "string", "description": "which one"}),
        (Annotated[int, Field(ge=1)], {"type": "integer", "minimum": 1}),
        (Colour, {"type": "string", "enum": ["red"]}),
        (Path, {"type": "string", "format": "path"}),
        (Any, {}),
    ],
    ids=str,
)
def test_each_kind_of_hint_has_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": hint}
    found = schema_of(function)["properties"]["value"]
    assert {k: v for k, v in found.items() if k != "const"} == schema


def test_arguments_arrive_as_the_hints_say() -> None:
    def function(
        n: int, colour: Colour, where: Path, at: Point, json: str = "", copy: int | None = None
    ) -> None: ...

    given = {"n": 3.0, "colour": "red", "where": "/tmp", "at": {"x": 1}, "json": "j"}
    found = declared(tool(description="d")(function)).parameters.parse(given)
    assert found == {
        "n": 3, "colour": Colour.RED, "where": Path("/tmp"), "at": Point(1), "json": "j",
        "copy": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, ("n", "Field required")),
        ({"n": "3"}, ("n", "Input should be a valid integer")),
        ({"n": 1, "m": 2}, ("m", "Extra inputs are not permitted")),
        ({"n": 1, "items": [{"x": "a"}]}, ("items[0].x", "Input should be a valid integer")),
    ],
)
def test_arguments_that_do_not_fit_are_named(
    given: dict[str, Any], problem: tuple[str, str]
) -> None:
    def function(n: int, items: list[Point] = []) -> None: ...  # noqa: B006

    with pytest.raises(ArgumentError) as caught:
        declared(tool(description="d")(function)).parameters.parse(given)
    assert caught.value.problems == (problem,)


def test_a_context_is_no_argument_of_the_model() -> None:
    def function(ctx: Context, a: str, more: Context | None = None) -> None: ...

    assert list(schema_of(function)["properties"]) == ["a"]


def test_undeclared_natures_are_the_cautious_ones(tmp_path: Path) -> None:
    def function() -> None:
        """Do."""

    found = made(tmp_path, function, require_approval_before=None)
    assert found.metadata == Metadata(permission_class="custom")
    assert found.asks is None
    assert found.capability.safety_level == 0
    assert not found.always_load


def test_without_a_docstring_the_name_is_the_description() -> None:
    @tool(name="wc")
    def count_words(path: str) -> None: ...

    found = definition_of(count_words)
    assert found is not None
    assert found.spec.description == "Count words"


def test_options_reach_the_tool(tmp_path: Path) -> None:
    def function(a: str, b: str = "") -> None: ...

    found = made(
        tmp_path, function,
        name="other", description="What it does.\nAt length.", aliases=["o"], search_hint="hint",
        always_load=True, concurrency_safe=True, destructive=True, min_confidence=70,
        requires_checkpoint=True, requires_reverse_thinking=True, timeout=3, setup_once=True,
        require_approval_before=True, dry_run=lambda a: a, undo=lambda a: a, setup=lambda: None,
        on_exit=lambda: None, guidelines="Use it well.", reads="a", writes=["b"], urls="a",
    )  # fmt: skip
    assert found.name == "other"
    assert found.metadata.aliases == ("o",)
    assert found.metadata.search_hint == "hint"
    assert found.metadata.destructive
    assert found.metadata.requires_checkpoint
    assert found.metadata.requires_reverse_thinking
    assert (found.capability.safety_level, found.capability.min_confidence) == (2, 70)
    assert found.capability.reversible
    assert (found.timeout, found.hooks.once, found.asks, found.always_load) == (3, True, True, True)
    touched = found.touches({"a": "x", "b": ""})
    assert (touched.reads, touched.writes, touched.urls) == (("x",), ("",), ("x",))
    said = system_prompt([found], [], Environment("/ws"))
    assert "- other: What it does.\n" in said
    assert "- Use it well." in said


def splat(*paths: str) -> None:
    """Take many."""


def unknown_hint(a: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take something."""


def callback(a: Callable[[], None]) -> None:
    """Take a function."""


def plain(path: str) -> None:
    """Take a path."""


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (splat, {}, r"\*paths has no schema"),
        (unknown_hint, {}, "Missing"),
        (callback, {}, "no schema"),
        (plain, {"name": "two words"}, "no name for a tool"),
        (plain, {"aliases": ["a b"]}, "no name for a tool"),
        (plain, {"aliases": 3}, "aliases: Input should be a valid string"),
        (plain, {"timeout": "5"}, "timeout: Input should be a valid number"),
        (plain, {"timeout": 0}, "timeout: Input should be greater than 0"),
        (
            plain,
            {"min_confidence": 101},
            "min_confidence: .* less than or equal to 100",
        ),
        (plain, {"read_only": "yes"}, "read_only: Input should be a valid boolean"),
        (plain, {"read_only": True, "destructive": True}, "not both"),
        (plain, {"reads": "file"}, "file is no argument"),
        (plain, {"dry_run": 3}, "dry_run: Input should be callable"),
        (plain, {"setup": lambda path, other: None}, "a parameter other"),
        (plain, {"redo": lambda path: None}, "define undo, too"),
        (
            plain,
            {"require_approval_before": 1},
            "require_approval_before: .* a valid bool",
        ),
        (plain, {"flag": "tests"}, "flag is for tools with a command"),
        (plain, {"colour": "red"}, "colour"),
        (plain, {"command": []}, "command: "),
        (plain, {"command": ["wc", "{file}"]}, r"\{file\} is no argument"),
        (plain, {"command": 3}, "command: Input should be a valid string"),
    ],
)
def test_a_wrong_declaration_says_what_to_change(
    function: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        tool(**options)(function)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"restore": lambda saved, path, more: None}, "restore has a parameter more"),
    ],
)
def test_a_wrong_checkpoint_says_what_to_change(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        agentchat.checkpoint(**options)(lambda tool: tool)


def test_something_that_is_no_function_is_refused() -> None:
    with pytest.raises(DefinitionError, match="not before int"):
        tool(3)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("command", "filled"),
    [
        ("wc -w {path}", "wc -w 'a b'"),
        ("echo ${HOME} {path}", "echo ${HOME} 'a b'"),
        ("awk '{print}' {path}", "awk '{print}' 'a b'"),
        ("ls {many}", "ls x ''\"'\"''"),
        ("ls {nothing} -l", "ls  -l"),
        ("head -n {n} {flag}", "head -n 3 true"),
        ("echo '{' {path}", "echo '{' 'a b'"),
        ('echo "in $HOME: {path}!" {n}', 'echo "in $HOME: "' + "'a b'" + '"!" 3'),
        ("grep -c '{path}' f", "grep -c " + "''" + "'a b'" + "'' f"),
        ("printf %s 'it'\\''s' {path} # of 'course", "printf %s 'it'\\''s' 'a b' # of 'course"),
    ],
)
def test_an_argument_is_one_word_of_the_command(command: str, filled: str) -> None:
    given = {"path": "a b", "many": ["x", "'"], "nothing": None, "n": 3, "flag": True}
    assert parse(command, tuple(given)).fill(given) == filled


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (["wc", "-w", "{path}"], "wc -w 'a b' "),
        (["my tool", "--in={path}.txt", ""], "'my tool' --in='a b'.txt '' "),
        (["ls", "{many}", "{nothing}"], "ls x ''\"'\"''  "),
        (["echo", "$HOME; rm", "${path}"], "echo '$HOME; rm' '$''a b' "),
    ],
)
def test_a_list_is_a_program_and_its_arguments(words: list[str], filled: str) -> None:
    given = {"path": "a b", "many": ["x", "'"], "nothing": None}
    assert parse_words(words, tuple(given)).fill(given) == filled


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("wc {file}", r"\{file\} is no argument; there are: path"),
        ("sh -c 'wc {path}'", "in single quotes: write it bare"),
        ('psql -c "select {path}"', "in double quotes"),
        ("awk '/{path}/'", "in single quotes"),
        ('echo "$(wc {path})"', "in double quotes"),
        ('echo "${HOME:-{path}}"', "in double quotes"),
        ("echo $'a' {path}", "do not go together"),
        ("true # {path}", "in a comment"),
        ("echo `cat {path}`", "do not go together"),
        ("cat <<END\n{path}\nEND", "do not go together"),
        ("echo $(( {path} ))", "do not go together"),
        ("echo \\{path}", "behind a"),
        ("echo ${path}", "behind a"),
    ],
)
def test_an_argument_where_quoting_would_not_hold_is_refused(command: str, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        parse(command, ("path",))


def test_what_a_file_may_import_is_there() -> None:
    assert agentchat.tool is tool
    assert (Context, Result, ToolError) == (
        agentchat.Context,
        agentchat.Result,
        agentchat.ToolError,
    )
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = agentchat.nonsense


def test_a_context_of_its_own_lets_a_test_call_a_tool(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    context = Context(cwd=str(tmp_path))
    context.progress("half way")
    assert context.read("a") == "text"
    with pytest.raises(ToolError, match="Pending action store unavailable for custom tools"):
        context.stage("label", lambda reason, extra: "done")
