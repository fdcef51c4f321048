"""``read``: the text as it stands, within limits, and honest about what is left out."""

from __future__ import annotations

import io
import os
import resource
import time
import zlib

import pytest
from PIL import Image

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.builtin.read import TOOL
from tests.tools.conftest import Bench


def numbered(count: int) -> str:
    return "".join(f"line {n}\n" for n in range(1, count + 1))


@pytest.mark.parametrize(
    ("count", "given", "first", "last", "note"),
    [
        (100, {}, 1, 100, ""),
        (100, {"offset": 0}, 1, 100, ""),
        (2500, {"offset": 2400}, 2400, 2500, ""),
        (100, {"limit": 10}, 1, 10, "[90 more lines in file. Use offset=11 to continue.]"),
        (100, {"offset": 41, "limit": 20}, 41, 60,
         "[40 more lines in file. Use offset=61 to continue.]"),
        (100, {"offset": 95, "limit": 50}, 95, 100, ""),
        (100, {"offset": 91, "limit": 10}, 91, 100, ""),
        (2500, {"limit": 2100}, 1, 2000,
         "[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]"),
        (2500, {}, 1, 2000, "[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]"),
        (2000, {}, 1, 2000, ""),
        (5000, {"offset": 2001.0}, 2001, 4000,
         "[Showing lines 2001-4000 of 5000. Use offset=4001 to continue.]"),
    ],
)  # fmt: skip
async def test_lines_within_the_limits_are_returned(
    bench: Bench, count: int, given: dict[str, int], first: int, last: int, note: str
) -> None:
    bench.write("f", numbered(count))
    result = await bench.call(TOOL, path="f", **given)
    body = "".join(f"line {n}\n" for n in range(first, last + 1))
    assert result.text == (f"{body}\n{note}" if note else body)


async def test_a_long_file_is_cut_by_bytes_at_a_whole_line(bench: Bench) -> None:
    line = "é" * 500 + "\n"
    bench.write("f", line * 300)
    result = await bench.call(TOOL, path="f")
    note = "[Showing lines 1-261 of 300. Use offset=262 to continue.]"
    assert result.text == line * 261 + "\n" + note


@pytest.mark.parametrize("ending", ["", "\n", "\nmore\n"])
async def test_a_line_over_the_limit_is_not_shown(bench: Bench, ending: str) -> None:
    bench.write("f", "x" * (10 * 1024 * 1024) + ending)
    result = await bench.call(TOOL, path="f")
    over = "over the 256 KiB limit; read part of it with bash.]"
    assert result.text == f"[Line 1 is 10240 KiB, {over}"


async def test_lines_before_one_over_the_limit_are_shown(bench: Bench) -> None:
    bench.write("f", "a\nb\n" + "x" * 300_000 + "\nc\n")
    assert (await bench.call(TOOL, path="f")).text == (
        "a\nb\n\n[Showing lines 1-2 of 4. Use offset=3 to continue.]"
    )
    assert (await bench.call(TOOL, path="f", offset=3)).text.startswith("[Line 3 is 293 KiB")
    assert (await bench.call(TOOL, path="f", offset=4)).text == "c\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
        (b"no end", "no end"),
        (b"\xef\xbb\xbfwith mark\n", "with mark\n"),
        (b"## You\n```\n", "## You\n```\n"),
        ("a\nb".encode("utf-16"), "a\nb\n\n[The file is UTF-16; shown as UTF-8.]"),
    ],
)  # fmt: skip
async def test_the_text_is_returned_as_it_stands(bench: Bench, content: bytes, text: str) -> None:
    bench.write("f", content)
    assert (await bench.call(TOOL, path="f")).text == text


async def test_bytes_that_are_no_utf8_are_marked_and_the_text_is_labelled(bench: Bench) -> None:
    bench.write("f", b"caf\xe9\n")
    result = await bench.call(TOOL, path="f")
    assert result.text.splitlines()[0] == "caf\ufffd"
    assert "not valid UTF-8" in result.text


