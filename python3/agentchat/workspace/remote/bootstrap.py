"""Starts the server of a workspace in a plain Python, on a machine without this plugin.

This side (``start_script``, ``payload``): a shell command searches an interpreter, which reads
and runs the source of this module from its input, then reads the source of all other modules.
The other side (``load_and_serve``): it imports the modules from memory, and ``server`` goes on
reading the same input. No file is written there.

The modules that are sent are those that ``server`` imports at the top of its file, directly or
indirectly. They may import only the standard library and one another.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = "agentchat"
SERVER = "agentchat.workspace.remote.server"

OLDEST = (3, 11)
NO_PYTHON = "agentchat: no python"
NO_PYTHON_CODE = 91
_CANDIDATES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
BEGIN = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
"""Runs the source that comes on standard input, after its length and a line end."""
_IS_NEW_ENOUGH = f"import sys;sys.exit(sys.version_info<{OLDEST})"


def start_command(python: str = "") -> str:
    """Return the command line that starts the interpreter, for any login shell."""
    return f"exec /bin/sh -c '{start_script(python)}'"


def start_script(python: str = "") -> str:
    """Return the shell script that starts the interpreter; it has no single quotes.

    Args:
        python: the interpreter there; empty for the first on the PATH that is new enough.
    """
    names = python.replace("'", "") if python else " ".join(_CANDIDATES)
    return (
        f'for p in {names}; do if "$p" -I -c "{_IS_NEW_ENOUGH}" </dev/null >/dev/null 2>&1; '
        f'then exec "$p" -I -u -X utf8 -c "{BEGIN}"; fi; done; '
        f'echo "{NO_PYTHON}" >&2; exit {NO_PYTHON_CODE}'
    )


@functools.lru_cache(1)
def payload() -> bytes:
    """Return what the interpreter reads first: this module, then a map of all others."""
    modules = zlib.compress(json.dumps(dict(sorted(_module_sources().items()))).encode())
    return pack(Path(__file__).read_bytes(), modules)


def pack(*parts: bytes) -> bytes:
    """Return parts for an interpreter that ``BEGIN`` started: each with its length before it."""
    return b"".join(b"%d\n%s" % (len(part), part) for part in parts)


def _module_sources() -> dict[str, str]:
    """Return the sources of the server and of all modules that it imports, by name."""
    sources: dict[str, str] = {}
    names = [SERVER]
    while names:
        name = names.pop()
        if name not in sources and _file(name).is_file():
            sources[name] = _file(name).read_text(encoding="utf-8")
            names += _imports(sources[name])
    return sources


def _imports(source: str) -> Iterator[str]:
    """Yield the modules of the package that a module imports at its top."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file(name: str) -> Path:
    return Path(__file__).parents[2].joinpath(*name.split(".")[1:]).with_suffix(".py")


def parent_packages(modules: Iterable[str]) -> set[str]:
    """Return the packages that contain these modules."""
    paths = (name.split(".") for name in modules)
    return {".".join(path[:end]) for path in paths for end in range(1, len(path))}


class MemoryLoader(MetaPathFinder, InspectLoader):
    """Imports modules whose source is in memory; their packages are empty."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._packages = parent_packages(sources)
        self._sources = {**dict.fromkeys(self._packages, ""), **sources}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module whose source is here."""
        if fullname not in self._sources:
            return None
        return spec_from_loader(fullname, self, is_package=fullname in self._packages)

    def get_source(self, fullname: str) -> str:
        """Return the source of a module."""
        return self._sources[fullname]

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of a module, with a file name for tracebacks."""
        return compile(self._sources[fullname], f"<{fullname}>", "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        """Whether a module is a package."""
        return fullname in self._packages


def load_and_serve() -> None:
    """Read the modules from standard input and run the server."""
    stream = sys.stdin.buffer
    packed = stream.read(int(stream.readline()))
    sys.meta_path.insert(0, MemoryLoader(json.loads(zlib.decompress(packed))))
    importlib.import_module(SERVER).main(stream)


if __name__ == "__main__":
    load_and_serve()
