"""Files of rules in a running chat: what counts of them, when, and how one is added to."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentchat.agent.permissions.rule_store import PROJECT_FILE, RuleStore
from agentchat.core.errors import UserError
from agentchat.core.messages import Reply, Status, ToolResult
from agentchat.core.permissions.rules import Rule
from agentchat.tools.builtin import bash, write
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls

DONE = Reply("Done.")
ALLOW = {"action": "allow", "tool": "bash", "words": ["touch"]}
DENY = {"action": "deny", "tool": "bash", "words": ["touch"]}
TOUCH = a_call("1", "bash", json.dumps({"command": "touch m"}))


class House:
    """A project, a user's configuration and Neovim's list of what is trusted."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve() / "ws"
        self.root.mkdir()
        self.config = self.root.parent / "config"
        self.trusted = self.root.parent / "trust"
        self.project = self.root / PROJECT_FILE
        self.user = self.config / "agentchat" / "rules.json"
        self.book = RuleStore(str(self.root), self.config, self.trusted)
        self.scene = Scene(self.root, [], bash.TOOL, write.TOOL, rule_store=self.book)

    def put(self, path: Path, *rules: Any, text: str = "") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(map(json.dumps, rules))
        path.write_text(text or f'{{"version": 1, "rules": [\n{lines}\n]}}\n')

    def trust(self, path: Path, said: str = "") -> None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with self.trusted.open("a") as file:
            file.write(f"{said or digest} {path}\n")

    async def call(self, answer: str = "reject") -> str:
        """Let the model touch a file; return whether it asked, ran or was denied."""
        self.scene.model.replies[:] = [calls(TOUCH), DONE]
        turns = len(self.scene.screen.named("AgentTurnFinished"))
        self.scene.session.send("go")
        screen = self.scene.screen

        def over() -> bool:
            return len(screen.named("AgentTurnFinished")) > turns

        await screen.until(lambda: bool(screen.questions) or over())
        asked = bool(screen.questions)
        if asked:
            self.why = next(iter(screen.questions.values())).decision.reason_text
            await self.scene.answer(answer)
        await screen.until(over)
        ran = self.result().status is Status.SUCCESS
        return "asks" if asked else "runs" if ran else "denied"

    def result(self) -> ToolResult:
        return [m for m in self.scene.chat.history.messages if isinstance(m, ToolResult)][-1]

    def told(self) -> list[str]:
        return [text for _, text in self.scene.screen.notes]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_the_users_file_counts_and_a_change_of_it_counts_at_the_next_call(
    house: House,
) -> None:
    assert await house.call() == "asks"
    house.put(house.user, ALLOW)
    assert await house.call() == "runs"
    house.put(house.user, DENY)
    assert await house.call() == "denied"
    assert house.result().text == "Denied by rule: deny tool bash words touch"
    house.user.unlink()
    assert await house.call() == "asks"
    assert house.told() == []


async def test_a_projects_file_allows_only_as_long_as_it_is_trusted_as_it_stands(
    house: House,
) -> None:
    house.put(house.project, ALLOW, {"action": "deny", "words": ["rm"]})
    assert await house.call() == "asks"
    assert await house.call() == "asks"
    assert house.told() == [
        ".agentchat/rules.json allows nothing until you trust it: :AgentApprovals trust"
    ]
    house.trust(house.project)
    assert await house.call() == "runs"
    house.put(house.project, ALLOW)
    assert await house.call() == "asks"


async def test_nothing_that_lets_commands_run_counts_in_a_file_nobody_trusts(house: House) -> None:
    house.put(house.project, {"action": "stage", "tool": "bash"}, {**ALLOW, "isolated": True})
    assert house.book.read().rules == ()
    house.trust(house.project)
    assert [rule.action for rule in house.book.read().rules] == ["stage", "allow"]


async def test_what_refuses_or_asks_counts_in_a_file_nobody_trusts(house: House) -> None:
    house.put(house.user, ALLOW)
    house.put(house.project, {"action": "ask", "tool": "bash"})
    assert await house.call() == "asks"
    assert house.why == "rule: ask tool bash (.agentchat/rules.json:2)"
    house.put(house.project, DENY)
    assert await house.call() == "denied"
    assert house.told() == []


def test_the_rules_of_a_project_are_trusted_once_their_file_is(house: House) -> None:
    house.put(house.user, DENY)
    house.put(house.project, {"action": "ask", "tool": "bash"})
    assert [rule.trusted for rule in house.book.read().rules] == [True, False]
    house.trust(house.project)
    assert [rule.trusted for rule in house.book.read().rules] == [True, True]


async def test_of_a_file_that_was_denied_nothing_is_said(house: House) -> None:
    house.put(house.project, ALLOW)
    house.trust(house.project, "!")
    assert await house.call() == "asks"
    assert house.told() == []


