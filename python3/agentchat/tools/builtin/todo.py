"""Write the todo list of the chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from agentchat.core.frozen import frozen
from agentchat.core.tools.todo import TodoItem, TodoStatus
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import count_summary

MOST_ITEMS = 50
STATUSES: Final[Mapping[str, TodoStatus]] = {
    "pending": "pending",
    "running": "running",
    "done": "done",
    "in_progress": "running",
    "completed": "done",
    "cancelled": "done",
}
"""The names of models that know another tool of this kind, too."""


@frozen
class TodoArgument(ToolArguments):
    """One item; what other tools of this kind take beside it, as a priority, is left out."""

    content: Annotated[str, "What is to be done, in one line", {"minLength": 1}]
    status: Annotated[str, "pending, running or done"] = "pending"

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Return the item with the fields that it has here."""
        if isinstance(value, str):
            return {"content": value}
        if not isinstance(value, Mapping):
            return value
        named = {"content": value["text"], **value} if "text" in value else value
        return {name: named[name] for name in ("content", "status") if name in named}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if self.status not in STATUSES:
            yield "status", "must be pending, running or done."


@frozen
class TodoArguments(ToolArguments):
    """What ``todo`` takes."""

    todos: Annotated[list[TodoArgument], "The whole list, in the order of the work"]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if len(self.todos) > MOST_ITEMS:
            yield "todos", f"at most {MOST_ITEMS} items: write larger steps."


async def run(arguments: TodoArguments, context: ToolContext) -> ToolOutput:
    """Replace the list, and return how far the work is."""
    items = [_item(argument) for argument in arguments.todos]
    context.todo.replace(items)
    return ToolOutput(f"Todo list: {context.todo.counts()}.")


def _item(argument: TodoArgument) -> TodoItem:
    return TodoItem(" ".join(argument.content.split()), STATUSES[argument.status])


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``todo: 3 items``."""
    items = given.get("todos")
    return f"todo: {count_summary(len(items) if isinstance(items, list) else 0, 'item')}"


TOOL = Tool(
    name="todo",
    description=(
        "Write your todo list, which the user sees above the prompt and may edit. Each call sends "
        "the whole list. Keep one item running while you work, and set it to done when it is."
    ),
    arguments=ValueArguments(TodoArguments),
    steps=(run,),
    metadata=Metadata(
        read_only=True,
        aliases=("todowrite", "todo_write", "TodoWrite"),
        search_hint="plan the steps of a task",
        permission_class="read",
        audit_operation="todo",
    ),
    render_call=render_call,
    snippet="Keep a todo list",
    guidelines=("Use todo for work of three or more steps, not for a single one.",),
)
