"""Text that stands in the file to the letter, in exactly one place."""

from __future__ import annotations

from tests.core.edit.edit_cases.case import everywhere, exactly

PYTHON = """\
import os


def connect(timeout = 30, retries = 2):
    for n in range(retries):
        yield n


def close():
    pass
"""

CASES = (
    exactly(
        "a part of a line",
        PYTHON,
        ("timeout = 30", "timeout = 60"),
        gives=PYTHON.replace("30", "60"),
    ),
    exactly("a whole line", "a\nb\nc\n", ("b\n", "B\n"), gives="a\nB\nc\n"),
    exactly("a line without its newline", "a\nb\nc\n", ("b", "B"), gives="a\nB\nc\n"),
    exactly("several lines", "a\nb\nc\nd\n", ("b\nc", "x\ny\nz"), gives="a\nx\ny\nz\nd\n"),
    exactly("the first line", "a\nb\n", ("a\n", "A\n"), gives="A\nb\n"),
    exactly("the last line", "a\nb\n", ("b\n", "B\n"), gives="a\nB\n"),
    exactly("the whole text", "a\nb\n", ("a\nb\n", "c\n"), gives="c\n"),
    exactly("everything away", "a\nb\n", ("a\nb\n", ""), gives=""),
    exactly("an empty new text removes exactly the old", "ab cd\n", (" cd", ""), gives="ab\n"),
    exactly("a removed line", "a\nb\nc\n", ("b\n", ""), gives="a\nc\n"),
    exactly("a line's text away, its newline stays", "a\nb\nc\n", ("b", ""), gives="a\n\nc\n"),
    exactly("two lines become one", "a\nb\n", ("a\nb", "ab"), gives="ab\n"),
    exactly("lines inserted before", "b\n", ("b", "a\nb"), gives="a\nb\n"),
    exactly("lines inserted behind", "a\nc\n", ("a\n", "a\nb\n"), gives="a\nb\nc\n"),
    exactly("only a newline inserted", "ab\n", ("ab", "a\nb"), gives="a\nb\n"),
    exactly("a newline as the old text", "a\nb", ("\n", ", "), gives="a, b"),
    exactly("blank lines", "a\n\n\n\nb\n", ("\n\n\n\n", "\n\n"), gives="a\n\nb\n"),
    exactly("blanks alone", "a  b\n", ("  ", " "), gives="a b\n"),
    exactly("a tab alone", "a\tb\n", ("\t", "    "), gives="a    b\n"),
    exactly("one character", "a+b\n", ("+", "-"), gives="a-b\n"),
    exactly("the same text in another case elsewhere", "Foo foo\n", ("foo", "x"), gives="Foo x\n"),
    exactly("a caret is ordinary text", "a\n^\nb\n", ("^", "!"), gives="a\n!\nb\n"),
    exactly("a dollar is ordinary text", "a\n$\nb\n", ("$", "!"), gives="a\n!\nb\n"),
    exactly("a pattern is ordinary text", "a.b\naxb\n", ("a.b", "c"), gives="c\naxb\n"),
    exactly(
        "a backslash is ordinary text", r"re = '\d+\n'", (r"\d+", r"\w+"), gives=r"re = '\w+\n'"
    ),
    exactly("a group reference is ordinary text", "x\n", ("x", r"\1 \g<0>"), gives="\\1 \\g<0>\n"),
    exactly("braces and percent signs", "{x} %s\n", ("{x} %s", "{{y}} %%"), gives="{{y}} %%\n"),
    exactly(
        "depth is kept as written", "  a\n    b\n", ("    b", "      b"), gives="  a\n      b\n"
    ),
    exactly("depth is not mended", "    a\n", ("a", "if x:\na"), gives="    if x:\na\n"),
    exactly("trailing blanks as written", "a  \nb\n", ("a  ", "a "), gives="a \nb\n"),
    exactly(
        "an exact place beats one that only fits",
        "\tx = 1\n  x = 1;\n",
        ("  x = 1", "  y"),
        gives="\tx = 1\n  y;\n",
    ),
    exactly("an exact quote beats a curly one", '“a”\n"a"\n', ('"a"', '"b"'), gives='“a”\n"b"\n'),
    exactly("text beyond ASCII", "größe = 1 # é𝄞\n", ("é𝄞", "è𝄢"), gives="größe = 1 # è𝄢\n"),
    exactly("a combined emoji", "a 👩‍👩‍👧 b\n", ("👩‍👩‍👧", "👨‍👦"), gives="a 👨‍👦 b\n"),
    exactly("text from right to left", "x = 'שלום'\n", ("שלום", "עולם"), gives="x = 'עולם'\n"),
    exactly("a form feed is no line end", "a\fb\n", ("a\fb", "c"), gives="c\n"),
    exactly(
        "a line separator is no line end", "a\u2028b\nc\n", ("b\n", "B\n"), gives="a\u2028B\nc\n"
    ),
    exactly("a vertical tab and a bell stay", "\v\ax\n", ("x", "y"), gives="\v\ay\n"),
    exactly("the end of a long line", "x" * 9000 + "y\n", ("xy", "z"), gives="x" * 8999 + "z\n"),
    exactly("bytes that are no UTF-8 stay", "a\udcff\nb\n", ("b", "c"), gives="a\udcff\nc\n"),
    exactly("bytes that are no UTF-8 in the place", "a\udcffb\n", ("b", "c"), gives="a\udcffc\n"),
    exactly("new text that holds the old", "foo\n", ("foo", "foofoo"), gives="foofoo\n"),
    exactly("code that looks like a diff", "-a\n+b\n", ("-a\n+b", "+a\n-b"), gives="+a\n-b\n"),
    exactly(
        "a nul-free control character in the old text", "a\x1b[0m\n", ("\x1b[0m", ""), gives="a\n"
    ),
    everywhere("one place", "foo\n", "foo", "bar", gives="bar\n", count=1),
    everywhere("several on a line", "foo foo\nfoo\n", "foo", "b", gives="b b\nb\n", count=3),
    everywhere("literally, inside words too", "foo food\n", "foo", "b", gives="b bd\n", count=2),
    everywhere("from left to right", "aaa\n", "aa", "b", gives="ba\n", count=1),
    everywhere("removed", "a, b, c\n", ", ", "", gives="abc\n", count=2),
    everywhere("lines", "x\ny\nx\ny\n", "x\ny", "z", gives="z\nz\n", count=2),
    everywhere("new text that holds the old", "a a\n", "a", "aa", gives="aa aa\n", count=2),
    everywhere("only exact ones", "‘a’ 'a' 'a'\n", "'a'", "b", gives="‘a’ b b\n", count=2),
    everywhere("up to the limit", "a" * 10_000, "a", "b", gives="b" * 10_000, count=10_000),
)
