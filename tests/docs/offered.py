"""What the plugin offers its users, asked of the sources, and the tag each thing should have."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentchat.core.permissions.policy import MODES
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS, BUILTINS
from tests.support.launch import CHECKOUT, environment, neovim

PROBE = Path(__file__).with_name("probe.lua")
FIRED = re.compile(r"""(?:fire|event|fire_chat)\(\s*(?:\w+,\s*)?["'](Agent\w+)["']""")
DIFF = {"]c", "[c", "]f", "[f", "x", "X", "S", "C", "E", "s", "Q", "gf", "bar"}
"""Keys of a diff, wherever it is shown."""


def lua_side(home: Path) -> Mapping[str, Any]:
    """What a Neovim that has loaded the plugin says; its folders are below ``home``."""
    done = subprocess.run(
        [neovim(), "-l", str(PROBE), str(CHECKOUT)],
        env=environment(home, {}),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: Mapping[str, Any] = json.loads(done.stdout)
    return said


def events() -> set[str]:
    """The ``User`` events that some source fires."""
    sources = [*CHECKOUT.glob("lua/**/*.lua"), *CHECKOUT.glob("python3/**/*.py")]
    return {name for path in sources for name in FIRED.findall(path.read_text(encoding="utf-8"))}


def key(lhs: str) -> str:
    """How help tags spell a key."""

    # A tag cannot hold the character that stands around tags.
    def name(found: re.Match[str]) -> str:
        return f"CTRL-{found[1].upper()}" + (f"_{found[2]}" if found[2] else "")

    return re.sub(r"^<C-(.)>(\w?)$", name, lhs.replace("|", "bar"))


def prefixed(prefix: str, names: Iterable[str]) -> set[str]:
    """A tag for each name."""
    return {f"{prefix}{name}" for name in names}


def tags(said: Mapping[str, Any]) -> dict[str, set[str]]:
    """The tags the help should have, by the kind of thing they are for."""
    approval = {key(lhs) for lhs in said["approval_keys"]}
    review = {key(lhs) for lhs in said["review_keys"]}
    return {
        "commands": prefixed(":", said["commands"]),
        "maps": set(said["plugs"]),
        "chat keys": prefixed("agentchat-", map(key, said["chat_keys"])),
        "approval keys": prefixed("agentchat-approval-", approval - DIFF),
        "review keys": prefixed("agentchat-review-", review - DIFF),
        "diff keys": prefixed("agentchat-", DIFF & review),
        "settings": prefixed("g:agentchat.", said["settings"]),
        "events": events(),
        "functions": {f"agentchat.{name}()" for name in said["functions"]},
        "highlight groups": prefixed("hl-", said["highlights"]),
        "tools": prefixed("agentchat-tool-", (tool.name for tool in BUILTINS)),
        "groups": prefixed("agentchat-group-", (group.name for group in BUILTIN_GROUPS)),
        "modes": prefixed("agentchat-mode-", MODES),
    }
