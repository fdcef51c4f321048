"""Values in the commands of custom tools: each is one word, and never an option.

A program that prints its arguments and what it takes for an option is the judge.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.tools.custom.declaration.template import parse, parse_words
from tests.permissions.report import seed

TRIED = int(os.environ.get("AGENTCHAT_GENERATED", "300"))
OPTIONS = ("--output=x", "-x", "-", "--", ["a", "-x"], -1, ["--upload-pack=touch x"])
JUDGE = """#!/bin/sh
for word in "$@"; do
  case $word in --) exit 0 ;; -*HOSTILE*) touch "$MARK" ;; esac
done
"""


@pytest.mark.parametrize("value", OPTIONS)
@pytest.mark.parametrize(
    "command",
    [
        "git log {x}",
        "git log '{x}'",
        'git log "{x}" -- a',
        "git -C a {x}",
        "a; git log {x}",
        "a >{x}",
    ],
)
def test_an_option_is_refused(command: str, value: object) -> None:
    with pytest.raises(ToolError, match=r"^x must not begin with '-': .* Nothing was run\.$"):
        parse(command, ("x",)).fill({"x": value})
    with pytest.raises(ToolError):
        parse_words(["git", "log", "{x}"], ("x",)).fill({"x": value})


@pytest.mark.parametrize(
    ("command", "filled"),
    [
        ("git log -- {x}", "git log -- -a"),
        ("grep --regexp={x}", "grep --regexp=-a"),
        ('grep -e"b{x}"', 'grep -e"b"-a""'),
    ],
)
def test_a_value_that_cannot_be_one_is_taken(command: str, filled: str) -> None:
    assert parse(command, ("x",)).fill({"x": "-a"}) == filled


def test_end_of_options_in_quotes_or_of_another_command_is_none() -> None:
    for command in ("git log ' -- ' {x}", "git log -- a; git log {x}", "a -- | git log {x}"):
        with pytest.raises(ToolError):
            parse(command, ("x",)).fill({"x": "-a"})


def test_no_value_becomes_an_option(tmp_path: Path) -> None:
    judge, mark = tmp_path / "judge", tmp_path / "mark"
    judge.write_text(JUDGE)
    judge.chmod(0o755)
    choose = random.Random(seed())
    pieces = ["{x}", "{y}", "'{x}'", '"{y}"', "a", "'a b'", '""', "b={x}", "-- ", "''{y}"]
    values = ["-HOSTILE", "--HOSTILE=1", ["a", "-HOSTILE"], "", None, "a", "'", "- -HOSTILE", " -x"]
    ran = 0
    for _ in range(TRIED):
        words = "".join(choose.choice(pieces) + choose.choice([" ", " ", ""]) for _ in range(4))
        given = {name: choose.choice(values) for name in "xy"}
        try:
            command = parse(f"{shlex.quote(str(judge))} {words}", ("x", "y")).fill(given)
        except ToolError:
            continue
        ran += 1
        environ = {**os.environ, "MARK": str(mark)}
        subprocess.run(["sh", "-c", command], env=environ, check=True, cwd=tmp_path)
        assert not mark.exists(), command
    assert ran > TRIED / 10
