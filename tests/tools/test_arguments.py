"""Arguments of our own tools: the schema that follows from a class, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

import pydantic
import pytest

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.custom.declaration.schema import simplify_schema


@frozen
class Item(ToolArguments):
    """One of several."""

    name: Annotated[str, "Its name", {"minLength": 1}]
    size: Annotated[int, "Its size", {"minimum": 0}] = 0

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Take a text for the name."""
        return {"name": value} if isinstance(value, str) else value


@frozen
class Order(ToolArguments):
    """Arguments with every type."""

    kind: Annotated[Literal["old", "new"], "Which kind"]
    items: Annotated[list[Item], "What is in it"] = field(default_factory=list)
    seconds: Annotated[float | None, "How long", {"exclusiveMinimum": 0}] = None
    more: Annotated[dict[str, Any] | None, "What else"] = None
    is_urgent: Annotated[bool, "Whether it is urgent"] = False

    def problems(self) -> Iterator[tuple[str, str]]:
        """Refuse two items of one name."""
        if len({item.name for item in self.items}) < len(self.items):
            yield "items", "the names must differ."


ORDER = ValueArguments(Order)


class PydanticItem(pydantic.BaseModel):
    """``Item`` as others declare it."""

    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = pydantic.Field(min_length=1, description="Its name")
    size: int = pydantic.Field(0, ge=0, description="Its size")


class PydanticOrder(pydantic.BaseModel):
    """``Order`` as others declare it."""

    model_config = pydantic.ConfigDict(extra="forbid")
    kind: Literal["old", "new"] = pydantic.Field(description="Which kind")
    items: list[PydanticItem] = pydantic.Field(default_factory=list, description="What is in it")
    seconds: float | None = pydantic.Field(None, gt=0, description="How long")
    more: dict[str, Any] | None = pydantic.Field(None, description="What else")
    is_urgent: bool = pydantic.Field(False, description="Whether it is urgent")


def test_the_schema_is_the_one_that_pydantic_makes() -> None:
    assert ORDER.schema() == simplify_schema(PydanticOrder.model_json_schema())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kind": "new"}, Order("new")),
        ({"kind": "new", "seconds": None, "more": None}, Order("new")),
        ({"kind": "old", "items": ["a", {"name": "b", "size": 2.0}]},
         Order("old", [Item("a"), Item("b", 2)])),
        ({"kind": "old", "seconds": 1, "more": {"x": None}, "is_urgent": True},
         Order("old", [], 1, {"x": None}, is_urgent=True)),
    ],
)  # fmt: skip
def test_arguments_that_fit_become_a_value(given: dict[str, Any], expected: Order) -> None:
    assert ORDER.parse(given) == expected


def test_a_whole_number_that_is_written_as_a_float_becomes_an_integer() -> None:
    assert (
        repr(ORDER.parse({"kind": "new", "items": [{"name": "a", "size": 2.0}]}).items[0].size)
        == "2"
    )


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({}, {"kind": "Field required"}),
        ({"kind": "odd"}, {"kind": "Input should be one of 'old', 'new'"}),
        ({"kind": None}, {"kind": "Input should be one of 'old', 'new'"}),
        ({"kind": "new", "colour": 1}, {"colour": "Extra inputs are not permitted"}),
        ({"kind": "new", "is_urgent": None}, {"is_urgent": "Input should be a valid boolean"}),
        ({"kind": "new", "is_urgent": 1}, {"is_urgent": "Input should be a valid boolean"}),
        ({"kind": "new", "seconds": 0}, {"seconds": "Input should be greater than 0"}),
        ({"kind": "new", "seconds": float("nan")}, {"seconds": "Input should be a valid number"}),
        ({"kind": "new", "seconds": float("inf")}, {"seconds": "Input should be a valid number"}),
        ({"kind": "new", "seconds": "1"}, {"seconds": "Input should be a valid number"}),
        ({"kind": "new", "items": ["\ud800"]}, {"items[0].name": "Input contains lone surrogates"}),
        ({"kind": "new", "items": "[]"}, {"items": "Input should be a valid list"}),
        ({"kind": "new", "items": ["a", 3]}, {"items[1]": "Input should be a valid object"}),
        ({"kind": "new", "items": [{"size": 1.5}]},
         {"items[0].name": "Field required", "items[0].size": "Input should be a valid integer"}),
        ({"kind": "new", "items": [{"name": "", "size": -1}]},
         {"items[0].name": "Input should have a length of 1 or more",
          "items[0].size": "Input should be greater than or equal to 0"}),
        ({"kind": "new", "items": ["a", "a"]}, {"items": "the names must differ."}),
    ],
)  # fmt: skip
def test_each_problem_names_its_field(given: Mapping[str, Any], problems: dict[str, str]) -> None:
    with pytest.raises(ArgumentError) as raised:
        ORDER.parse(given)
    assert dict(raised.value.problems) == problems
