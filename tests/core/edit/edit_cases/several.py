"""Several edits in one call: all match the original, none overlaps, all are made or none."""

from __future__ import annotations

from agentchat.core.edit.match import Edit
from tests.core.edit.edit_cases.case import Case, exactly, refused, tolerantly

CASES = (
    exactly("in order", "a b c\n", ("a", "1"), ("b", "2"), ("c", "3"), gives="1 2 3\n"),
    exactly("in any order", "a b c\n", ("c", "3"), ("a", "1"), ("b", "2"), gives="1 2 3\n"),
    exactly("side by side", "ab\n", ("a", "1"), ("b", "2"), gives="12\n"),
    exactly("lines side by side", "a\nb\n", ("a\n", "1\n"), ("b\n", "2\n"), gives="1\n2\n"),
    exactly("they swap", "a b\n", ("a", "b"), ("b", "a"), gives="b a\n"),
    exactly(
        "what one adds is not seen by the next", "a b\n", ("a", "bb"), ("b", "c"), gives="bb c\n"
    ),
    exactly("what one removes is still seen", "a a2 b\n", ("a2", ""), ("b", "c"), gives="a  c\n"),
    exactly(
        "growing and shrinking",
        "a\nb\nc\n",
        ("a\n", ""),
        ("b", "b\nb\nb"),
        ("c", ""),
        gives="b\nb\nb\n\n",
    ),
    exactly(
        "in a CRLF file",
        "a\r\nb\r\nc\r\n",
        ("c\n", "z\n"),
        ("a\n", "x\ny\n"),
        gives="x\r\ny\r\nb\r\nz\r\n",
    ),
    exactly(
        "far apart",
        "a\n" + "-\n" * 600 + "b\n",
        ("a", "1"),
        ("b", "2"),
        gives="1\n" + "-\n" * 600 + "2\n",
    ),
    tolerantly("one of them tolerantly", "“a”\nb\n", ("b", "c"), ('"a"', '"x"'), gives="“x”\nc\n"),
    tolerantly(
        "all of them tolerantly", "\ta\n\tb\n", ("  a", "  x"), ("  b", "  y"), gives="\tx\n\ty\n"
    ),
    Case(
        "with replace_all, everything matches the original",
        "a b a\n",
        (Edit("a", "b", replace_all=True), Edit("b", "c")),
        gives="b c b\n",
        count=3,
    ),
    Case(
        "two with replace_all",
        "a b a b\n",
        (Edit("a", "b", replace_all=True), Edit("b", "a", replace_all=True)),
        gives="b a b a\n",
        count=4,
    ),
    refused(
        "they overlap",
        "abcd\n",
        ("abc", "x"),
        ("cd", "y"),
        says="edits[0] and edits[1] overlap in f.py. Merge them into one edit. Nothing",
    ),
    refused(
        "one holds the other",
        "a\nb\nc\n",
        ("b", "x"),
        ("a\nb\nc", "y"),
        says="edits[0] and edits[1] overlap",
    ),
    refused(
        "they share a line they keep",
        "a\nb\nc\n",
        ("a\nb", "x\nb"),
        ("b\nc", "b\ny"),
        says="edits[0] and edits[1] overlap",
    ),
    refused(
        "two are the same", "a b\n", ("a", "x"), ("a", "x"), says="edits[0] and edits[1] overlap"
    ),
    refused(
        "two of the same text",
        "a b\n",
        ("a", "x"),
        ("a", "y"),
        says="edits[0] and edits[1] overlap",
    ),
    refused(
        "the third overlaps the first",
        "ab cd\n",
        ("ab", "x"),
        ("cd", "y"),
        ("b", "z"),
        says="edits[0] and edits[2] overlap",
    ),
    refused(
        "one overlaps tolerantly",
        "\tab\n",
        ("  ab", "x"),
        ("b", "y"),
        says="edits[0] and edits[1] overlap",
    ),
    refused(
        "one is not there",
        "a\nb\n",
        ("a", "x"),
        ("c", "y"),
        says="edits[1]: old_text not found in f.py.",
    ),
    refused(
        "the first is not there",
        "a\nb\n",
        ("c", "x"),
        ("a", "y"),
        says="edits[0]: old_text not found",
    ),
    refused(
        "one is in two places",
        "a\nb\nb\n",
        ("a", "x"),
        ("b", "y"),
        says="edits[1]: old_text matches 2 places in f.py (lines 2, 3)",
    ),
    refused("one is empty", "a\n", ("a", "x"), ("", "y"), says="edits[1]: old_text is empty."),
    refused(
        "one changes nothing",
        "a b\n",
        ("a", "x"),
        ("b", "b"),
        says="edits[1]: old_text and new_text are identical.",
    ),
    refused(
        "only what another adds would match",
        "a\n",
        ("a", "b"),
        ("b", "c"),
        says="edits[1]: old_text not found",
    ),
    Case(
        "replace_all that overlaps another",
        "ab ab\n",
        (Edit("a", "x", replace_all=True), Edit("b ab", "y")),
        refuses="edits[0] and edits[1] overlap",
    ),
)
