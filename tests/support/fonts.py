"""Fixed-width fonts of this machine, for drawing pictures of the screen."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from PIL import ImageFont

FAMILIES: dict[str, dict[frozenset[str], str]] = {
    family: {
        frozenset(): plain,
        frozenset({"bold"}): bold,
        frozenset({"italic"}): italic,
        frozenset({"bold", "italic"}): both,
    }
    for family, plain, bold, italic, both in [
        (
            "DejaVu Sans Mono",
            "DejaVuSansMono.ttf",
            "DejaVuSansMono-Bold.ttf",
            "DejaVuSansMono-Oblique.ttf",
            "DejaVuSansMono-BoldOblique.ttf",
        ),
        (
            "Liberation Mono",
            "LiberationMono-Regular.ttf",
            "LiberationMono-Bold.ttf",
            "LiberationMono-Italic.ttf",
            "LiberationMono-BoldItalic.ttf",
        ),
        ("Menlo", "Menlo.ttc", "Menlo.ttc", "Menlo.ttc", "Menlo.ttc"),
    ]
}
"""File names by style; the first family found is used."""

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts")


class NoFont(Exception):
    """No known fixed-width font is installed; the text says what to install."""


@functools.cache
def font(styles: frozenset[str], size: int) -> ImageFont.FreeTypeFont:
    """The font for ``styles`` (``bold``, ``italic``) in pixels."""
    files, names = _family()
    wanted = names[styles & {"bold", "italic"}]
    return ImageFont.truetype(str(files.get(wanted, files[names[frozenset()]])), size)


@functools.cache
def _family() -> tuple[dict[str, Path], dict[frozenset[str], str]]:
    files = {path.name: path for path in _installed()}
    for names in FAMILIES.values():
        if names[frozenset()] in files:
            return files, names
    raise NoFont(
        f"No fixed-width font found ({', '.join(FAMILIES)}). "
        "Install one, like Debian's fonts-dejavu-core."
    )


def _installed() -> Iterator[Path]:
    if lister := shutil.which("fc-list"):
        listing = subprocess.run([lister, "--format", "%{file}\n"], capture_output=True, text=True)
        yield from map(Path, listing.stdout.splitlines())
    for folder in FOLDERS:
        yield from Path(folder).rglob("*.tt[fc]")
