"""Value classes behave as frozen dataclasses with slots."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from agentchat.core.frozen import frozen


@frozen
class Place:
    """A line of a file."""

    path: str
    line: int = 1
    tags: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False, repr=False)


@frozen
class Range(Place):
    """A place and what is only given by name."""

    _: KW_ONLY
    last: int


def test_each_value_has_its_own_default_made_for_it() -> None:
    first, second = Place("a"), Place("a")
    first.tags.append("x")
    assert (second.line, second.tags) == (1, [])


@pytest.mark.parametrize(
    "change",
    [
        lambda place: setattr(place, "line", 2),
        lambda place: setattr(place, "other", 2),
        lambda place: delattr(place, "line"),
    ],
)
def test_a_value_cannot_be_changed(change: Callable[[Place], None]) -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError):
        change(place)
    assert place == Place("a")


def test_values_are_compared_by_class_and_compared_fields() -> None:
    place = Place("a", 2)
    assert place == Place("a", 2, note="ignored")
    assert place != Place("a", 3)
    assert place != Range("a", 2, last=3)
    assert Range("a", last=3) != Range("a", last=4)


def test_a_hash_leaves_out_what_cannot_be_hashed() -> None:
    assert len({Place("a", 1, ["x"]), Place("a", 1, ["x"], "note"), Place("a", 2)}) == 2


def test_a_value_is_shown_with_its_fields() -> None:
    assert repr(Range("a", last=3)) == "Range(path='a', line=1, tags=[], last=3)"


def test_the_functions_for_dataclasses_work() -> None:
    place = Range("a", 2, ["x"], last=3)
    assert [item.name for item in fields(place)] == ["path", "line", "tags", "note", "last"]
    assert replace(place, line=5) == Range("a", 5, ["x"], last=3)
    assert asdict(place) == {"path": "a", "line": 2, "tags": ["x"], "note": "", "last": 3}


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_are_equal(copied: Callable[[Any], Any]) -> None:
    place = Range("a", 2, ["x"], last=3)
    assert copied(place) == place
    assert copied(place) is not place


def test_a_value_has_no_other_attributes() -> None:
    assert not hasattr(Place("a"), "__dict__")


def test_a_field_that_is_given_by_name_is_not_taken_by_position() -> None:
    with pytest.raises(TypeError, match=r"Range.__init__\(\) takes from 2 to 5 positional"):
        Range("a", 1, [], "", 3)  # type: ignore[call-arg]


def test_methods_of_the_class_are_kept() -> None:
    @frozen
    class Name:
        text: str

        def __init__(self, text: str) -> None:
            object.__setattr__(self, "text", text.strip())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Name) and self.text.lower() == other.text.lower()

        def __repr__(self) -> str:
            return self.text

    assert Name(" Ann ") == Name("ANN")
    assert repr(Name(" Ann ")) == "Ann"


def test_a_class_without_fields_has_equal_values() -> None:
    @frozen
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
