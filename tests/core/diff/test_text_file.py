"""Bytes as text and back, and hidden characters made visible."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.diff.text_file import (
    LARGEST_EDIT,
    NotTextError,
    decode,
    encode,
    normalize_newlines,
    split_lines,
)
from agentchat.core.text import escape_hidden_characters, has_hidden_characters


@settings(deadline=None)
@given(data=st.binary().filter(lambda data: b"\0" not in data))
def test_bytes_survive_being_text(data: bytes) -> None:
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert encode(decode(data, "f")) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x01\xff", "f is binary (it holds NUL bytes)"),
        ("héllo".encode("utf-16"), "f is UTF-16 or UTF-32, not UTF-8"),
        ("héllo".encode("utf-32"), "f is UTF-16 or UTF-32, not UTF-8"),
        (b"x" * (LARGEST_EDIT + 1), "f is larger than 64 MiB"),
    ],
)
def test_what_is_no_text_is_refused_by_name_and_reason(data: bytes, reason: str) -> None:
    with pytest.raises(NotTextError) as refusal:
        decode(data, "f")
    assert str(refusal.value) == f"{reason}, so it cannot be edited as text. Nothing was changed."


@settings(deadline=None)
@given(text=st.text("a\r\n\u2028\f"))
def test_lines_joined_are_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


@settings(deadline=None)
@given(text=st.text("ab\r\n"))
def test_every_offset_with_plain_newlines_has_its_original(text: str) -> None:
    plain = normalize_newlines(text)
    offsets = [plain.raw_offset(at) for at in range(len(plain.text) + 1)]
    pieces = [text[start:end] for start, end in pairwise(offsets)]
    assert "".join(pieces) == text
    assert [piece.replace("\r\n", "\n") for piece in pieces if piece != "\r"] == [
        char for char, piece in zip(plain.text, pieces, strict=True) if piece != "\r"
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a", ""), ("a\nb\n", "\n"), ("a\r\nb\r\n", "\r\n"), ("a\rb", "\r"), ("a\r\nb\n", "mixed")],
)
def test_the_kind_of_line_end_is_known(text: str, kind: str) -> None:
    assert normalize_newlines(text).kind == kind


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm \u202ex", "rm <U+202E>x"),
        ("a\u200bb", "a<U+200B>b"),
        ("\x1b[31m", "<U+001B>[31m"),
        ("a\rb", "a<U+000D>b"),
        ("\x7f\x85", "<U+007F><U+0085>"),
        ("\ufeffa", "<U+FEFF>a"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("v\ufe0f", "v<U+FE0F>"),
        ("\u3164", "<U+3164>"),
        ("bad\udcff", "bad<0xFF>"),
        ("\ud800", "<U+D800>"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert has_hidden_characters(text)
    assert escape_hidden_characters(text) == shown


@pytest.mark.parametrize("text", ["", "plain", "tab\tand\nnewline", "größe é𝄞 日本語 שלום", "“—”"])
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert not has_hidden_characters(text)
    assert escape_hidden_characters(text) == text
