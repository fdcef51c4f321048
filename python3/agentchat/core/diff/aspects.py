"""Paths of what a change can alter besides the bytes of a file.

A change of files is bytes by path. A symlink, an empty folder and permission bits are bytes by
path, too: the path of the entry, two slashes, and the name of the *aspect*. A resolved path has no
two slashes in a row, so such a path is never that of a file. Whatever stores, compares, shows or
undoes a change needs to know nothing of this; only a workspace reads and writes aspects.

==========  =============================================  =========================
aspect      exists for                                     content
==========  =============================================  =========================
``link``    a symlink                                      its target and a line end
``folder``  a folder that is made or removed by itself     its mode, like ``755\\n``
``mode``    a file or folder whose mode is changed         its mode, like ``755\\n``
==========  =============================================  =========================
"""

from __future__ import annotations

LINK, FOLDER, MODE = "link", "folder", "mode"
ASPECTS = (LINK, FOLDER, MODE)
_NAMES = {LINK: "symlink", FOLDER: "folder", MODE: "mode"}
_MARK = "//"


def aspect_path(path: str, aspect: str) -> str:
    """Return the path of an aspect of an entry."""
    return f"{path}{_MARK}{aspect}"


def split_aspect(path: str) -> tuple[str, str]:
    """Return the path of the entry and the name of the aspect; an empty one for a file."""
    entry, mark, aspect = path.rpartition(_MARK)
    return (entry, aspect) if mark and entry and aspect in ASPECTS else (path, "")


def entry_of(path: str) -> str:
    """Return the path of the entry that a path is about."""
    return split_aspect(path)[0]


def shown_name(path: str, root: str) -> str:
    """Return the name of a path in messages: below ``root`` relative, with its aspect."""
    entry, aspect = split_aspect(path)
    name = entry.removeprefix(f"{root}/") if entry != root else "."
    return f"{name} ({_NAMES[aspect]})" if aspect else name


def mode_content(mode: int) -> bytes:
    """Return permission bits as the content of an aspect."""
    return b"%o\n" % (mode & 0o7777)


def read_mode(content: bytes) -> int:
    """Return the permission bits; raises ValueError for other content."""
    return int(content, 8) & 0o7777


def link_content(target: bytes) -> bytes:
    """Return the target of a symlink as the content of an aspect."""
    return target + b"\n"


def read_target(content: bytes) -> bytes:
    """Return the target of a symlink."""
    return content.removesuffix(b"\n")
