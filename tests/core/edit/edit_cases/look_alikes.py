"""Quotes, dashes, spaces and compatibility forms; what is not changed keeps its own characters."""

from __future__ import annotations

from tests.core.edit.edit_cases.case import exactly, refused, tolerantly

NBSP = "\u00a0"
ACCENT = "\u0301"

CASES = (
    tolerantly("curly single quotes", "say ‘a’ now\n", ("'a'", "'b'"), gives="say ‘b’ now\n"),
    tolerantly("curly double quotes", "say “a” now\n", ('"a"', '"b"'), gives="say “b” now\n"),
    tolerantly("low quotes", "„a“ ‚b‘\n", ("\"a\" 'b'", "\"a\" 'c'"), gives="„a“ ‚c‘\n"),
    tolerantly("an apostrophe", "it’s a test\n", ("it's a", "it's the"), gives="it’s the test\n"),
    tolerantly("an en dash", "1–2\n", ("1-2", "1-3"), gives="1–3\n"),
    tolerantly("an em dash", "a — b\n", ("a - b", "a - c"), gives="a — c\n"),
    tolerantly("a minus sign", "x = −1\n", ("x = -1", "y = -1"), gives="y = −1\n"),
    tolerantly(
        "a hyphen that does not break",
        "re\u2011do it\n",
        ("re-do it", "re-do this"),
        gives="re\u2011do this\n",
    ),
    tolerantly(
        "a space that does not break", f"a{NBSP}b c\n", ("a b c", "a b d"), gives=f"a{NBSP}b d\n"
    ),
    tolerantly(
        "a narrow and an ideographic space",
        "a\u202fb\u3000c\n",
        ("a b c", "a b d"),
        gives="a\u202fb\u3000d\n",
    ),
    tolerantly(
        "all at once",
        f"‘a’ “b” – {NBSP}— c\n",
        ("'a' \"b\" -  - c", "'a' \"b\" -  - d"),
        gives=f"‘a’ “b” – {NBSP}— d\n",
    ),
    tolerantly(
        "ASCII in the file, curly in the quote",
        "say 'a'\n",
        ("say ‘a’", "say ‘b’"),
        gives="say 'b'\n",
    ),
    tolerantly("ASCII space in the file", "a b\n", (f"a{NBSP}b", f"a{NBSP}c"), gives="a c\n"),
    tolerantly(
        "full width forms",
        "（ＡＢＣ１２３）x\n",
        ("(ABC123)x", "(ABC123)y"),
        gives="（ＡＢＣ１２３）y\n",
    ),
    tolerantly(
        "a decomposed letter", f"cafe{ACCENT} x\n", ("café x", "café y"), gives=f"cafe{ACCENT} y\n"
    ),
    tolerantly(
        "a composed letter", "café x\n", (f"cafe{ACCENT} x", f"cafe{ACCENT} y"), gives="café y\n"
    ),
    tolerantly("a ligature", "the ﬁle x\n", ("file x", "file y"), gives="the ﬁle y\n"),
    tolerantly("an ellipsis", "wait… now\n", ("wait... now", "wait... then"), gives="wait… then\n"),
    tolerantly("a superscript", "x² + 1\n", ("x2 + 1", "x2 + 2"), gives="x² + 2\n"),
    tolerantly("a changed word is taken as sent", "‘ab’\n", ("'ab'", "'abc'"), gives="‘abc’\n"),
    tolerantly(
        "the rest of the line", "“a” ‘b’ – 1\n", ("'b' - 1", "'b' - 2"), gives="“a” ‘b’ – 2\n"
    ),
    tolerantly(
        "lines that stay keep their bytes",
        f"keep{NBSP}me   \ntar{NBSP}get\n",
        ("tar get", "tar got"),
        gives=f"keep{NBSP}me   \ntar{NBSP}got\n",
    ),
    tolerantly(
        "quoted lines that stay keep their bytes",
        f"keep{NBSP}me   \ntar{NBSP}get\n",
        ("keep me\ntar get", "keep me\ntar got"),
        gives=f"keep{NBSP}me   \ntar{NBSP}got\n",
    ),
    tolerantly(
        "several lines",
        "# “a”\nx = 1\n# – b\n",
        ('# "a"\nx = 1\n# - b', '# "a"\nx = 2\n# - b'),
        gives="# “a”\nx = 2\n# – b\n",
    ),
    tolerantly(
        "at another depth too",
        "\tsay(“a”)\n\tgo()\n",
        ('  say("a")\n  go()', '  say("a")\n  stop()'),
        gives="\tsay(“a”)\n\tstop()\n",
    ),
    tolerantly(
        "depth of spaces that do not break",
        f"{NBSP}{NBSP}a\n",
        ("  a", "  b"),
        gives=f"{NBSP}{NBSP}b\n",
    ),
    tolerantly("with CRLF", "“a”\r\nb\r\n", ('"a"\nb', '"a"\nc'), gives="“a”\r\nc\r\n"),
    tolerantly(
        "the last line without a final newline", "x\n“a”", ('"a"\n', '"b"\n'), gives="x\n“b”"
    ),
    tolerantly("a removed part", "a – b “c”\n", (' - b "c"', ""), gives="a\n"),
    tolerantly(
        "new text may bring curly quotes", "‘a’ b\n", ("'a' b", "'a' “c”"), gives="‘a’ “c”\n"
    ),
    exactly("curly quotes to the letter", '“a” "a"\n', ("“a”", "“b”"), gives='“b” "a"\n'),
    exactly("full width to the letter", "Ａ A\n", ("Ａ", "Ｂ"), gives="Ｂ A\n"),
    refused(
        "two places that look alike",
        "‘a’\n“b”\n‘a’\n",
        ("'a'", "x"),
        says="matches 2 places in f.py (lines 1, 3)",
    ),
    refused("a part of a ligature", "ﬁ\n", ("i", "x"), says="not found"),
    refused("a letter without its accent", f"e{ACCENT}x\n", ("ex", "x"), says="not found"),
    refused(
        "a letter of a decomposed one in a word",
        f"cafe{ACCENT}\n",
        ("café!", "x"),
        says=f"Closest match at line 1:\ncafe{ACCENT}\n",
    ),
    refused(
        "a word whose last letter has an accent in the file",
        f"cafe{ACCENT} x\n",
        ("cafe", "tea"),
        says=f"Closest match at line 1:\ncafe{ACCENT} x\n",
    ),
    exactly(
        "the word without an accent beside one with",
        f"cafe{ACCENT} cafe\n",
        ("cafe", "tea"),
        gives=f"cafe{ACCENT} tea\n",
    ),
    refused("letters of another alphabet", "сору()\n", ("copy()", "x"), says="not found"),
    refused("a character of no width", "a\u200bb\n", ("ab", "x"), says="not found"),
    refused("a backtick is no quote", "`a`\n", ("'a'", "x"), says="not found"),
    refused(
        "two hyphens are no dash",
        "a — b\n",
        ("a -- b", "x"),
        says="Closest match at line 1:\na — b\n",
    ),
)
