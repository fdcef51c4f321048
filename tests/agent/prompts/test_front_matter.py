"""The front matter of Markdown files."""

from __future__ import annotations

import pytest

from agentchat.agent.prompts.front_matter import parse_markdown
from agentchat.core.prompts.markdown_file import FrontMatterError, Value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: plain text", "plain text"),
        ("a: 'it''s quoted'", "it's quoted"),
        ('a: "a \\"b\\""', 'a "b"'),
        ("a: text # comment", "text"),
        ("a:\n  - x\n  - 'y z'", ("x", "y z")),
        ("a: |\n  one\n  two", "one\ntwo"),
        ("a: >\n  one\n  two", "one two"),
        ("a: one\n  two", "one two"),
        ("a:\n  b: c", ""),
        ("a:", ""),
        ("a: [pr] [priority]", "[pr] [priority]"),
        ("a: use when: a test fails", "use when: a test fails"),
        ("a: @x is `it`", "@x is `it`"),
        ("a: 3 true 2026-01-01", "3 true 2026-01-01"),
        ("a: no", "no"),
        ("a: >-\n  one\n\n  two", "one\ntwo"),
        ("a: {b: c}", ""),
        ("a: [x, [y], {z: 1}]", ("x",)),
    ],
)
def test_a_field_has_its_value(text: str, value: Value) -> None:
    file = parse_markdown(f"---\n{text}\n---\nbody\n")
    assert file.fields == {"a": value}
    assert file.body == "body"


def test_a_file_without_front_matter_is_all_body() -> None:
    assert parse_markdown("\ufeff# Title\n---\nx: y\n").body == "# Title\n---\nx: y"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("---\na: b\n", 1, "does not end"),
        ("---\na: b\n{nonsense\n---\n", 3, "expected"),
        ("---\na: [b\n---\n", 2, "expected ',' or ']'"),
        ("---\nb: c\na: 'b\n---\n", 3, "quoted scalar|unexpected end"),
        ("---\na: b\na: c\n---\n", 3, "twice"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(FrontMatterError, match=problem) as error:
        parse_markdown(text)
    assert error.value.line == line


def test_a_list_may_be_a_text_with_commas() -> None:
    file = parse_markdown("---\nallowed-tools: Read, Bash(git a:*, git b:*)\n---")
    assert file.items("allowed-tools") == ("Read", "Bash(git a:*, git b:*)")


def test_a_comma_in_parentheses_parts_no_item_of_a_list() -> None:
    file = parse_markdown("---\nallowed-tools: [Read, Bash(git a:*, git b:*)]\n---")
    assert file.items("allowed-tools") == ("Read", "Bash(git a:*, git b:*)")
