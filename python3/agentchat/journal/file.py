"""The file of one journal: it is only appended to, by one process."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentchat.core.errors import UserError
from agentchat.journal.codec import map_leaves, pack, to_fields
from agentchat.journal.reader import Scan, read_records, scan
from agentchat.journal.records import ContentStored, Record

MIN_CHARACTERS = 8
"""A shorter value is not treated as a secret: it would mask ordinary words."""

MASK = "[secret]"


class SecretMask:
    """Masks a set of secret values, also where they are escaped in JSON text."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._bytes: tuple[bytes, ...] = ()

    def add(self, values: Iterable[str]) -> None:
        """Mask these values, too."""
        usable = [value for value in values if len(value) >= MIN_CHARACTERS]
        forms = {form for value in usable for form in _json_forms(value)}
        # The longest first: one value may be a part of another.
        self._values = tuple(sorted({*self._values, *forms}, key=len, reverse=True))
        self._bytes = tuple(value.encode("utf-8", "surrogatepass") for value in self._values)

    def occurs_in(self, data: bytes) -> bool:
        """Whether ``data`` contains one of them."""
        return any(value in data for value in self._bytes)

    def mask(self, leaf: Any) -> Any:
        """Return text or bytes with the values masked; anything else unchanged."""
        if isinstance(leaf, str):
            return self.mask_text(leaf)
        return self._mask_bytes(leaf) if isinstance(leaf, bytes) else leaf

    def mask_text(self, text: str) -> str:
        """Return a text with the values masked."""
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def _mask_bytes(self, data: bytes) -> bytes:
        for value in self._bytes:
            data = data.replace(value, MASK.encode())
        return data


def _json_forms(value: str) -> tuple[str, ...]:
    plain, ascii_only = json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]
    return value, plain, ascii_only


FOLDER = "journals"
SUFFIX = ".msgpack"
_CHAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class JournalFile:
    """The journal file of one chat, open for appending; created with ``JournalFile.open``."""

    def __init__(self, path: Path, handle: int, content: Scan) -> None:
        self.path = path
        self._handle = handle
        self._end = content.end
        self._contents = set(content.contents)
        self._previous = content.records
        self._secrets = SecretMask()

    @classmethod
    def open(
        cls, state_dir: str | os.PathLike[str], chat: str, secrets: Iterable[str] = ()
    ) -> JournalFile:
        """Open or create the journal of ``chat`` under ``state_dir``; cut off an incomplete tail.

        Reads the whole file: call it in a thread.

        Args:
            secrets: values that are never written, like API keys.

        Raises:
            UserError: another process has it open, or the file system fails.
        """
        path = journal_path(state_dir, chat)
        try:
            return cls._open_path(path, secrets)
        except OSError as error:
            raise UserError(
                f"The journal {path} cannot be opened: {error.strerror}. "
                "Make its folder writable, or free space."
            ) from error

    @classmethod
    def _open_path(cls, path: Path, secrets: Iterable[str]) -> JournalFile:
        _make_private_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o600)
        try:
            _lock(handle, path)
            os.fchmod(handle, 0o600)
            content = scan(path)
            _cut_off_tail(handle, content.end, path)
        except BaseException:
            _release(handle)
            raise
        journal = cls(path, handle, content)
        journal.mask_secrets(secrets)
        return journal

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._handle < 0

    def take_previous(self) -> tuple[Record, ...]:
        """Return the records that the file had when it was opened, without stored bytes; once."""
        previous, self._previous = self._previous, ()
        return previous

    def mask_secrets(self, secrets: Iterable[str]) -> None:
        """Mask these values in all later records."""
        self._secrets.add(secrets)

    def mask(self, text: str) -> str:
        """Return a text as it would be recorded."""
        return self._secrets.mask_text(text)

    def append(self, *records: Record, durable: bool = False) -> None:
        """Write records in one go; ``durable``: they survive a power cut once this returns.

        Every record survives the death of this process.

        Raises:
            UserError: the write failed or the journal is closed; the file is unchanged.
        """
        self._write(b"".join(map(self._pack, records)), durable)

    def store(self, data: bytes) -> str:
        """Write bytes, once per journal, and return their SHA-256."""
        name = hashlib.sha256(data).hexdigest()
        if name not in self._contents:
            withheld = self._secrets.occurs_in(data)
            self.append(ContentStored(name, b"" if withheld else data, withheld))
            self._contents.add(name)
        return name

    def records(self) -> Iterator[Record]:
        """Yield all records so far, from the file."""
        return read_records(self.path)

    def close(self) -> None:
        """Release the file immediately; it can be opened again once this returns."""
        if not self.closed:
            handle, self._handle = self._handle, -1
            _release(handle)

    def _pack(self, record: Record) -> bytes:
        fields = to_fields(record)
        fields["at"] = fields.get("at") or time.time()
        packed = pack(fields)
        if self._secrets.occurs_in(packed):
            packed = pack(map_leaves(fields, self._secrets.mask))
        return packed

    def _write(self, packed: bytes, durable: bool) -> None:
        if self.closed:
            raise UserError("This chat is closed: its journal cannot be written.")
        try:
            _write_all(self._handle, packed)
            if durable:
                os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._end)
            raise UserError(
                f"The journal {self.path} cannot be written: {error.strerror}. "
                "Nothing was done, since it cannot be recorded: free space, then try again."
            ) from error
        self._end += len(packed)


def journal_path(state_dir: str | os.PathLike[str], chat: str) -> Path:
    """Return the path of the journal of a chat; ``chat`` is its uuid."""
    if not _CHAT.fullmatch(chat):
        raise ValueError(f"{chat!r} is not the name of a chat")
    return Path(state_dir) / FOLDER / f"{chat}{SUFFIX}"


def _make_private_folder(folder: Path) -> None:
    """Create the folder and missing parents, accessible to the user only."""
    missing = [folder, *folder.parents]
    for path in reversed(missing[: missing.index(_first_existing(missing))]):
        path.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(path.parent)
    if stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


def _first_existing(paths: list[Path]) -> Path:
    return next(path for path in paths if path.exists())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    """Lock the file for this process; the kernel releases it when the process dies."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"Another Neovim has this chat open ({path.name}). Close it there, or open a new chat."
        ) from None


def _release(handle: int) -> None:
    """Release the lock and close the file.

    Closing alone is not enough: a child process between fork and exec shares the lock.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def _cut_off_tail(handle: int, end: int, path: Path) -> None:
    """Move an incomplete record at the end into a file beside the journal."""
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
