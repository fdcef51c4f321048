"""Edits that change nothing, and what the refusal says."""

from __future__ import annotations

from agentchat.core.edit.match import Edit
from tests.core.edit.edit_cases.case import Case, refused

CODE = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"

CASES = (
    refused("no edits", "a\n", says="edits must contain at least one replacement."),
    refused(
        "an empty old text",
        "a\n",
        ("", "b"),
        says="edits[0]: old_text is empty. Use write to create or replace a whole file.",
    ),
    refused("an empty old text in an empty file", "", ("", "b"), says="old_text is empty."),
    refused("only a BOM", "\ufeffa\n", ("\ufeff", ""), says="old_text is empty."),
    refused(
        "nothing to change",
        "a\n",
        ("a", "a"),
        says="edits[0]: old_text and new_text are identical.",
    ),
    refused("a change of line ends alone", "a\r\nb\r\n", ("a\r\nb", "a\nb"), says="are identical."),
    refused(
        "three places on three lines",
        "x\na\nx\nb\nx\n",
        ("x", "y"),
        says="edits[0]: old_text matches 3 places in f.py (lines 1, 3, 5). "
        "Give more surrounding text, or set replace_all.",
    ),
    refused(
        "three places on one line",
        "foo foo foo",
        ("foo", "x"),
        says="matches 3 places in f.py (lines 1, 1, 1)",
    ),
    refused("overlapping places", "aaa", ("aa", "x"), says="matches 2 places"),
    refused(
        "overlapping lines",
        "a\na\na\n",
        ("a\na\n", "x"),
        says="matches 2 places in f.py (lines 1, 2)",
    ),
    refused(
        "many places", "a\n" * 30, ("a", "b"), says="matches 30 places in f.py (lines 1, 2, 3, "
    ),
    refused("very many places", "a" * 20_000, ("a", "b"), says="matches over 10000 places"),
    refused("places inside words", "cat concat\n", ("cat", "dog"), says="matches 2 places"),
    refused(
        "one with CRLF and one with LF",
        "a\r\nb\r\n\na\nb\n",
        ("a\nb", "x"),
        says="matches 2 places in f.py (lines 1, 4)",
    ),
    refused(
        "not there",
        CODE,
        ("    return 3", "    return 4"),
        says="edits[0]: old_text not found in f.py. Closest match at line 2:\n    return 1\n",
    ),
    refused(
        "not there, several lines",
        CODE,
        ("def g():\n    return 3\n", "x"),
        says="Closest match at line 5:\ndef g():\n    return 2\n",
    ),
    refused(
        "not there in an empty file",
        "",
        ("a", "b"),
        says="edits[0]: old_text not found in f.py. Nothing",
    ),
    refused(
        "not there in a blank file",
        "\n \n\n",
        ("a", "b"),
        says="old_text not found in f.py. Nothing",
    ),
    refused("no pattern for the start of a line", "a\nb\n", ("^", "x"), says="not found"),
    refused("no pattern for the end of a line", "a\nb\n", ("$", "x"), says="not found"),
    refused("no pattern for anything", "a\nb\n", (".*", "x"), says="not found"),
    refused("no line numbers", "a\nb\n", ("2", "x"), says="not found"),
    refused(
        "another case", "Foo = 1\n", ("foo = 1", "x"), says="Closest match at line 1:\nFoo = 1"
    ),
    refused(
        "another word", "max_size = 1\n", ("min_size = 1", "x"), says="Closest match at line 1"
    ),
    refused(
        "a line in between", "a()\nb()\nc()\n", ("a()\nc()", "x"), says="Closest match at line 1"
    ),
    refused(
        "a line too many", "a()\nc()\n", ("a()\nb()\nc()", "x"), says="Closest match at line 1"
    ),
    refused("the lines in another order", "a()\nb()\n", ("b()\na()", "x"), says="not found"),
    refused("beyond the end", "a\nb\n", ("b\nc\n", "x"), says="Closest match at line 2:\nb\n"),
    refused("one blank more inside a line", "a = 1\n", ("a  = 1", "x"), says="not found"),
    refused("one blank less inside a line", "a  = 1\n", ("a = 1", "x"), says="not found"),
    refused(
        "no blanks where the file has some",
        "f(a, b)\n",
        ("f(a,b)", "x"),
        says="Closest match at line 1",
    ),
    refused(
        "a part of a word after blanks", "max = 1\n", ("    x = 1", "    x = 2"), says="not found"
    ),
    refused("blank lines only, not as many", "a\n\nb\n", ("\n\n\n", "\n"), says="not found"),
    refused("blanks only, not as many", "a b\n", ("  ", " "), says="not found"),
    refused("a blank line too few", "a\n\nb\n", ("a\nb", "x"), says="not found"),
    refused("a blank line too many", "a\nb\n", ("a\n\nb", "x"), says="not found"),
    refused(
        "long lines are cut in the message",
        "x" * 500 + "\n",
        ("x" * 400 + "y", "z"),
        says="x" * 200 + "…\n",
    ),
    refused(
        "a lone surrogate in the new text",
        "a\n",
        ("a", "\ud83d"),
        says="edits[0]: new_text holds lone surrogates",
    ),
    refused(
        "a text beyond ASCII into a file that is no UTF-8",
        "a\udce9\nb\n",
        ("b", "é"),
        says="edits[0]: f.py is not valid UTF-8, so new_text may hold ASCII only.",
    ),
    Case(
        "more places than replace_all may replace",
        "a" * 10_001,
        (Edit("a", "b", replace_all=True),),
        refuses="edits[0]: old_text matches 10001 places in f.py, over the limit of 10000.",
    ),
    Case(
        "replace_all without a place",
        CODE,
        (Edit("return 3", "x", replace_all=True),),
        refuses="Closest match at line 2",
    ),
    Case(
        "replace_all with two places that only fit",
        "\ta = 1\n\ta = 1\n",
        (Edit("    a = 1", "    a = 2", replace_all=True),),
        refuses="not found in f.py. Closest match at line 1",
    ),
    Case(
        "replace_all with an empty old text",
        "a\n",
        (Edit("", "x", replace_all=True),),
        refuses="old_text is empty",
    ),
)