@pytest.mark.parametrize("content", [b"\x00\x01\xff", b"text\n" * 9000 + b"\0\0", b"\xff" * 50])
async def test_a_binary_file_is_labelled_with_its_size(bench: Bench, content: bytes) -> None:
    bench.write("f", content)
    result = await bench.call(TOOL, path="f", offset=2 if content.startswith(b"t") else 1)
    if content.startswith(b"t"):
        result = await bench.call(TOOL, path="f", offset=9001)
    assert f"binary file of {len(content)} bytes" in result.text
    assert "\0" not in result.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "missing"}, r"Path not found: missing"),
        ({"path": "d"}, r"directory.*: d"),
        ({"path": "three", "offset": 4}, r"offset 4 is beyond the end of three.*3 lines"),
        ({"path": "empty", "offset": 2}, r"beyond the end of empty.*0 lines"),
        ({"path": "three", "offset": -1}, r"negative"),
        ({"path": "pipe"}, r"pipe"),
        ({"path": "scp://h/x"}, r"not a plain path"),
    ],
)
async def test_what_cannot_be_read_is_a_clear_error(
    bench: Bench, given: dict[str, object], message: str
) -> None:
    bench.write("three", "1\n2\n3\n")
    bench.write("empty", "")
    (bench.root / "d").mkdir()
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(ToolError, match=message):
        await bench.call(TOOL, **given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"path": "f", "offset": "abc"}, ("offset", "Input should be a valid integer")),
        ({"path": "f", "limit": 0}, ("limit", "Input should be greater than or equal to 1")),
        ({}, ("path", "Field required")),
        ({"path": "f", "lines": 3}, ("lines", "Extra inputs are not permitted")),
        ({"path": 3}, ("path", "Input should be a valid string")),
    ],
)
def test_arguments_that_do_not_fit_are_named(
    given: dict[str, object], problem: tuple[str, str]
) -> None:
    with pytest.raises(ArgumentError) as raised:
        TOOL.arguments.parse(given)
    assert raised.value.problems == (problem,)


async def test_an_at_sign_before_a_path_is_dropped_unless_it_is_its_name(bench: Bench) -> None:
    bench.write("src/a.py", "plain\n")
    bench.write("@real", "real\n")
    assert (await bench.call(TOOL, path="@src/a.py")).text == "plain\n"
    assert (await bench.call(TOOL, path="@real")).text == "real\n"


async def test_a_file_of_200_megabytes_is_answered_soon_and_keeps_little_in_memory(
    bench: Bench,
) -> None:
    line = b"x" * 99 + b"\n"
    path = bench.root / "big"
    with path.open("wb") as file:
        for _ in range(200):
            file.write(line * 10_000)
    began, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await bench.call(TOOL, path="big", offset=1_990_001, limit=10)
    assert time.process_time() - began < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 32 * 1024
    assert result.text.endswith("[9990 more lines in file. Use offset=1990011 to continue.]")


def picture(kind: str, size: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
async def test_an_image_is_known_by_its_content(bench: Bench, kind: str) -> None:
    content = picture(kind, (20, 10))
    bench.write("f.txt", content)
    result = await bench.call(TOOL, path="f.txt")
    assert result.text == f"Read image file [image/{kind}]"
    assert [(image.mime, image.data) for image in result.images] == [(f"image/{kind}", content)]


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
async def test_a_large_image_is_scaled_down(bench: Bench, kind: str) -> None:
    bench.write("f", picture(kind, (4000, 1000)))
    result = await bench.call(TOOL, path="f")
    (image,) = result.images
    assert result.text.splitlines()[0] == f"Read image file [image/{kind}]"
    with Image.open(io.BytesIO(image.data)) as scaled:
        assert scaled.size == (2000, 500)
        assert f"image/{(scaled.format or '').lower()}" == image.mime


def chunk(kind: bytes, data: bytes, checksum: int | None = None) -> bytes:
    right = zlib.crc32(kind + data)
    end = right if checksum is None else checksum
    return len(data).to_bytes(4, "big") + kind + data + end.to_bytes(4, "big")


async def test_a_wrong_checksum_of_what_viewers_ignore_costs_no_picture(bench: Bench) -> None:
    content = picture("png", (20, 10))
    head, rest = content[:33], content[33:]
    bench.write("f", head + chunk(b"tEXt", b"a\0b", 7) + chunk(b"tIME", b"x" * 7) + rest)
    (image,) = (await bench.call(TOOL, path="f")).images
    assert image.data == head + chunk(b"tIME", b"x" * 7) + rest
    bench.write("f", content[:29] + b"1234" + rest)
    with pytest.raises(ToolError, match="looks like image/png but is damaged"):
        await bench.call(TOOL, path="f")


async def test_a_damaged_image_is_a_clear_error(bench: Bench) -> None:
    bench.write("f", picture("png", (20, 10))[:40])
    with pytest.raises(ToolError, match="looks like image/png but is damaged"):
        await bench.call(TOOL, path="f")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"path": "src/a.py", "offset": 10, "limit": 15}, "read src/a.py:10-24"),
        ({"path": "a", "limit": 5}, "read a:1-5"),
        ({"path": "a", "offset": 7}, "read a:7"),
        ({"path": "a"}, "read a"),
        ({}, "read ..."),
    ],
)
def test_a_call_is_one_line(given: dict[str, object], line: str) -> None:
    assert TOOL.title(given) == line
