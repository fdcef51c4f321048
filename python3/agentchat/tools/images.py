"""Images in files: which kind they are, and small enough for a model to look at."""

from __future__ import annotations

import io

from agentchat.core.limits import IMAGE_PIXELS
from agentchat.core.messages import Image

LARGEST = 32 * 1024 * 1024
"""Bytes of an image file that is read at all."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class UndecodableImage(Exception):
    """The bytes begin like an image and are none."""


def kind_of(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; ``None`` if it is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def scale_down(data: bytes, kind: str, pixels: int = IMAGE_PIXELS) -> tuple[Image, str]:
    """Return the image, scaled down if wider or higher than ``pixels``, and a note about that.

    Raises:
        Undecodable: says why.
    """
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data)) as image:
            width, height = image.size
            if max(width, height) <= pixels:
                image.verify()
                return Image(kind, data), ""
            image.draft("RGB", (pixels, pixels))
            image.thumbnail((pixels, pixels))
            scaled, kind = _encoded(image, kind)
            shown = f"{image.size[0]}x{image.size[1]}"
    except (OSError, SyntaxError, ValueError, Warning, Pillow.DecompressionBombError) as error:
        raise UndecodableImage(str(error)) from error
    note = f"[Scaled down from {width}x{height} to {shown} pixels.]"
    return Image(kind, scaled), note


def _encoded(image: object, kind: str) -> tuple[bytes, str]:
    """Return the scaled image in its own format; the first picture of a moving one as PNG."""
    from PIL import Image as Pillow

    assert isinstance(image, Pillow.Image)
    out = io.BytesIO()
    name = {"image/jpeg": "JPEG", "image/webp": "WEBP"}.get(kind, "PNG")
    image.save(out, name)
    return out.getvalue(), f"image/{name.lower()}"
