"""Blanks at the ends of lines, and tabs for spaces inside them."""

from __future__ import annotations

from tests.core.edit.edit_cases.case import refused, tolerantly

CASES = (
    tolerantly("blanks the file has", "a  \nb\n", ("a\nb", "a\nc"), gives="a  \nc\n"),
    tolerantly("a tab the file has", "a\t\nb\n", ("a\nb", "a\nc"), gives="a\t\nc\n"),
    tolerantly("blanks only the quote has", "a\nb\n", ("a  \nb  ", "a  \nc"), gives="a\nc\n"),
    tolerantly(
        "blanks on the changed line go", "a  \nb  \n", ("a\nb\n", "x\nb\n"), gives="x\nb  \n"
    ),
    tolerantly(
        "blanks in the new text are literal", "a  \nb\n", ("a\nb", "x \ny "), gives="x \ny \n"
    ),
    tolerantly(
        "a blank line with blanks", "a\n    \nb\n", ("a\n\nb", "a\n\nc"), gives="a\n    \nc\n"
    ),
    tolerantly(
        "a blank line without blanks", "a\n\nb\n", ("a\n  \nb", "a\n  \nc"), gives="a\n\nc\n"
    ),
    tolerantly(
        "blank lines at both ends",
        "\n \na\n \n\n",
        ("\n\na\n\n", "\n\nb\n\n"),
        gives="\n \nb\n \n\n",
    ),
    tolerantly(
        "a quote that begins with a newline", "x\na \nb\n", ("\na\nb", "\na\nc"), gives="x\na \nc\n"
    ),
    tolerantly("a newline before is taken too", "x\na \nb\n", ("\na\nb", "y"), gives="xy\n"),
    tolerantly(
        "the file's blanks go with their line", "a\nb  \nc  \nd\n", ("b\nc\n", ""), gives="a\nd\n"
    ),
    tolerantly(
        "a removed line keeps its neighbours",
        "a  \nb\nc  \n",
        ("a\nb\nc", "a\nc"),
        gives="a  \nc  \n",
    ),
    tolerantly(
        "lines added between kept ones", "a  \nb  \n", ("a\nb", "a\nx\nb"), gives="a  \nx\nb  \n"
    ),
    tolerantly(
        "a tab inside a line", "int\tx = 1;\n", ("int x = 1;", "int x = 2;"), gives="int\tx = 2;\n"
    ),
    tolerantly("a tab for several spaces", "a\tb\n", ("a    b", "a    c"), gives="a\tc\n"),
    tolerantly("spaces for a tab", "a    b\n", ("a\tb", "a\tc"), gives="a    c\n"),
    tolerantly(
        "tabs in a part of a line",
        "x = [a,\tb]  # c\n",
        ("[a, b]", "[a, d]"),
        gives="x = [a,\td]  # c\n",
    ),
    tolerantly("a table", "a\tb\tc\n1\t2\t3\n", ("1 2 3", "1 2 4"), gives="a\tb\tc\n1\t2\t4\n"),
    tolerantly(
        "a tab before a comment",
        "x = 1\t# one\n",
        ("x = 1  # one", "x = 2  # one"),
        gives="x = 2\t# one\n",
    ),
    refused(
        "two places that only fit",
        "a  \nb\na\t\nb\n",
        ("a\nb", "x"),
        says="matches 2 places in f.py (lines 1, 3)",
    ),
    refused(
        "two places that fit in two ways",
        "\tf('a')\n    f(‘a’)\n",
        ("    f('a')", "x"),
        says="matches 2 places",
    ),
    refused("spaces alone are not alike", "a  b \n", ("a b\n", "x"), says="not found"),
    refused(
        "two tabs, two places",
        "a\tb\na\tb\n",
        ("a b", "a c"),
        says="matches 2 places in f.py (lines 1, 2)",
    ),
    refused(
        "what the file has already",
        "\ta\n",
        ("    a", "\ta"),
        says="edits[0]: f.py has new_text at line 1 already.",
    ),
)
