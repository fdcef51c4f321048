"""Try the plugin in a real Neovim on a copy of a small project.

With a terminal this opens the editor; without one it plays a scripted session through the same
editor, prints the chat and the changes, and fails if a step did not happen. The argument `smollm2`
puts a small language model in the place of the offline one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts import local_model, nvim, playback

SAMPLE = nvim.ROOT / "demo" / "project"
INIT = nvim.ROOT / "demo" / "init.lua"
FIRST_FILE = "shop/pricing.py"
FOREIGN = ("GIT_", "NVIM", "VIM")
"""Prefixes of variables that would make Neovim or git use other folders than the demo's."""

Play = Callable[[list[str], Path, Mapping[str, str]], str]
"""Runs a script in the editor that a command starts, and returns the chat's text."""


def main() -> int:
    """Run the demo and return the exit code."""
    names = [name for name in sys.argv[1:] if name]
    if not names:
        return run_demo()
    if names != [local_model.NAME]:
        print(f"agentchat: MODEL can be {local_model.NAME}, not {names[0]}", file=sys.stderr)
        return 1
    try:
        with local_model.serving() as url:
            return run_demo(url)
    except local_model.LocalModelError as error:
        print(f"agentchat: {error}", file=sys.stderr)
        return 1


def run_demo(model_url: str = "") -> int:
    """Run the demo in a temporary folder; ``model_url`` is where the language model is served."""
    neovim = nvim.find()
    if neovim is None:
        print("agentchat: no Neovim 0.11 or newer; run make setup", file=sys.stderr)
        return 1
    for number in (signal.SIGHUP, signal.SIGTERM):  # remove the folder even if the terminal closes
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="agentchat-demo-") as name:
        home = Path(name).resolve()
        project = copy_sample(home)
        command = [neovim, "-u", str(INIT), "-i", "NONE", FIRST_FILE]
        env = environment(home, model_url)
        if sys.stdin.isatty() and sys.stdout.isatty():
            return play_by_hand(command, project, env)
        return play_script(command, project, env, playback.talk if model_url else playback.play)


def copy_sample(home: Path) -> Path:
    """Copy the sample project, as a git repository of its own.

    Not below the checkout: the runtime path of Neovim is protected.
    """
    project = home / "project"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
    author = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"]
    for command in (["init"], ["add", "-A"], [*author, "commit", "-m", "Open a corner shop"]):
        git(project, *command)
    return project


def environment(home: Path, model_url: str = "") -> dict[str, str]:
    """Return the environment of an editor without the settings of its user."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    folders = ("config", "data", "state", "cache")
    own = {f"XDG_{name.upper()}_HOME": str(home / name) for name in folders}
    return {**others, **own, "AGENTCHAT_DEMO_URL": model_url}


def play_by_hand(command: list[str], project: Path, env: dict[str, str]) -> int:
    """Open the editor in this terminal, then print what changed."""
    status = subprocess.run(command, cwd=project, env=env, check=False).returncode
    print(changes(project) or "agentchat: the project was not changed")
    return status


def play_script(command: list[str], project: Path, env: dict[str, str], play: Play) -> int:
    """Run a script and print the chat and the changes."""
    model = local_model.NAME if env["AGENTCHAT_DEMO_URL"] else "the offline model"
    print(f"agentchat: no terminal, so the demo runs a script with {model}", flush=True)
    offline = {name: value for name, value in env.items() if not name.startswith("OPENAI_")}
    try:
        transcript = play(command, project, offline)
    except playback.ScriptError as error:
        print(f"agentchat: the demo failed: {error}", file=sys.stderr)
        return 1
    print("\n==== the chat ====", transcript, "==== the changes ====", sep="\n\n")
    print(changes(project))
    return 0


def changes(project: Path) -> str:
    """Return the changes since the copy was made as a diff, new files included."""
    git(project, "add", "--intent-to-add", "-A")
    return git(project, "diff", "--no-ext-diff", "--no-color")


def git(project: Path, *arguments: str) -> str:
    """Run git in the project without the user's settings and return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    no_settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", *arguments],
        cwd=project,
        env={**env, **no_settings},
        check=True,
        text=True,
        capture_output=True,
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
