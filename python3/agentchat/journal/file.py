"""The journal of one chat on disk: appended to, never rewritten, written by one process only."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentchat.core.errors import UserError
from agentchat.journal.codec import mapped, pack, to_fields
from agentchat.journal.reader import measure, read
from agentchat.journal.records import Content, Record
from agentchat.journal.secrets import Secrets

FOLDER = "journals"
ENDING = ".msgpack"
_CHAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Journal:
    """One chat's journal, open for appending. Make one with ``Journal.open``."""

    def __init__(self, path: Path, handle: int, end: int, contents: Iterable[str]) -> None:
        self.path = path
        self._handle = handle
        self._end = end
        self._contents = set(contents)
        self._secrets = Secrets()

    @classmethod
    def open(
        cls, state_dir: str | os.PathLike[str], chat: str, secrets: Iterable[str] = ()
    ) -> Journal:
        """Open the journal of ``chat`` under ``state_dir``, or begin it; a torn tail is cut off.

        Args:
            secrets: values that are never written, like the key of a model server.

        Raises:
            UserError: another process writes it, or the disk does not let us.
        """
        path = journal_path(state_dir, chat)
        try:
            return cls._opened(path, secrets)
        except OSError as error:
            raise UserError(
                f"The journal {path} cannot be opened: {error.strerror}. "
                "Make its folder writable, or free space."
            ) from error

    @classmethod
    def _opened(cls, path: Path, secrets: Iterable[str]) -> Journal:
        _private_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o600)
        try:
            _lock(handle, path)
            os.fchmod(handle, 0o600)
            extent = measure(path)
            _cut(handle, extent.end, path)
        except BaseException:
            os.close(handle)
            raise
        journal = cls(path, handle, extent.end, extent.contents)
        journal.hide(secrets)
        return journal

    @property
    def closed(self) -> bool:
        """Whether nothing can be appended any more."""
        return self._handle < 0

    def hide(self, secrets: Iterable[str]) -> None:
        """Never write these values from now on."""
        self._secrets.add(secrets)

    def append(self, record: Record, durable: bool = False) -> None:
        """Write one record; ``durable``: it survives a power cut once this returns.

        A record that is not durable survives the death of this process all the same.

        Raises:
            UserError: the disk is full or gone; the journal is as it was before.
        """
        fields = to_fields(record)
        fields["at"] = fields.get("at") or time.time()
        self._write(self._packed(fields), durable)

    def keep(self, data: bytes) -> str:
        """Write bytes down, once, and return their SHA-256 for a record to name."""
        name = hashlib.sha256(data).hexdigest()
        if name not in self._contents:
            withheld = self._secrets.within(data)
            self.append(Content(name, b"" if withheld else data, withheld))
            self._contents.add(name)
        return name

    def records(self) -> Iterator[Record]:
        """Yield all that was written so far."""
        return read(self.path)

    def close(self) -> None:
        """Let go of the file; another process may write it now."""
        if not self.closed:
            handle, self._handle = self._handle, -1
            os.close(handle)

    def _packed(self, fields: dict[str, Any]) -> bytes:
        packed = pack(fields)
        if self._secrets.within(packed):
            packed = pack(mapped(fields, self._secrets.masked))
        return packed

    def _write(self, packed: bytes, durable: bool) -> None:
        try:
            _write_all(self._handle, packed)
            if durable:
                os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._end)
            raise UserError(
                f"The journal {self.path} cannot be written: {error.strerror}. "
                "Nothing is done that is not written down first: free space, then try again."
            ) from error
        self._end += len(packed)


def journal_path(state_dir: str | os.PathLike[str], chat: str) -> Path:
    """Return where the journal of a chat is; ``chat`` is its uuid."""
    if not _CHAT.fullmatch(chat):
        raise ValueError(f"{chat!r} is no name of a chat")
    return Path(state_dir) / FOLDER / f"{chat}{ENDING}"


def _private_folder(folder: Path) -> None:
    """Make the folder, and those above it that are missing, for the user only."""
    missing = [folder, *folder.parents]
    for path in reversed(missing[: missing.index(_first_there(missing))]):
        path.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(path.parent)
    if stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


def _first_there(paths: list[Path]) -> Path:
    return next(path for path in paths if path.exists())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    """Take the file for this process; the kernel lets go of it when the process dies."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"Another Neovim has this chat open ({path.name}). Close it there, or open a new chat."
        ) from None


def _cut(handle: int, end: int, path: Path) -> None:
    """Cut off what is no whole record. What is cut is kept beside the journal."""
    size = os.fstat(handle).st_size
    if size == 0:
        _sync_folder(path.parent)
    if size <= end:
        return
    rest = os.pread(handle, size - end, end)
    torn = os.open(
        path.with_suffix(".torn"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
    )
    try:
        _write_all(torn, rest)
    finally:
        os.close(torn)
    os.ftruncate(handle, end)
    os.fsync(handle)


def _write_all(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, memoryview(data)[written:])
