"""The help page as its readers see it: tags, and the text that belongs to each."""

from __future__ import annotations

import re
import subprocess
from functools import cached_property
from pathlib import Path

from tests.support.launch import CHECKOUT, neovim

TAG = re.compile(r"(?:^|(?<=\s))\*([^\s*|]+)\*(?=\s|$)")
LINK = re.compile(r"\|([#-)!+-~]+)\|")
CODE = re.compile(r"(?:^|(?<=\s))>(\w*)\n((?:[ \t].*\n|\n)+)")


class Page:
    """One help file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def sections(self) -> dict[str, str]:
        """The text from each tag to the next line that has one."""
        found: dict[str, list[str]] = {}
        current: list[list[str]] = []
        for line in self.text.splitlines():
            names = TAG.findall(line)
            if names:
                current = [found.setdefault(name, []) for name in names]
            for lines in current:
                lines.append(line)
        return {name: "\n".join(lines) for name, lines in found.items()}

    @cached_property
    def contents(self) -> set[str]:
        """The chapters that the contents name."""
        return set(LINK.findall(self.sections["agentchat-contents"]))

    @cached_property
    def lua(self) -> list[str]:
        """The examples in Lua."""
        return [code for language, code in CODE.findall(self.text) if language == "lua"]


HELP = Page(CHECKOUT / "doc" / "agentchat.txt")


def index(folder: Path) -> set[str]:
    """Let Neovim index a copy of the help in ``folder``; return the tags it finds."""
    (folder / HELP.path.name).write_text(HELP.text, encoding="utf-8")
    command = [neovim(), "--clean", "--headless", f"+helptags {folder}", "+qa!"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = (folder / "tags").read_text(encoding="utf-8").splitlines()
    return {line.partition("\t")[0] for line in lines}
