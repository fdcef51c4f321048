"""Old text → one certain place, or nothing happens."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.edit.match import Edit, EditError, EditOutcome, apply_edits
from tests.core.edit.edit_cases import ALL
from tests.core.edit.edit_cases.case import Case

MADE = [case for case in ALL if case.gives is not None]
REFUSED = [case for case in ALL if case.refuses is not None]


def outcome(text: str, *edits: Edit) -> EditOutcome | str:
    """Return what comes of the edits, or what the refusal says."""
    try:
        return apply_edits(text, edits, "f")
    except EditError as refusal:
        return str(refusal)


def name(case: Case) -> str:
    return case.name


def test_the_corpus_has_at_least_150_cases_each_with_one_outcome() -> None:
    assert len(ALL) >= 150
    assert len(MADE) + len(REFUSED) == len(ALL)
    assert len({(case.name, case.text, case.edits) for case in ALL}) == len(ALL)


@pytest.mark.parametrize("case", MADE, ids=name)
def test_an_edit_gives(case: Case) -> None:
    result = apply_edits(case.text, case.edits, "f.py")
    assert result.text == case.gives
    assert result.count == (case.count or len(case.edits))
    assert any("matched tolerantly" in note for note in result.notes) == case.tolerantly


@pytest.mark.parametrize("case", REFUSED, ids=name)
def test_an_edit_is_refused(case: Case) -> None:
    with pytest.raises(EditError) as refusal:
        apply_edits(case.text, case.edits, "f.py")
    assert str(case.refuses) in str(refusal.value)
    assert str(refusal.value).endswith(" Nothing was changed.")


def test_a_note_names_the_edit_and_the_line() -> None:
    notes = apply_edits("a\n\tb\n", [Edit("a", "x"), Edit("  b", "  c")], "f.py").notes
    assert len(notes) == 1
    assert notes[0].startswith("edits[1] matched tolerantly at line 2:")


SOME = st.text(alphabet="ab \t\n\r'“é−\u0301\ufeff\udcff", max_size=60)
LINES = st.lists(st.sampled_from(["", "a", "b ", "\tc", "    d", "“e”", "f\u00a0g"]), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n"])


@settings(deadline=None)
@given(before=SOME, old=st.text("ab '\t“é", max_size=9), behind=SOME, new=st.text("xyz \t"))
def test_untouched_characters_stay_untouched(before: str, old: str, behind: str, new: str) -> None:
    result = apply_edits(f"{before}⟦{old}⟧{behind}", [Edit(f"⟦{old}⟧", new)], "f")
    assert result.text == before + new + behind


@settings(deadline=None)
@given(text=SOME, old=SOME, new=SOME)
def test_an_edit_is_made_or_refused_and_never_fails(text: str, old: str, new: str) -> None:
    result = outcome(text, Edit(old, new))
    if isinstance(result, str):
        assert result.endswith(" Nothing was changed.")
    else:
        assert result.count == 1


@settings(deadline=None)
@given(lines=LINES, data=st.data())
def test_lines_outside_a_tolerant_place_stay_byte_for_byte(
    lines: list[str], data: st.DataObject
) -> None:
    ends = data.draw(st.lists(ENDS, min_size=len(lines), max_size=len(lines)))
    head = "".join(line + end for line, end in zip(lines, ends, strict=True))
    text = head + "\tif target:\r\n\t\tgo(“now”)\r\n" + head
    edit = Edit('  if target:\n    go("now")\n', '  if target:\n    go("then")\n')
    assert apply_edits(text, [edit], "f").text == head + "\tif target:\r\n\t\tgo(“then”)\r\n" + head


@settings(deadline=None)
@given(lines=st.lists(st.text("abc ", max_size=4), min_size=1, max_size=20), data=st.data())
def test_several_edits_do_what_they_do_one_by_one(lines: list[str], data: st.DataObject) -> None:
    text = "".join(f"{at}: {line}\n" for at, line in enumerate(lines))
    chosen = data.draw(st.sets(st.integers(0, len(lines) - 1), min_size=1))
    edits = [Edit(f"\n{at}: {lines[at]}\n", f"\n{at}: new\n") for at in chosen]
    expected = "".join(
        f"{at}: {'new' if at in chosen else line}\n" for at, line in enumerate(lines)
    )
    together = outcome("\n" + text, *edits)
    if isinstance(together, str):
        assert "overlap" in together or "identical" in together
    else:
        assert together.text == "\n" + expected


def code(lines: int) -> str:
    return "".join(f"    x{at} = compute(a, {at})\n    return value\n" for at in range(lines // 2))


def seconds(text: str, edits: list[Edit]) -> float:
    """Return the processor time, which a busy machine does not stretch."""
    start = time.process_time()
    outcome(text, *edits)
    return time.process_time() - start


def test_twenty_edits_in_100_000_lines_take_well_under_a_second() -> None:
    exact = [Edit(f"x{at * 997} =", "y =") for at in range(20)]
    assert seconds(code(100_000), exact) < 0.5


def test_twenty_tolerant_edits_in_100_000_lines_take_seconds_at_most() -> None:
    line = "\tx{} = compute(a, {}) "
    edits = [Edit(line.format(at, at), line.format(at, 0)) for at in range(997, 20_000, 997)]
    assert seconds(code(100_000), edits) < 2


def test_a_miss_of_five_lines_in_4_800_long_lines_is_told_at_once() -> None:
    words = ["alpha", "beta", "gamma", "delta", "value", "return", "compute", "self"]
    lines = [" ".join(words[(at * 7 + n * n) % 8] for n in range(150)) for at in range(4_800)]
    miss = Edit("\n".join([*lines[100:104], lines[104] + " more"]), "x")
    assert seconds("\n".join(lines), [miss]) < 0.6


def test_a_miss_among_equal_long_lines_is_told_at_once() -> None:
    text = ("x" * 1_000 + "\n") * 4_800
    assert seconds(text, [Edit(("x" * 1_000 + "\n") * 4 + "x" * 999 + "y", "z")]) < 0.6
