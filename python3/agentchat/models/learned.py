"""What was learned of servers: the protocol that a model wants, and what it refuses.

It is kept on disk, so that a new process does not have to be refused first. Servers change, so it
holds for a week.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.disk.regular import read_regular
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName

FILE = "servers.json"
SECONDS = 7 * 24 * 3600.0
LARGEST = 8 * 1024 * 1024

log = logging.getLogger(__name__)


@frozen
class Learned:
    """What is known of one model of one server.

    Args:
        protocol: the one that the server asked for, if any.
        refused: names of features, by protocol.
        time: unix time in seconds.
    """

    protocol: ProtocolName | None = None
    refused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    time: float = 0.0


NOTHING = Learned()


class LearnedServers:
    """All that was learned, by URL and model.

    Args:
        folder: the plugin's own folder; None keeps it in memory only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / FILE if folder is not None else None
        self._known: dict[tuple[str, str], Learned] | None = None

    def of(self, url: str, model: str) -> ModelMemory:
        """Return what is known of one model, to be added to."""
        return ModelMemory(self, (url, model))

    def get(self, key: tuple[str, str]) -> Learned:
        """Return what is known of a URL and a model."""
        learned = self._all().get(key, NOTHING)
        return learned if time.time() - learned.time < SECONDS else NOTHING

    def set(self, key: tuple[str, str], learned: Learned) -> None:
        """Replace what is known of a URL and a model, in the file, too."""
        self._all()[key] = learned
        if self._file is not None:
            # Another process may have learned something since.
            self._known = {**_read(self._file), **self._all()}
            self._write(self._file)

    def _all(self) -> dict[tuple[str, str], Learned]:
        if self._known is None:
            self._known = _read(self._file) if self._file is not None else {}
        return self._known

    def _write(self, file: Path) -> None:
        """Replace the file; an error of the disk is in the log only."""
        entries = [
            {
                "url": url,
                "model": model,
                "protocol": learned.protocol,
                "refused": {name: sorted(refused) for name, refused in learned.refused.items()},
                "time": learned.time,
            }
            for (url, model), learned in self._all().items()
        ]
        new = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            new.write_text(json.dumps(entries, indent=1))
            new.replace(file)
        except OSError:
            log.exception("what was learned of a server is not written down")
            with contextlib.suppress(OSError):
                new.unlink()


@frozen
class ModelMemory:
    """What is known of one model of one server."""

    servers: LearnedServers
    key: tuple[str, str]

    @property
    def protocol(self) -> ProtocolName | None:
        """The protocol that the server asked for."""
        return self.servers.get(self.key).protocol

    def refused(self, protocol: ProtocolName) -> frozenset[str]:
        """Return the features that the server refuses in a protocol."""
        return self.servers.get(self.key).refused.get(protocol, frozenset())

    def learn_protocol(self, protocol: ProtocolName) -> None:
        """Remember that the server wants another protocol."""
        known = self.servers.get(self.key)
        self.servers.set(self.key, replace(known, protocol=protocol, time=time.time()))

    def learn_refused(self, protocol: ProtocolName, refused: frozenset[str]) -> None:
        """Remember which features the server refuses in a protocol."""
        known = self.servers.get(self.key)
        if refused != self.refused(protocol):
            all_refused = {**known.refused, protocol: refused}
            self.servers.set(self.key, replace(known, refused=all_refused, time=time.time()))


def _read(file: Path) -> dict[tuple[str, str], Learned]:
    """Return what the file says; a damaged file or entry counts as nothing."""
    try:
        entries = json.loads(read_regular(file, LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    known = {}
    for entry in entries if isinstance(entries, list) else []:
        with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
            known[str(entry["url"]), str(entry["model"])] = _parse(entry)
    return known


def _parse(entry: Mapping[str, Any]) -> Learned:
    protocol = entry.get("protocol")
    refused = {name: frozenset(map(str, features)) for name, features in entry["refused"].items()}
    known = protocol if protocol in PROTOCOL_NAMES else None
    return Learned(known, refused, float(entry["time"]))
