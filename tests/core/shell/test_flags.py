"""The notation for the flags of programs, how a command is read by it, and the table in it."""

from __future__ import annotations

import pytest

from agentchat.core.shell.flags import parse_flags
from agentchat.core.shell.programs import find_program, read_table

KNOWN = parse_flags(r"-ab -n: -c? -o=x|y -C=! -# --all --long: ~-W\w+")


@pytest.mark.parametrize(
    ("words", "end", "value"),
    [
        ("-a f", 1, None),
        ("-ba f", 1, None),
        ("-n 5", 2, "5"),
        ("-an5 f", 1, "5"),
        ("-can f", 1, None),
        ("-12 f", 1, None),
        ("--all=x f", 1, None),
        ("--long f", 2, "f"),
        ("--long=f g", 1, "f"),
        ("-Wall f", 1, None),
    ],
)
def test_a_flag_that_is_listed_is_read_with_its_value(
    words: str, end: int, value: str | None
) -> None:
    option = KNOWN.read(words.split(), 0)
    assert (option.known, option.end, option.value) == (True, end, value)


@pytest.mark.parametrize("words", ["-x", "-ax", "-n", "--al", "--other=1", "-", "--long"])
def test_a_flag_that_is_not_listed_or_lacks_its_value_may_mean_anything(words: str) -> None:
    assert not KNOWN.read(words.split(), 0).known


@pytest.mark.parametrize(("words", "fits"), [("-o x", True), ("-oz", False), ("-C .", False)])
def test_a_value_may_have_to_match(words: str, fits: bool) -> None:
    option = KNOWN.read(words.split(), 0)
    assert (option.pattern.fullmatch(option.value or "") is not None) is fits


def test_one_dash_may_begin_a_long_name() -> None:
    known = parse_flags("-name: -print --only", single=True)
    assert known.read(["-name", "-print"], 0).end == 2
    assert known.read(["--print"], 0).known
    assert known.read(["--only"], 0).known
    assert not known.read(["-p"], 0).known


def test_every_entry_of_the_table_of_programs_is_in_its_notation() -> None:
    for name in read_table():
        program = find_program(name)
        assert (program is None) == name.isupper(), name
        dangerous = {"--output", "--exec", "--config"}
        assert program is None or dangerous.isdisjoint(program.flags.alone), name
