"""Keys pressed at random while questions come and go: none of them answers by accident.

``AGENTCHAT_STORM`` is how many random timings are tried, 40 unless it is set; ``AGENTCHAT_SEED``
says which.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, question
from tests.permissions.report import seed, tell
from tests.support.chat import Chat

STORM = Path(__file__).parent / "storm.lua"
TIMINGS = int(os.environ.get("AGENTCHAT_STORM", "40"))
DELAY = 0.06
"""Seconds in which a question settles here: shorter than for users, so that more fit in."""

LATE = DELAY / 4 + 0.01
"""Seconds by which Neovim may take a key later than it was pressed without noticing."""

KEYS = {"always": "A", "accept": "a", "cancel": "c", "reject": "r"}
PRESSES = ("a", "a", "a", "A", "A", "c", "r", "rno<CR>", "aaaa", "acA", "3a", "aga", "@q", "3@q",
           "q", "?", "e", "y", "<CR>", "<Esc>")  # fmt: skip
INTO = "<C-\\><C-n>ga"
COMMANDS = ("normal a", "normal! aaa", "call feedkeys('aaa')", "call feedkeys('A', 'x')")


class Press(NamedTuple):
    """A key, and the time within which it reached Neovim, in seconds of its clock."""

    key: str
    begin: float
    end: float


@dataclass
class Storm:
    """One timing: the answers it gave are held against the keys that were pressed."""

    desk: Desk
    chance: random.Random
    number: int
    pressed: list[Press] = field(default_factory=list)

    def rage(self) -> dict[str, int]:
        """Press keys while questions come; return how many answers were given and by accident."""
        waiting = [
            {"chat": self.desk.chat.id, "prompt": question(id), "after": self.chance.randint(0, 40)}
            for id in [f"{self.number}-{i}" for i in range(self.chance.randint(1, 3))]
        ]
        self.desk.chat.focus()
        self.desk.editor.lua("storm.begin(...)", waiting)
        for _ in range(self.chance.randint(4, 12)):
            time.sleep(self.chance.choice((0.005, 0.03, 0.1)) * self.chance.random())
            self.act()
        self.desk.editor.keys("<C-\\><C-n>")
        told = self.desk.editor.lua("return storm.finish(...)", self.desk.chat.id)
        return {"answers": len(told["answers"]), "accidents": self.accidents(**told)}

    def act(self) -> None:
        kind = self.chance.random()
        if kind < 0.5:
            self.press(self.chance.choice(PRESSES))
        elif kind < 0.82:
            self.press(INTO)
        elif kind < 0.9:
            self.begin("nvim_exec_lua", "storm.busy(...)", [self.chance.randint(10, 150)])
        elif kind < 0.96:
            self.begin("nvim_exec_lua", "pcall(vim.cmd, ...)", [self.chance.choice(COMMANDS)])
        else:
            self.begin("nvim_paste", "aaA\nc", True, -1)

    def press(self, keys: str) -> None:
        began = time.monotonic()
        self.begin("nvim_input", keys)
        if keys not in ("@q", "3@q", INTO):
            self.pressed += [Press(key, began, time.monotonic()) for key in keys]

    def begin(self, method: str, *args: object) -> None:
        self.desk.editor.start(method, *args)

    def accidents(self, drawn: dict[str, float], answers: list[list[object]]) -> int:
        """Count the answers that no key was pressed for, after the question had settled."""
        left, wrong = list(self.pressed), 0
        for prompt, choice, at in answers:
            key, since = KEYS[str(choice)], drawn[str(prompt)] + DELAY - LATE
            meant = [
                p for p in left if p.key == key and since <= p.end and p.begin <= float(str(at))
            ]
            if meant:
                left.remove(meant[0])
            else:
                wrong += 1
                tell(f"{prompt} {choice} at {at}, drawn {drawn[str(prompt)]}: {self.pressed}")
        return wrong


@pytest.mark.timeout(900)
def test_no_storm_of_keys_answers_by_accident(start_editor: StartEditor) -> None:
    settings = {"ui": {"prompt_delay_ms": round(DELAY * 1000)}}
    editor = start_editor(settings, init=QUIET_HOST)
    editor.allow(r"E\d+:")
    desk = Desk(editor, Chat.open(editor))
    editor.lua(STORM.read_text())
    chance = random.Random(seed())
    got = [Storm(desk, chance, number).rage() for number in range(TIMINGS)]
    answers = sum(one["answers"] for one in got)
    accidents = sum(one["accidents"] for one in got)
    tell(f"key storm: {TIMINGS} timings, {answers} answers, {accidents} by accident")
    assert accidents == 0
    assert answers > TIMINGS / 10, "hardly any key was taken: the storm proves little"
