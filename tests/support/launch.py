"""How an editor for a test is started: which Neovim, which environment, which init file."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts import nvim

from .rpc import Peer

CHECKOUT = Path(__file__).resolve().parents[2]

HIDDEN = re.compile(r"OPENAI_|AGENTCHAT_|N?VIM|XDG_|PYTHONDONTWRITEBYTECODE$|COLUMNS$|LINES$")
"""Variables of the person who runs the tests that an editor must not see."""


@functools.cache
def neovim() -> str:
    """The Neovim to test with: the one on the PATH if new enough, else the environment's own."""
    found = nvim.find()
    if found is None:
        raise RuntimeError("No Neovim 0.11 or newer found: run make setup.")
    return _program(found) if found == nvim.packaged() else found


def _program(wrapper: str) -> str:
    """The program behind the packaged Neovim's wrapper, a Python script that starts slowly."""
    command = [wrapper, "--headless", "--clean", "+lua io.stdout:write(vim.v.progpath)", "+q"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment with all folders of the user moved below ``home``."""
    kept = {name: value for name, value in os.environ.items() if not HIDDEN.match(name)}
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in _FOLDERS}
    # Sockets live here, and the path of a socket must be short.
    runtime = tempfile.mkdtemp(prefix="nvim-")
    moved = {"HOME": str(home), "XDG_RUNTIME_DIR": runtime, "NVIM_LOG_FILE": str(home / "log")}
    fixed = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
    return {**kept, **folders, **moved, **fixed, **extra}


_FOLDERS = ("CONFIG", "DATA", "STATE", "CACHE")


def init_file(home: Path, settings: Mapping[str, Any] | None, more: str = "") -> Path:
    """Write an init.lua that loads the checkout with ``settings``, then runs the Lua ``more``."""
    for kind in _FOLDERS:
        (home / kind.lower()).mkdir(parents=True, exist_ok=True)
    lines = [
        f"vim.opt.runtimepath:prepend({json.dumps(str(CHECKOUT))})",
        # Opening a Python file makes Neovim look for its own provider, for seconds.
        "vim.g.loaded_python3_provider = 0",
    ]
    if settings is not None:
        text = json.dumps(settings)
        decode = f"vim.json.decode([==[{text}]==], {{ luanil = {{ object = true }} }})"
        lines.append(f"vim.g.agentchat = {decode}")
    path = home / "init.lua"
    path.write_text("\n".join([*lines, more]) + "\n")
    return path


def start(init: Path, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start Neovim with its RPC on standard input and output; it waits for a UI."""
    return subprocess.Popen(
        [neovim(), "--embed", "-u", str(init), "-i", "NONE"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=dict(env),
        bufsize=0,
        start_new_session=True,
    )


def connect(process: subprocess.Popen[bytes]) -> Peer:
    """Speak with a Neovim that was started here."""
    assert process.stdout
    assert process.stdin
    source, sink = process.stdout.fileno(), process.stdin.fileno()

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(sink, data) :]

    return Peer(lambda: os.read(source, 1 << 16), write)
