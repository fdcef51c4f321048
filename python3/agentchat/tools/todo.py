"""Write the todo list of the chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ConfigDict, Field, field_validator, model_validator

from agentchat.core.tools.todo import TodoItem, TodoStatus
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.format import count_summary
from agentchat.tools.schema import PydanticArguments, ToolArguments

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


class TodoArgument(ToolArguments):
    """One item; what other tools of this kind take beside it, as a priority, is left out."""

    model_config = ConfigDict(extra="ignore")

    content: str = Field(min_length=1, description="What is to be done, in one line")
    status: str = Field("pending", description="pending, running or done")

    @model_validator(mode="before")
    @classmethod
    def _rename_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"content": value}
        if isinstance(value, Mapping) and "content" not in value and "text" in value:
            return {**value, "content": value["text"]}
        return value

    @field_validator("status")
    @classmethod
    def _refuse_unknown(cls, value: str) -> str:
        if value not in STATUSES:
            raise ValueError("must be pending, running or done.")
        return value


class TodoArguments(ToolArguments):
    """What ``todo`` takes."""

    todos: list[TodoArgument] = Field(description="The whole list, in the order of the work")

    @field_validator("todos")
    @classmethod
    def _refuse_many(cls, value: list[TodoArgument]) -> list[TodoArgument]:
        if len(value) > MOST_ITEMS:
            raise ValueError(f"at most {MOST_ITEMS} items: write larger steps.")
        return value


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
    arguments=PydanticArguments(TodoArguments),
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
