"""What no gate was made for: bytes that are no text, a gate that breaks, answers out of order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.messages import ToolResult
from agentchat.core.permissions.rules import Rule, parse_rules
from tests.core.turn.world import a_call, calls
from tests.permissions.gate import ASK, DONE, REFUSE, RUN, Chat, allow
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ws")


async def test_a_command_with_a_nul_asks_and_then_runs_nothing(ground: Ground) -> None:
    chat = Chat(ground.root, *allow("touch"))
    assert await chat.bash("touch m\x00", "always") == ASK
    assert chat.result().text.startswith("Cannot run ")
    assert await chat.bash("touch m\x00") == ASK
    chat.policy.rules = (Rule("deny", words=("touch",)),)
    assert await chat.bash("ls\x00; touch m") == REFUSE
    assert not ground.marked


@pytest.mark.parametrize("command", ["touch m #\ud800", "\udcff; touch m"])
async def test_a_command_that_is_no_text_is_answered_before_anything_is_asked(
    ground: Ground, command: str
) -> None:
    chat = Chat(ground.root, Rule("allow", "bash"))
    await chat.bash(command)
    assert chat.result().text.startswith('Validation failed for tool "bash":')
    assert not ground.marked
    assert await chat.bash("touch m") == RUN


async def test_a_gate_that_breaks_asks(ground: Ground) -> None:
    broken: Any = 7
    chat = Chat(ground.root, Rule("allow", "bash"), Rule("deny", path=broken))
    assert await chat.call("write", path="new", content="") == ASK
    assert chat.question.decision.reason_text.startswith("the gate failed: ")
    assert chat.question.decision.scope is None
    chat.policy.mode = "yolo"
    assert await chat.call("write", path="new", content="") == ASK
    chat.policy.attended = False
    assert await chat.call("write", path="new", content="") == REFUSE
    assert chat.result().text == "Denied: nobody is here to answer."
    assert not (ground.root / "new").exists()


async def test_cancel_runs_nothing_behind_it_not_even_what_is_remembered(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("touch m", "always") == ASK
    ground.marker.unlink()
    wanted = ("touch a", "touch b", "touch m")
    made = [a_call(c, "bash", json.dumps({"command": c})) for c in wanted]
    chat.scene.model.replies[:] = [calls(*made), DONE]
    assert await chat.scene.play("go", "cancel") == "cancelled"
    told = [m for m in chat.scene.chat.history.messages if isinstance(m, ToolResult)][-3:]
    assert [one.text for one in told] == ["Cancelled by the user."] * 3
    assert not ground.marked


async def test_the_model_may_be_told_which_rule_is_missing_for_every_kind_of_tool(
    ground: Ground,
) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("bash", {"command": "touch m && ls"}),
        ("write", {"path": "src/new.py", "content": ""}),
        ("edit", {"path": "f", "edits": [{"old_text": "a", "new_text": "c"}]}),
        ("delete", {"path": "g"}),
    ]
    for tool, given in wanted:
        chat = Chat(ground.root)
        chat.policy.attended = False
        assert await chat.call(tool, **given) == REFUSE
        said = chat.result().text
        assert said.startswith("Denied: nobody is here to answer. Add a rule to g:agentchat.rules:")
        chat.policy.rules = suggested(said)
        assert await chat.call(tool, **given) == RUN, said
    chat = Chat(ground.root, Rule("allow"))
    chat.policy.attended = False
    assert await chat.call("write", path=".env", content="") == REFUSE
    assert chat.result().text.endswith(" It asks: .env is secret.")


def suggested(message: str) -> tuple[Rule, ...]:
    """Read the rules of a message, which are written as Lua."""
    lua = message.split("g:agentchat.rules: ")[1]
    lists = re.sub(r"words = \{(.*?)\}", r"words = [\1]", lua)
    named = re.sub(r"(\w+) =", r'"\1":', lists)
    rules, problems = parse_rules(json.loads(f"[{named}]"))
    assert problems == ()
    return rules
