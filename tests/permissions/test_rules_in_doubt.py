"""Rules that cannot be read, and nobody there to ask: nothing with an effect happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.core.messages import Status
from agentchat.core.permissions.rules import Rule, parse_rules
from tests.permissions.gate import ASK, REFUSE, RUN, Chat, allow
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ws")


@pytest.mark.parametrize(
    "rules",
    [
        [{"action": "deny", "tol": "bash"}],
        [{"action": "never"}],
        {"action": "deny"},
        "deny",
        7,
        [{"action": "deny", "path": ""}],
        [{"action": "deny", "words": [""]}],
        [["deny"]],
    ],
)
async def test_while_a_rule_cannot_be_read_every_effect_asks(ground: Ground, rules: object) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("git status", "always") == ASK
    read, problems = parse_rules(rules)
    chat.policy.rules, chat.policy.problems = (*read, *allow("ls")), problems
    assert await chat.bash("git status") == ASK
    assert "a rule cannot be read (g:agentchat.rules" in chat.question.decision.reason_text
    assert await chat.bash("ls") == ASK
    chat.policy.mode = "yolo"
    assert await chat.call("write", path="new", content="") == ASK
    assert await chat.call("read", path="f") == RUN


async def test_a_rule_that_denies_still_denies_beside_one_that_cannot_be_read(
    ground: Ground,
) -> None:
    rules, problems = parse_rules([{"action": "deny", "words": ["rm"]}, "x"])
    chat = Chat(ground.root, *rules)
    chat.policy.problems = problems
    assert await chat.bash("rm x") == REFUSE


async def test_with_nobody_there_what_would_ask_is_denied_with_the_rule_to_add(
    ground: Ground,
) -> None:
    chat = Chat(ground.root, *allow("ls"))
    chat.policy.attended = False
    assert await chat.bash("touch m && ls") == REFUSE
    assert chat.result().text == (
        "Denied: nobody is here to answer. Add a rule to g:agentchat.rules: "
        '{ action = "allow", tool = "bash", words = { "touch", "m" } }, '
        '{ action = "allow", tool = "bash", words = { "ls" } }'
    )
    assert await chat.call("write", path="src/a.py", content="") == REFUSE
    assert chat.result().text.endswith('{ action = "allow", tool = "write", path = "src/a.py" }')
    assert await chat.bash("touch $(pwd)/m") == REFUSE
    assert chat.result().status is Status.DENIED
    assert chat.result().text == (
        "Denied: nobody is here to answer. It asks: no rule covers 'touch $(pwd)/m', "
        "its words are expanded by the shell."
    )
    assert await chat.bash("ls") == RUN
    assert await chat.call("read", path="f") == RUN
    assert not ground.marked


async def test_the_suggested_rule_is_enough(ground: Ground) -> None:
    chat = Chat(ground.root, Rule("allow", "bash", words=("touch", "m")))
    chat.policy.attended = False
    assert await chat.bash("touch m") == RUN
    assert ground.marked


async def test_a_rule_by_server_is_only_about_its_tools(ground: Ground) -> None:
    chat = Chat(ground.root, Rule("deny", server="docs"))
    assert await chat.bash("ls") == ASK
