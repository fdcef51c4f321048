"""Begins the far end of a connection: its source is the first thing that is sent there.

It reads the modules that it needs from its input, keeps them in memory, and runs ``farend``:
nothing is written on the other machine.
"""

from __future__ import annotations

import importlib
import json
import sys
import zlib
from collections.abc import Iterable, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import CodeType, ModuleType


def packages(modules: Iterable[str]) -> set[str]:
    """Return the packages that modules of these names lie in."""
    parts = (name.split(".") for name in modules)
    return {".".join(one[:end]) for one in parts for end in range(1, len(one))}


class Sources(MetaPathFinder, InspectLoader):
    """Imports modules whose source is in memory."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._packages = packages(sources)
        self._sources = {**dict.fromkeys(self._packages, ""), **sources}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module, if it is one of these."""
        if fullname not in self._sources:
            return None
        return spec_from_loader(fullname, self, is_package=fullname in self._packages)

    def get_source(self, fullname: str) -> str:
        """Return the text of a module."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Return a module compiled, under a name that tracebacks show."""
        return compile(self._sources[fullname], f"<{fullname}>", "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        """Whether a module is a package."""
        return fullname in self._packages


def begin() -> None:
    """Read the modules and run the far end."""
    stream = sys.stdin.buffer
    packed = stream.read(int(stream.readline()))
    sys.meta_path.insert(0, Sources(json.loads(zlib.decompress(packed))))
    importlib.import_module("agentchat.workspace.farend").main(stream)


if __name__ == "__main__":
    begin()
