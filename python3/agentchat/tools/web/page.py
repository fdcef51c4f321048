"""The text of a page: HTML as Markdown, other text as it is."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from agentchat.core.errors import ToolError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPE = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-sh)"
    r"|application/(?:json-.*|x-ndjson|x-yaml|sql|graphql)|image/svg\+xml"
)
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.I | re.S
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_BLANK_LINES = re.compile(r"\n{3,}")
_UNREAD = ("script", "style", "noscript", "template", "svg", "iframe", "object", "nav", "img")
_SNIFFED_BYTES = 2_048


def page_text(data: bytes, content_type: str, charset: str | None, url: str) -> str | None:
    """Return the text of a page, or ``None`` if it has none, like an image.

    Args:
        content_type: as the server sent it, in lower case; may be empty.
        charset: the encoding that the server names, if it does.
        url: where the page is, for its relative links.
    """
    if content_type in _HTML_TYPES or (not content_type and _LOOKS_LIKE_HTML.match(data)):
        return html_to_markdown(data, charset, url)
    if content_type and not _TEXT_TYPE.fullmatch(content_type):
        return None
    if b"\0" in data[:_SNIFFED_BYTES] and not _is_wide(charset, data):
        return None
    return data.decode(_known(charset) or "utf-8-sig", "replace")


def html_to_markdown(data: bytes, charset: str | None, url: str) -> str:
    """Return what a reader of the page sees, as Markdown; hidden elements are left out."""
    try:
        from bs4 import BeautifulSoup
        from bs4.dammit import EncodingDetector
    except ImportError as error:
        raise ToolError(f"{error}. The user has to run :AgentInstall.") from error

    encoding = _known(charset or EncodingDetector.find_declared_encoding(data, is_html=True))
    text = _DECLARATION.sub("", data.decode(encoding or "utf-8-sig", "replace"), count=1)
    soup = BeautifulSoup(text, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title is not None else ""
    for tag in soup.find_all(_is_unread):
        tag.decompose()
    for link in soup.find_all("a", href=True):
        _make_absolute(link, url)
    body = _convert(soup, _main_part(soup))
    return f"# {title}\n\n{body}" if title and not body.startswith("# ") else body


def _is_unread(tag: Tag) -> bool:
    return (
        tag.name in _UNREAD
        or tag.name == "title"
        or tag.has_attr("hidden")
        or str(tag.get("aria-hidden")).lower() == "true"
        or _HIDDEN_STYLE.search(str(tag.get("style", ""))) is not None
    )


def _make_absolute(link: Tag, url: str) -> None:
    """Give a link its whole address; one that runs code loses it."""
    href = str(link["href"]).strip()
    try:
        target = urljoin(url, href)
    except ValueError:
        target = ""
    if target.startswith(("http://", "https://", "mailto:")):
        link["href"] = target
    else:
        del link["href"]


def _main_part(soup: BeautifulSoup) -> Tag:
    """Return the only ``main`` or ``article`` of a page, or else all of it."""
    for name in ("main", "article"):
        found = soup.find_all(name, limit=2)
        if len(found) == 1:
            return found[0]
    return soup


def _convert(soup: BeautifulSoup, part: Tag) -> str:
    from markdownify import MarkdownConverter

    options: dict[str, Any] = {"heading_style": "atx", "bullets": "-", "escape_misc": False}
    try:
        text: str = MarkdownConverter(**options).convert_soup(part)
    except RecursionError:  # nested deeper than any page for people
        text = part.get_text("\n", strip=True)
    lines = (line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _known(charset: str | None) -> str | None:
    """Return an encoding if Python has it."""
    try:
        return codecs.lookup(charset).name if charset else None
    except LookupError:
        return None


def _is_wide(charset: str | None, data: bytes) -> bool:
    """Whether bytes of zero are part of the text: UTF-16 and UTF-32."""
    return bool(charset and charset.lower().startswith(("utf-16", "utf-32")))
