"""Line ends, the final newline and the BOM stay as the file has them."""

from __future__ import annotations

from tests.core.edit.edit_cases.case import everywhere, exactly, tolerantly

BOM = "\ufeff"

CASES = (
    exactly("CRLF, quoted with LF", "a\r\nb\r\nc\r\n", ("a\nb", "x\ny"), gives="x\r\ny\r\nc\r\n"),
    exactly(
        "CRLF, more lines than before", "a\r\nb\r\n", ("a\n", "x\ny\n"), gives="x\r\ny\r\nb\r\n"
    ),
    exactly("CRLF, quoted with CRLF", "a\r\nb\r\n", ("a\r\nb", "x\r\ny"), gives="x\r\ny\r\n"),
    exactly("CRLF, new text with LF", "a\r\nb\r\n", ("a\r\nb", "x\ny"), gives="x\r\ny\r\n"),
    exactly("CRLF, a part of a line", "a b\r\nc\r\n", ("b", "x"), gives="a x\r\nc\r\n"),
    exactly("CRLF, a removed line", "a\r\nb\r\nc\r\n", ("b\n", ""), gives="a\r\nc\r\n"),
    exactly("CRLF, a new line in a line", "a b\r\n", ("a b", "a\nb"), gives="a\r\nb\r\n"),
    exactly("CRLF without a final one", "a\r\nb", ("a", "x\ny"), gives="x\r\ny\r\nb"),
    exactly("CRLF, the last line without a final one", "a\r\nb", ("b", "c"), gives="a\r\nc"),
    exactly("LF, quoted with CRLF", "a\nb\n", ("a\r\nb", "x\r\ny"), gives="x\ny\n"),
    exactly("LF, new text with CRLF", "a\nb\n", ("a", "x\r\ny"), gives="x\ny\nb\n"),
    exactly("a file without line ends takes them as sent", "a", ("a", "x\r\ny"), gives="x\r\ny"),
    exactly("CR alone", "a\rb\rc\r", ("a\nb", "x\ny\nz"), gives="x\ry\rz\rc\r"),
    exactly("CR alone, quoted with CR", "a\rb\r", ("a\rb", "x\ry"), gives="x\ry\r"),
    exactly("a lone CR in a line is text", "a\rb\nc\n", ("c", "d"), gives="a\rb\nd\n"),
    exactly("a lone CR in the place is text", "a\rb\nc\n", ("a\rb", "x"), gives="x\nc\n"),
    exactly("CR before CRLF stays", "a\r\r\nb\r\n", ("b", "c"), gives="a\r\r\nc\r\n"),
    exactly("mixed: the others stay", "a\r\nb\nc\r\n", ("b", "x"), gives="a\r\nx\nc\r\n"),
    exactly(
        "mixed: each line keeps its own",
        "a\r\nb\nc\r\n",
        ("a\nb\nc", "a\nx\nc"),
        gives="a\r\nx\nc\r\n",
    ),
    exactly(
        "mixed: changed lines in turn", "a\r\nb\nc\r\n", ("a\nb\n", "x\ny\n"), gives="x\r\ny\nc\r\n"
    ),
    exactly(
        "mixed: a line added after LF", "a\r\nb\nc\r\n", ("b\n", "b\nx\n"), gives="a\r\nb\nx\nc\r\n"
    ),
    exactly(
        "mixed: a line added after CRLF", "a\r\nb\nc\n", ("a\n", "a\nx\n"), gives="a\r\nx\r\nb\nc\n"
    ),
    exactly(
        "mixed: a line added in a line", "a\r\nb\nc\n", ("b", "b\nx"), gives="a\r\nb\r\nx\nc\n"
    ),
    exactly("mixed: the first line", "a\nb\r\n", ("a", "x\ny"), gives="x\ny\nb\r\n"),
    exactly("mixed: a removed line", "a\r\nb\nc\r\n", ("b\n", ""), gives="a\r\nc\r\n"),
    exactly("mixed: two lines joined", "a\r\nb\nc\r\n", ("a\nb", "ab"), gives="ab\nc\r\n"),
    exactly("LF only", "a\nb\n", ("a\n", "x\ny\n"), gives="x\ny\nb\n"),
    exactly("no final newline, elsewhere", "a\nb", ("a", "x"), gives="x\nb"),
    exactly("no final newline, the last line", "a\nb", ("b", "c"), gives="a\nc"),
    exactly("a final newline that is asked for", "a\nb", ("b", "b\n"), gives="a\nb\n"),
    exactly("a final newline taken away", "a\nb\n", ("b\n", "b"), gives="a\nb"),
    exactly("several final newlines", "a\n\n\n", ("a", "b"), gives="b\n\n\n"),
    tolerantly("no final newline, quoted with one", "a\nb", ("b\n", "c\n"), gives="a\nc"),
    tolerantly(
        "no final newline, several lines", "a\nb\nc", ("b\nc\n", "x\ny\nz\n"), gives="a\nx\ny\nz"
    ),
    tolerantly("no final newline, the last line removed", "a\nb", ("b\n", ""), gives="a"),
    tolerantly("no final newline, all removed", "a", ("a\n", ""), gives=""),
    tolerantly("no final newline in a CRLF file", "a\r\nb", ("b\n", "x\ny\n"), gives="a\r\nx\r\ny"),
    tolerantly("no final newline, quoted with CRLF", "a\nb", ("b\r\n", "c\r\n"), gives="a\nc"),
    tolerantly("the final newline stays", "a\n\tb  \n", ("    b\n", "    c"), gives="a\n\tc\n"),
    tolerantly(
        "CRLF, at another depth",
        "if x:\r\n\ta\r\n",
        ("    a", "    b\n    c"),
        gives="if x:\r\n\tb\r\n\tc\r\n",
    ),
    tolerantly(
        "CRLF with blanks before it", "a  \r\nb\r\n", ("a\nb", "a\nc"), gives="a  \r\nc\r\n"
    ),
    tolerantly(
        "mixed, at another depth",
        "\ta\r\n\tb\n",
        ("  a\n  b", "  a\n  x\n  b"),
        gives="\ta\r\n\tx\r\n\tb\n",
    ),
    exactly("BOM, the first line", BOM + "a\nb\n", ("a", "x"), gives=BOM + "x\nb\n"),
    exactly("BOM, the whole first line", BOM + "a\nb\n", ("a\nb\n", "x\n"), gives=BOM + "x\n"),
    exactly("BOM, written in both", BOM + "a\n", (BOM + "a", BOM + "x"), gives=BOM + "x\n"),
    exactly("BOM, written in the old text only", BOM + "a\n", (BOM + "a", "x"), gives=BOM + "x\n"),
    exactly("BOM, written in the new text only", BOM + "a\n", ("a", BOM + "x"), gives=BOM + "x\n"),
    exactly("BOM, another line", BOM + "a\nb\n", ("b", "x"), gives=BOM + "a\nx\n"),
    exactly("BOM, everything away", BOM + "a\n", ("a\n", ""), gives=BOM),
    exactly("BOM and CRLF", BOM + "a\r\nb\r\n", ("a\nb", "x\ny"), gives=BOM + "x\r\ny\r\n"),
    exactly("no BOM, written in the old text", "a\n", (BOM + "a", BOM + "x"), gives="x\n"),
    exactly("a BOM in the middle is text", "a\n" + BOM + "b\n", (BOM + "b", "c"), gives="a\nc\n"),
    tolerantly("BOM, tolerantly", BOM + "“a”\n", ('"a"', '"b"'), gives=BOM + "“b”\n"),
    everywhere(
        "in a CRLF file", "a\r\na\r\n", "a\n", "b\nc\n", gives="b\r\nc\r\nb\r\nc\r\n", count=2
    ),
    everywhere("in a mixed file", "a\r\na\n", "a\n", "b\n", gives="b\r\nb\n", count=2),
)
