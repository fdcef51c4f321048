"""The body of slash commands."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from agentchat.core.errors import UserError
from agentchat.core.prompts.command import command_name, parse_prompt_file, parse_typed_command
from agentchat.core.prompts.markdown_file import MarkdownFile
from agentchat.core.prompts.template import (
    CommandPart,
    FilePart,
    Part,
    fill_template,
    parse_template,
)


def expand(body: str, arguments: str = "") -> tuple[Part, ...]:
    return fill_template(parse_template(body), arguments)


@pytest.mark.parametrize(
    ("body", "arguments", "parts"),
    [
        ("Fix $ARGUMENTS now", "a b", ("Fix a b now",)),
        ("From $1 to $2, not $10", "'a b' c", ("From a b to c, not $10",)),
        ("$1-$2", "one", ("one-",)),
        ("$1", "it's", ("it's",)),
        ("Fix it", "soon", ("Fix it", "\n\nArguments: soon")),
        ("!`git diff $1`", "HEAD", (CommandPart("git diff HEAD"),)),
        ("See:\n!git status\nend", "", ("See:\n", CommandPart("git status"), "\nend")),
        ("```\n!pip install x\n```", "", ("```\n!pip install x\n```",)),
        ("![image](a.png)", "", ("![image](a.png)",)),
        ("Read @src/a.py.", "", ("Read ", FilePart("src/a.py"), ".")),
        ("@$1", "a.py", (FilePart("a.py"),)),
        ("mail a@b.org", "", ("mail a@b.org",)),
        ("say $1", "@a.py and !`x`", ("say @a.py",)),
    ],
)
def test_a_body_has_these_parts(body: str, arguments: str, parts: tuple[Part, ...]) -> None:
    assert expand(body, arguments) == parts


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/fix a.py now", ("fix", "a.py now")),
        ("/git:commit", ("git:commit", "")),
        ("/fix\nmany\nlines", ("fix", "many\nlines")),
        ("/etc/hosts is wrong", None),
        (" /fix", None),
        ("fix /this", None),
        ("/", None),
    ],
)
def test_a_command_is_typed_at_the_start(text: str, typed: tuple[str, str] | None) -> None:
    command = parse_typed_command(text)
    assert (command and (command.name, command.arguments)) == typed


def test_the_name_of_a_command_is_the_path_of_its_file() -> None:
    assert command_name(PurePath("git/commit.md")) == "git:commit"
    with pytest.raises(UserError, match="no name of a command"):
        command_name(PurePath("my file.md"))


def test_a_file_says_what_its_command_takes_and_needs() -> None:
    fields = {
        "argument-hint": "[file]",
        "allowed-tools": "Bash(git:*), Read",
        "model": "x/y",
    }
    file = parse_prompt_file("go", MarkdownFile(fields, "# Go"), "go.md")
    assert (file.command.description, file.command.argument_hint) == ("Go", "[file]")
    assert (file.tools, file.model) == (("Bash", "Read"), "x/y")
