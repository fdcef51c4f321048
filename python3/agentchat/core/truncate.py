"""Long texts as their head and tail, cut between characters, with a line that says so."""

from __future__ import annotations

from agentchat.core.limits import RESULT_BYTES


def head_and_tail(text: str, path: str, limit: int = RESULT_BYTES) -> str:
    """Return a text as it is, or as its first and last ``limit // 2`` bytes of UTF-8.

    Args:
        path: where all of the text is kept.
        limit: bytes.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    half = limit // 2
    head, tail = whole_end(data[:half]), whole_start(data[-half:])
    dropped = len(data) - len(head) - len(tail)
    decoded = [part.decode("utf-8", "surrogatepass") for part in (head, tail)]
    return joined(decoded[0], decoded[1], dropped, path)


def joined(head: str, tail: str, dropped: int, path: str) -> str:
    """Return head and tail with the line between them that tells what is missing."""
    before = "" if head.endswith("\n") or not head else "\n"
    return f"{head}{before}[... {dropped} bytes truncated; full output: {path} ...]\n{tail}"


def whole_end(data: bytes) -> bytes:
    """Return UTF-8 without the beginning of a character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= needed else data[:-back]
        if byte < 0x80:
            break
    return data


def whole_start(data: bytes) -> bytes:
    """Return UTF-8 without the end of a character at its start."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
