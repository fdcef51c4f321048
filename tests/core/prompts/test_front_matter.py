"""The front matter of Markdown files."""

from __future__ import annotations

import pytest

from agentchat.core.prompts.front_matter import FrontMatterError, Value, parse_markdown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: plain text", "plain text"),
        ("a: 'it''s quoted'", "it's quoted"),
        ('a: "a \\"b\\""', 'a "b"'),
        ("a: text # comment", "text"),
        ("a: [x, Bash(git add:*, git commit:*)]", ("x", "Bash(git add:*, git commit:*)")),
        ("a:\n  - x\n  - 'y z'", ("x", "y z")),
        ("a: |\n  one\n  two", "one\ntwo"),
        ("a: >\n  one\n  two", "one two"),
        ("a: one\n  two", "one two"),
        ("a:\n  b: c", ""),
        ("a:", ""),
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
        ("---\na: [b\n---\n", 2, "a ] is missing"),
        ("---\nb: c\na: 'b\n---\n", 3, "a ' is missing"),
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
