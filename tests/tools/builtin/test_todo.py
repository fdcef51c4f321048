"""The tool that writes the todo list."""

from __future__ import annotations

from typing import Any

import pytest

from agentchat.core.tools.todo import TodoItem
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.builtin.todo import MOST_ITEMS, TOOL, TodoArguments, _item


def items(*todos: Any) -> list[TodoItem]:
    parsed: TodoArguments = TOOL.arguments.parse({"todos": list(todos)})
    return [_item(argument) for argument in parsed.todos]


def test_items_of_other_tools_of_this_kind_are_understood() -> None:
    assert items(
        {"content": "a\n b", "status": "in_progress", "priority": "high", "id": "1"},
        {"content": "c", "status": "completed", "activeForm": "Doing c"},
        {"text": "d"},
        "e",
    ) == [TodoItem("a b", "running"), TodoItem("c", "done"), TodoItem("d"), TodoItem("e")]


@pytest.mark.parametrize(
    ("todos", "problem"),
    [
        ([{"content": "a", "status": "soon"}], ("todos[0].status", "must be pending")),
        ([{"status": "done"}], ("todos[0].content", "Field required")),
        (["a"] * (MOST_ITEMS + 1), ("todos", "at most 50 items")),
    ],
)
def test_a_wrong_list_is_refused_with_what_is_wrong(todos: Any, problem: tuple[str, str]) -> None:
    with pytest.raises(ArgumentError) as refused:
        TOOL.arguments.parse({"todos": todos})
    field, reason = refused.value.problems[0]
    assert (field, reason[: len(problem[1])]) == problem
