"""Text for people and models: hidden characters, long texts, masked secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentchat.core.limits import RESULT_BYTES

# Every control character but newline and tab; what Unicode calls default-ignorable (zero-width,
# bidirectional, fillers, variation selectors, tags); separators that look like nothing; the
# lone surrogates that stand for bytes which are no UTF-8.
_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_HIDDEN_OR_BREAK = re.compile(f"{_HIDDEN.pattern}|\n")


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal may obey, C1 included; newline and tab aside. It takes no text to pieces, as
escaping joiners and variation selectors would."""


def escape_control_characters(text: str) -> str:
    """Return the text with what a terminal may obey written like ``<U+001B>``."""
    return _CONTROL.sub(lambda match: escape_character(match.group()), text)


def has_hidden_characters(text: str) -> bool:
    """Whether the text contains a character that :func:`escape_hidden_characters` escapes."""
    return _HIDDEN.search(text) is not None


def escape_hidden_characters(text: str) -> str:
    """Return the text with every hidden character written like ``<U+202E>``.

    A byte that is not UTF-8 (decoded with ``surrogateescape``) is written like ``<0xFF>``.
    """
    return _HIDDEN.sub(lambda match: escape_character(match.group()), text)


def escape_line(text: str) -> str:
    """Return the text on one line: line breaks and tabs are written like hidden characters."""
    return escape_hidden_characters(text).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def hidden_character_offsets(line: str) -> list[int]:
    """Return the offsets of all hidden characters and line breaks."""
    return [match.start() for match in _HIDDEN_OR_BREAK.finditer(line)]


def escape_character(char: str) -> str:
    """Return the visible form of one hidden character."""
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"<0x{code - 0xDC00:02X}>"
    return f"<U+{code:04X}>"


def drop_overwritten(text: str) -> str:
    """Return the text as a terminal leaves it: of a line with carriage returns the last state."""
    if "\r" not in text:
        return text
    return "\n".join(map(_last_state, text.split("\n")))


def _last_state(line: str) -> str:
    """Return a line from after the last carriage return that something follows."""
    end = len(line.rstrip("\r"))
    return line[line.rfind("\r", 0, end) + 1 :]


HEAD, TAIL = 4, 3
"""Lines of an excerpt; with the two others no more than a block shows unfolded."""

WIDEST = 200
"""Most characters of a line in an excerpt."""

ECHO_CHARACTERS = 500
"""Most characters of the model's own text that an error repeats."""


def excerpt(text: str, path: str) -> list[str]:
    """Return the first and last lines of a text, and the path of the full text.

    Args:
        text: the text for the model, possibly truncated.
        path: the file with the full text; the last line ends in it, so that an editor can open it.
    """
    lines = text.rstrip("\n").split("\n")
    if len(lines) > HEAD + TAIL + 1:
        lines = [*lines[:HEAD], "[...]", *lines[-TAIL:]]
    return [*map(_clip_line, lines), f"full output: {path}"]


def _clip_line(line: str) -> str:
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 4]} ..."


def end_sentence(text: str) -> str:
    """Return a text that ends like a sentence."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", "…", ":")) or not text else f"{text}."


def clip(text: str, limit: int = ECHO_CHARACTERS) -> str:
    """Return a text without its middle if it has more than ``limit`` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}[... {len(text) - 2 * half} characters ...]{text[-half:]}"


