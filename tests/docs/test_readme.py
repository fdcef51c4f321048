"""The README shows and names what is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.page import HELP
from tests.support.launch import CHECKOUT

TEXT = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
COMMANDS = sorted(set(re.findall(r":(Agent\w+)", TEXT)))
HELP_TAGS = sorted(set(re.findall(r"`:help ([^`]+)`", TEXT)))


@pytest.mark.parametrize("path", PICTURES)
def test_a_picture_is_there_and_loads_fast(path: str) -> None:
    assert 10_000 < (CHECKOUT / path).stat().st_size < 600_000


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_a_tag_in_the_help(command: str) -> None:
    assert f":{command}" in HELP.sections


@pytest.mark.parametrize("tag", HELP_TAGS)
def test_a_help_tag_is_there(tag: str) -> None:
    assert tag in HELP.sections
