"""Definitions in source code."""

from __future__ import annotations

import re

import pytest

from agentchat.core.prompts.definitions import definition_end, definition_pattern


@pytest.mark.parametrize(
    "line",
    [
        "def greet(name):",
        "    async def greet(self) -> None:",
        "class greet(Base):",
        "function greet() {",
        "export default async function greet() {",
        "local function greet()",
        "function M.greet(a)",
        "M.greet = function()",
        "greet = 3",
        "greet: int = 3",
        "pub fn greet<T>(a: T) {",
        "func (s *Server) greet(w int) {",
        "type greet struct {",
        "static int greet(int a)",
        "const greet = () => {",
    ],
)
def test_a_definition_is_recognised(line: str) -> None:
    assert re.search(definition_pattern("greet"), line)


@pytest.mark.parametrize(
    "line", ["greet(name)", "x = greet(1)", "greet == 3", "return greet(1);", "def greeting():"]
)
def test_a_use_is_no_definition(line: str) -> None:
    assert not re.search(definition_pattern("greet"), line)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("def a():\n    x\n\n    y\n\n\ndef b():\n    z", 4),
        ("function a() {\n  x\n}\nb()", 3),
        ("local function a()\n  x\nend\nb()", 3),
        ("A = 1\nB = 2", 1),
    ],
)
def test_a_definition_ends_where_its_block_ends(text: str, end: int) -> None:
    assert definition_end(text.split("\n"), 0) == end