def head_and_tail(text: str, path: str, limit: int = RESULT_BYTES) -> str:
    """Return a short text unchanged, and a long one as its first and last ``limit // 2`` bytes.

    Args:
        path: the file with the full text.
        limit: bytes of UTF-8.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    half = limit // 2
    head, tail = drop_partial_end(data[:half]), drop_partial_start(data[-half:])
    dropped = len(data) - len(head) - len(tail)
    decoded = [part.decode("utf-8", "surrogatepass") for part in (head, tail)]
    return join_head_and_tail(decoded[0], decoded[1], dropped, path)


def join_head_and_tail(head: str, tail: str, dropped: int, path: str) -> str:
    """Return head and tail with a line between them about the missing bytes."""
    before = "" if head.endswith("\n") or not head else "\n"
    return f"{head}{before}[... {dropped} bytes truncated; full output: {path} ...]\n{tail}"


def drop_partial_end(data: bytes) -> bytes:
    """Return UTF-8 without the beginning of a character at its end."""
    for length in range(1, min(4, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            complete = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if length >= complete else data[:-length]
        if byte < 0x80:
            break
    return data


def drop_partial_start(data: bytes) -> bytes:
    """Return UTF-8 without the end of a character at its start."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]


_TOKENS = {
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}",
    "GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "AWS key": r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
    "Google key": r"AIza[0-9A-Za-z_-]{35}",
    "Stripe key": r"[sr]k_live_[A-Za-z0-9]{20,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-[A-Za-z0-9_-]{50,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    # Words joined by hyphens look alike: a key has a long run of letters and digits.
    "API key": r"sk-(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z0-9]{16})[A-Za-z0-9_-]{20,}",
    "Groq key": r"gsk_[A-Za-z0-9]{40,}",
    "xAI key": r"xai-[A-Za-z0-9]{40,}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
_PARTS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "xox"),
    *("xapp-", "AIza", "k_live_", "npm_", "pypi-", "hf_", "SG.", "sk-", "eyJ", "gsk_", "xai-"),
)
"""Texts of which a token contains one: looking for them is much faster than the expression."""
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
    r"[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_NAMES = list(_TOKENS)
_TOKEN = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(f"({p})" for p in _TOKENS.values()) + ")")


_PLACES = (
    # https://user:password@host, https://token@host
    re.compile(
        r"(?<=://)(?P<before>[^\s/@:\"'<>${}]*:)?"
        r"(?P<secret>(?(before)[^\s/@\"'<>${}]{8,}|[A-Za-z0-9_-]{20,}))(?=@[\w.-])"
    ),
    # Authorization: Bearer …
    re.compile(
        r"(?i:(?P<before>\b(?:authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|token)\s+"
        r"|(?:x-api-key|private-token|api-key)[\"']?\s*[:=]\s*[\"']?)))"
        r"(?P<secret>[A-Za-z0-9+/=._~-]{16,})"
    ),
    # MISTRAL_API_KEY=…: a value without a form of its own, so one with letters and digits
    re.compile(
        r"(?P<before>\b[A-Z][A-Z0-9_]*(?:API_KEY|_TOKEN|_SECRET|_SECRET_KEY|_PASSWORD)"
        r"[\"']?\s*[:=]\s*[\"']?)"
        r"(?P<secret>(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{20,})"
    ),
)
"""Places in which a secret stands, whatever its form is."""
_PLACE_PARTS = re.compile(r"://[^\s/]*@|(?i:authorization|api.key|_token|_secret|_password)")

_known_values: set[str] = set()
SHORTEST_VALUE = 16
"""Characters of a key that is masked by its value: a shorter one may be a word."""


def mask_values(values: Iterable[str]) -> None:
    """Mask these texts, too, from now on and in the whole process: keys that the user has."""
    _known_values.update(value for value in values if len(value) >= SHORTEST_VALUE)


def mask_secrets(text: str) -> str:
    """Return a text in which each secret is replaced by ``[masked: KIND]``.

    Secrets are keys with a known prefix, what stands where a password does, and the values that
    :func:`mask_values` was given.
    """
    for value in _known_values:
        text = text.replace(value, "[masked: API key]")
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub("[masked: private key]", text)
    if any(part in text for part in _PARTS):
        text = _TOKEN.sub(lambda match: f"[masked: {_NAMES[(match.lastindex or 1) - 1]}]", text)
    if _PLACE_PARTS.search(text):
        for place in _PLACES:
            text = place.sub(lambda match: f"{match['before'] or ''}[masked: password]", text)
    return text
