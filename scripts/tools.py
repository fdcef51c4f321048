"""Programs for checks and tests, from the PATH or fetched into `.tools`; None if not available."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from scripts.nvim import ROOT

TOOLS = ROOT / ".tools"
STYLUA = "@johnnymorganz/stylua-bin@^2.5"
AIMOCK = "@copilotkit/aimock@^1.43"
LUACHECK = ["lua-check", "lua-argparse", "lua-filesystem"]
AS_SELF = ["-o", "APT::Sandbox::User=root"]
"""Root must not become `_apt`, which cannot write here."""


def stylua() -> Path | None:
    """Return the path of a stylua from npm, fetched on first use."""
    return from_npm(STYLUA, TOOLS, ".bin/stylua")


def aimock() -> Path | None:
    """Return the path of the model server aimock from npm, fetched on first use."""
    return from_npm(AIMOCK, TOOLS / "aimock", "@copilotkit/aimock/dist/cli.js")


def from_npm(package: str, folder: Path, program: str) -> Path | None:
    """Return the path of a program of an npm package, which is installed into a folder."""
    path = folder / "node_modules" / program
    if not path.exists() and shutil.which("npm"):
        flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        fetch(["npm", "install", "--prefix", str(folder), *flags, package], folder)
    return path if path.exists() else None


def luacheck(nvim: str) -> list[str] | None:
    """Return the command of a luacheck: the PATH's, or Debian's run by Neovim's own LuaJIT."""
    if found := shutil.which("luacheck"):
        return [found]
    home = TOOLS / "luacheck"
    if not home.exists() and shutil.which("apt-get") and shutil.which("dpkg"):
        unpack_luacheck(home)
    if not home.exists():
        return None
    return [nvim, "-l", "scripts/luacheck.lua", str(home)]


def unpack_luacheck(home: Path) -> None:
    """Fetch Debian's packages and unpack them into `home`; needs no root."""
    packages = TOOLS / "packages"
    if not fetch(["apt-get", "download", "-qq", *AS_SELF, *LUACHECK], packages):
        return
    for package in packages.glob("lua-*.deb"):
        fetch(["dpkg", "-x", str(package), str(home)], packages)


def fetch(command: list[str], folder: Path) -> bool:
    """Run a command in a folder, made first, and tell whether it succeeded."""
    folder.mkdir(parents=True, exist_ok=True)
    return (
        subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode == 0
    )