async def test_rules_that_contradict_are_settled_over_all_places_together(house: House) -> None:
    house.put(house.project, DENY)
    house.put(house.user, ALLOW)
    house.book.add(Rule("allow", "bash"))
    assert await house.call() == "denied"
    house.put(house.project, {"action": "ask", "words": ["touch"]})
    assert await house.call() == "asks"
    house.project.unlink()
    assert await house.call() == "runs"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "rules.json:1: "),
        ('{"version": 1, "rules": [\n{"action": "allow", "tool": "bash"},\n', "rules.json:3: "),
        ('{"version": 9, "rules": []}', "rules.json:1: version must be 1"),
        ('{"version": 1, "rules": [\n{"acton": "deny"}]}', "rules.json:2: unknown key acton"),
    ],
)
@pytest.mark.parametrize("whose", ["user", "project"])
async def test_while_a_file_cannot_be_read_every_effect_asks(
    house: House, whose: str, text: str, problem: str
) -> None:
    house.book.add(Rule("allow", "bash"))
    house.put(getattr(house, whose), text=text)
    house.scene.chat.policy.mode = "yolo"
    assert await house.call() == "asks"
    assert await house.call() == "asks"
    assert house.why.startswith("a rule cannot be read (")
    assert problem in house.why
    assert len(house.told()) == 1
    assert problem in house.told()[0]


async def test_a_file_that_is_no_file_or_may_not_be_read_makes_every_effect_ask(
    house: House,
) -> None:
    house.book.add(Rule("allow", "bash"))
    house.user.mkdir(parents=True)
    assert await house.call() == "asks"
    assert "it is no ordinary file" in house.why
    house.user.rmdir()
    os.mkfifo(house.user)
    assert await house.call() == "asks"
    house.user.unlink()
    os.symlink(house.user, house.user)
    assert await house.call() == "asks"
    assert "cannot be read: Too many levels" in house.why


async def test_an_open_question_is_answered_by_a_rule_that_comes_into_a_file(
    house: House,
) -> None:
    screen = house.scene.screen
    house.scene.model.replies[:] = [calls(TOUCH), DONE, calls(TOUCH), DONE]
    house.scene.session.send("go")
    await screen.until(lambda: bool(screen.questions))
    house.put(house.user, DENY)
    await house.scene.finished(1)
    assert house.result().text == "Denied by rule: deny tool bash words touch"
    assert not (house.root / "m").exists()
    house.user.unlink()
    house.scene.session.send("again")
    await screen.until(lambda: bool(screen.questions))
    house.put(house.user, ALLOW)
    await house.scene.finished(2)
    assert (house.root / "m").exists()
    assert [e["choice"] for e in screen.named("AgentApprovalAnswered")] == ["cancel", "accept"]
    assert not [line for line in house.scene.journal_lines() if line.startswith("answered")]


async def test_a_question_stays_open_when_the_screen_goes_and_a_file_changes(
    house: House,
) -> None:
    house.scene.model.replies[:] = [calls(TOUCH), DONE]
    house.scene.session.send("go")
    await house.scene.screen.until(lambda: bool(house.scene.screen.questions))
    house.scene.chat.policy.attended = False
    house.put(house.user, {"action": "ask"})
    await house.scene.session.approvals.refresh()
    assert house.scene.screen.questions
    await house.scene.answer("accept")
    await house.scene.finished()
    assert house.result().status is Status.SUCCESS


# --- adding a rule --------------------------------------------------------------------------


def test_a_rule_is_added_to_a_file_that_is_not_there_yet(house: House) -> None:
    written = house.book.write(house.project, Rule("allow", "bash", words=("ls",)))
    assert written.trust == hashlib.sha256(house.project.read_bytes()).hexdigest()
    house.trust(house.project)
    assert [rule.label for rule in house.book.read().rules] == [
        "allow tool bash words ls (.agentchat/rules.json:4)"
    ]
    assert house.book.write(house.user, Rule("deny")).trust == ""
    assert len(house.book.read().rules) == 2


def test_only_a_file_that_was_trusted_or_new_may_be_trusted_anew(house: House) -> None:
    house.put(house.project, ALLOW)
    assert house.book.write(house.project, Rule("deny")).trust == ""
    house.trust(house.project)
    assert house.book.write(house.project, Rule("ask")).trust != ""


def test_a_file_that_cannot_be_read_is_not_written(house: House) -> None:
    house.put(house.user, text='{"version": 1,\n "rules": [\n')
    before = house.user.read_bytes()
    with pytest.raises(UserError, match=r"rules\.json:3: .* Not written: fix the error first"):
        house.book.write(house.user, Rule("deny"))
    assert house.user.read_bytes() == before


def test_a_projects_file_that_leads_elsewhere_is_not_written(house: House) -> None:
    house.put(house.user, DENY)
    (house.root / ".agentchat").symlink_to(house.user.parent)
    with pytest.raises(UserError, match="leads out of the project"):
        house.book.write(house.project, Rule("allow"))


def test_a_users_file_may_be_a_link(house: House) -> None:
    elsewhere = house.root.parent / "dotfiles.json"
    house.put(elsewhere, DENY)
    house.user.parent.mkdir(parents=True)
    house.user.symlink_to(elsewhere)
    house.book.write(house.user, Rule("ask"))
    assert house.user.is_symlink()
    assert elsewhere.read_text().count("action") == 2
