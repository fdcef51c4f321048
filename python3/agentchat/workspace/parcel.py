"""What is sent to another machine so that it can serve a workspace: the plugin's own modules."""

from __future__ import annotations

import ast
import functools
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_LOADER = "agentchat.workspace.loader"
_FAR_END = "agentchat.workspace.farend"

OLDEST = (3, 11)
NO_PYTHON = "agentchat: no python"
NO_PYTHON_CODE = 91
_CANDIDATES = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
_BEGIN = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
_IS_NEW_ENOUGH = f"import sys;sys.exit(sys.version_info<{OLDEST})"


def starter(python: str = "") -> str:
    """Return the command line that starts the far end, for any login shell.

    Args:
        python: the interpreter there; without one, the first on the PATH that is new enough.
    """
    names = python.replace("'", "") if python else " ".join(_CANDIDATES)
    script = (
        f'for p in {names}; do if "$p" -I -c "{_IS_NEW_ENOUGH}" </dev/null >/dev/null 2>&1; '
        f'then exec "$p" -I -u -X utf8 -c "{_BEGIN}"; fi; done; '
        f'echo "{NO_PYTHON}" >&2; exit {NO_PYTHON_CODE}'
    )
    return f"exec /bin/sh -c '{script}'"


@functools.lru_cache(1)
def parcel() -> bytes:
    """Return what the started interpreter reads first: the loader, then the modules."""
    loader = _source(_LOADER)
    modules = zlib.compress(json.dumps(dict(sorted(_closure().items()))).encode())
    return b"".join(b"%d\n%s" % (len(part), part) for part in (loader.encode(), modules))


def _closure() -> dict[str, str]:
    """Return the far end's module and all it imports, by name."""
    sources: dict[str, str] = {}
    waiting = [_FAR_END]
    while waiting:
        name = waiting.pop()
        if name not in sources and _file(name).is_file():
            sources[name] = _source(name)
            waiting += _imported(sources[name])
    return sources


def _imported(source: str) -> Iterator[str]:
    """Yield the modules of ours that a module imports as it is loaded."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agentchat"):
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _source(name: str) -> str:
    return _file(name).read_text(encoding="utf-8")


def _file(name: str) -> Path:
    return _PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
