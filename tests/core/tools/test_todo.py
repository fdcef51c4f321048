"""The todo list as text, and what of it a request says."""

from __future__ import annotations

from agentchat.core.tools.todo import TodoItem, TodoList, parse_todo
from tests.core.turn.world import a_chat

ITEMS = (TodoItem("read", "done"), TodoItem("fix it", "running"), TodoItem("test"))


def test_a_list_is_text_that_can_be_edited() -> None:
    todo = TodoList()
    todo.replace(ITEMS)
    assert todo.text() == "[x] read\n[~] fix it\n[ ] test"
    assert parse_todo(todo.text()) == ITEMS
    assert todo.counts() == "1 done, 1 running, 1 pending"


def test_lines_of_the_user_may_lack_the_box() -> None:
    assert parse_todo("- [X] read\n\n  test  \n") == (TodoItem("read", "done"), TodoItem("test"))


def test_the_list_rides_at_the_tail_of_each_request() -> None:
    chat = a_chat()
    assert chat.request().reminder is None
    chat.todo.replace(ITEMS)
    assert "[x] read\n[~] fix it\n[ ] test" in (chat.request().reminder or "")
