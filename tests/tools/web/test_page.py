"""Pages as text: what a reader sees, and nothing that is hidden."""

from __future__ import annotations

import pytest

from agentchat.tools.web.page import html_to_markdown, page_text

URL = "https://a.example/docs/page"


def markdown(html: str) -> str:
    return html_to_markdown(html.encode(), None, URL)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<title>T</title><p>x</p>", "# T\n\nx"),
        ("<title>T</title><h1>H</h1>", "# H"),
        ("<p>a<script>b</script><style>c</style><noscript>d</noscript></p>", "a"),
        ("<p>a</p><p style='display: none'>b</p><p aria-hidden=true>c</p>", "a"),
        ("<nav>menu</nav><article><p>text</p></article>", "text"),
        ("<article>a</article> <article>b</article>", "a\n\nb"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<pre><code>x = 1\n  y</code></pre>", "```\nx = 1\n  y\n```"),
        ("<a href='x'>l</a>", "[l](https://a.example/docs/x)"),
        ("<a href='//b.example/y'>l</a>", "[l](https://b.example/y)"),
        ("<a href='javascript:go()'>l</a>", "l"),
        ("<a href='data:text/html,x'>l</a>", "l"),
        ("<a href='http://[x'>l</a>", "l"),
        ("<img src='x' onerror='y'>a", "a"),
        ("<p>a</p>\n\n\n\n<p>b</p>", "a\n\nb"),
        ("<?xml version='1.0'?><html><p>x</p></html>", "x"),
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
         "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("", ""),
        ("<p>not closed <b>bold", "not closed **bold**"),
    ],
)  # fmt: skip
def test_a_page_is_what_its_reader_sees(html: str, text: str) -> None:
    assert markdown(html) == text


def test_a_page_nested_beyond_measure_is_still_read() -> None:
    assert markdown("<div>" * 3000 + "deep" + "</div>" * 3000) == "deep"


def test_the_encoding_that_a_page_declares_is_used() -> None:
    page = '<meta charset="iso-8859-1"><p>né</p>'.encode("latin-1")
    assert html_to_markdown(page, None, URL) == "né"


@pytest.mark.parametrize(
    ("content_type", "is_text"),
    [
        ("text/css", True),
        ("application/ld+json", True),
        ("application/atom+xml", True),
        ("application/pdf", False),
        ("application/octet-stream", False),
        ("video/mp4", False),
    ],
)
def test_only_text_is_shown(content_type: str, is_text: bool) -> None:
    assert (page_text(b"x", content_type, None, URL) is not None) is is_text
