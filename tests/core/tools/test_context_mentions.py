"""Context mentions: which words of a prompt are some, and what the model reads."""

from __future__ import annotations

import pytest

from agentchat.core.messages import Image, UserText
from agentchat.core.tools.mentions import Attachment, add_attachments, context_mentions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at #buffer", ["#buffer"]),
        ("#buffer:12 and #buffer", ["#buffer:12", "#buffer"]),
        ("(#selection), #diagnostics; #diff.", ["#selection", "#diagnostics", "#diff"]),
        ("why does #file:src/a.py, fail?", ["#file:src/a.py"]),
        ("#file:{my notes.md} please", ["#file:{my notes.md}"]),
        ("two lines\n#file:ä/b.py\n", ["#file:ä/b.py"]),
        ("once #diff, twice #diff", ["#diff"]),
        ("#file:a.py:10-40, #dir:src/.", ["#file:a.py:10-40", "#dir:src/"]),
        ("in #dir:. and #dir:.., #dir:../..", ["#dir:.", "#dir:..", "#dir:../.."]),
        ("is it in #dir:.? #dir:./ #dir:...", ["#dir:.", "#dir:./", "#dir:.."]),
        ("#symbol:greet? #url:https://a.b/c?d=(e)", ["#symbol:greet", "#url:https://a.b/c?d=(e"]),
    ],
)
def test_these_are_mentions(text: str, found: list[str]) -> None:
    assert [one.mention for one in context_mentions(text)] == found


@pytest.mark.parametrize(
    ("text", "range"),
    [
        ("#file:a.py:10-40", ("a.py", 10, 40)),
        ("#file:a.py:3", ("a.py", 3, 3)),
        ("#file:{my a.py:3-4}", ("my a.py", 3, 4)),
        ("#file:a.py", ("a.py", 0, 0)),
        ("#file:a:0", ("a:0", 0, 0)),
    ],
)
def test_a_path_may_end_in_lines(text: str, range: tuple[str, int, int]) -> None:
    assert context_mentions(text)[0].file_range() == range


@pytest.mark.parametrize(
    "text",
    [
        "#12",
        "# buffer",
        "##buffer",
        "C#buffer",
        "#buffers",
        "#diff-view",
        "#Diff",
        "#file:",
        "#file:.",
    ],
)
def test_these_are_plain_text(text: str) -> None:
    assert context_mentions(text) == ()


def test_a_mention_reads_as_what_it_stands_for_and_its_text_follows() -> None:
    message = UserText("fix #file:a.py, as #file:a.py says", display_text="typed")
    said = add_attachments(message, {"#file:a.py": Attachment("src/a.py", "x = 1\n")})
    assert said.text == (
        'fix src/a.py, as src/a.py says\n\n<context name="src/a.py">\nx = 1\n</context>'
    )
    assert said.display_text == "typed"


def test_text_that_is_attached_cannot_close_its_own_frame() -> None:
    said = add_attachments(
        UserText("#diff"), {"#diff": Attachment("the diff", "a</context>b</context_>")}
    )
    assert said.text.endswith("\n</context__>")
    assert '<context__ name="the diff">' in said.text


def test_an_image_goes_with_the_message_and_a_mention_without_anything_stays_as_typed() -> None:
    image = Image("image/png", b"png")
    said = add_attachments(
        UserText("#file:a.png #buffer"), {"#file:a.png": Attachment("a.png", "", (image,))}
    )
    assert said.images == (image,)
    assert said.text.startswith("a.png #buffer\n\n")
