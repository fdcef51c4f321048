"""A rule written from a question: proposed, shown with what it would have matched, kept."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentchat.agent.permissions.rule_drafts import RuleDraft, RuleDrafts
from agentchat.agent.permissions.rule_store import PROJECT_FILE, RuleStore
from agentchat.core.errors import UserError
from agentchat.core.messages import Reply, Status, ToolResult
from agentchat.core.permissions.proposals import describe_consequence
from agentchat.core.permissions.rules import Rule
from agentchat.journal.index import PastCall
from agentchat.nvim.render.rules import meaning, past_lines
from agentchat.tools.builtin import bash, read, write
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls

DONE = Reply("Done.")
PAST = (
    PastCall("bash", {"command": "git status"}, "accept"),
    PastCall("bash", {"command": "git status"}, "allow"),
    PastCall("bash", {"command": "git status --short && ls"}, "reject"),
    PastCall("bash", {"command": "ls"}, "accept"),
    PastCall("write", {"path": "src/a.py", "content": ""}, "reject"),
    PastCall("gone", {"path": "x"}, "accept"),
    PastCall("bash", {"comand": "git status"}, "deny"),
)


class Room:
    """A chat that asks, and somebody who writes rules in it."""

    def __init__(self, folder: Path, past: Sequence[PastCall] = PAST) -> None:
        self.root = folder.resolve() / "ws"
        self.root.mkdir()
        config = self.root.parent / "config"
        self.user = config / "agentchat" / "rules.json"
        self.book = RuleStore(str(self.root), config, self.root.parent / "trust")
        tools = (bash.TOOL, write.TOOL, read.TOOL)
        self.scene = Scene(self.root, [], *tools, rule_store=self.book)
        self.trusted: list[str] = []
        self.past = past
        self.drafts = RuleDrafts(
            self.scene.chat,
            workspace=self.scene.workspace,
            rule_store=self.book,
            approvals=self.scene.session.approvals,
            trust_store=self,
        )

    async def add(self, path: Path, digest: str) -> bool:
        """Trust a file, as Neovim does."""
        self.trusted.append(digest)
        with (self.root.parent / "trust").open("a") as file:
            file.write(f"{digest} {path}\n")
        return True

    async def ask(self, *commands: str) -> None:
        made = [a_call(c, "bash", json.dumps({"command": c})) for c in commands]
        self.scene.model.replies[:] = [calls(*made), DONE]
        self.scene.session.send("go")
        await self.scene.screen.until(lambda: bool(self.scene.screen.questions))

    async def propose(self, text: str = "") -> RuleDraft:
        return await self.drafts.propose(self.past, text)

    def revise(self, draft: RuleDraft, change: str, text: str = "") -> RuleDraft:
        new = self.drafts.revise(draft.id, change, text)
        assert new is not None
        return new

    def then(self, draft: RuleDraft) -> str:
        return describe_consequence(draft.rule, draft.call, draft.target, self.scene.chat.policy)

    async def write(self, draft: RuleDraft) -> str:
        """Write a rule that answers the open question, and wait until it has."""
        screen = self.scene.screen
        prompt = next(iter(screen.questions))
        written = await self.drafts.write(draft.id)
        await screen.until(lambda: prompt not in screen.questions)
        return written

    def result(self, id: str) -> ToolResult:
        messages = self.scene.chat.history.messages
        return next(m for m in messages if isinstance(m, ToolResult) and m.call_id == id)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_a_rule_for_this_chat_answers_the_open_question_and_those_behind_it(
    room: Room,
) -> None:
    await room.ask("touch a", "touch b", "mkdir c")
    draft = await room.propose()
    assert draft.rule == Rule("allow", "bash", words=("touch",))
    assert await room.write(draft) == "rule for this chat: allow tool bash words touch"
    await room.scene.answer("reject")
    await room.scene.finished()
    assert sorted(os.listdir(room.root)) == ["a", "b"]
    assert room.result("mkdir c").status is Status.REJECTED
    assert [line for line in room.scene.journal_lines() if line.startswith("answered")] == [
        "answered reject"
    ]
    assert not room.user.exists()


async def test_a_rule_that_denies_answers_the_question_and_the_rest_goes_on(room: Room) -> None:
    await room.ask("touch a", "mkdir c")
    draft = await room.propose()
    draft = room.revise(room.revise(draft, "action"), "action")
    assert draft.rule.action == "deny"
    await room.write(draft)
    await room.scene.answer("accept")
    await room.scene.finished()
    assert room.result("touch a").text == "Denied by rule: deny tool bash words touch"
    assert os.listdir(room.root) == ["c"]


async def test_the_scope_says_where_it_is_kept(room: Room) -> None:
    await room.ask("touch a")
    project = room.revise(await room.propose(), "scope")
    assert room.drafts.describe_scope(project.scope) == "this project, in .agentchat/rules.json"
    await room.drafts.write(project.id)
    await room.scene.finished()
    assert json.loads((room.root / PROJECT_FILE).read_text())["rules"] == [
        {"action": "allow", "tool": "bash", "words": ["touch"]}
    ]
    assert len(room.trusted) == 1
    assert room.scene.screen.notes == []
    await room.ask("mkdir c")
    user = room.revise(room.revise(await room.propose(), "scope"), "scope")
    assert room.drafts.describe_scope(user.scope).startswith("all your projects, in ")
    await room.drafts.write(user.id)
    await room.scene.finished(2)
    assert room.user.exists()
    assert len(room.trusted) == 1


async def test_a_projects_file_nobody_trusts_is_added_to_and_stays_untrusted(room: Room) -> None:
    file = room.root / PROJECT_FILE
    file.parent.mkdir()
    file.write_text('{"version": 1, "rules": [{"action": "allow", "words": ["rm"]}], "x": 1}')
    await room.ask("touch a")
    said = await room.drafts.write(room.revise(await room.propose(), "scope").id)
    assert said.endswith("it takes effect when you trust the file: :AgentApprovals trust")
    assert room.trusted == []
    assert room.scene.screen.questions
    assert '["rm"]}, { "action": "allow"' in file.read_text()
    await room.scene.answer("reject")


async def test_only_what_is_shown_can_be_written_and_only_once(room: Room) -> None:
    await room.ask("touch a")
    first = await room.propose()
    second = room.revise(first, "action")
    with pytest.raises(UserError, match="no longer shown"):
        await room.drafts.write(first.id)
    assert room.drafts.revise(first.id, "scope") is None
    await room.drafts.write(second.id)
    with pytest.raises(UserError, match="no longer shown"):
        await room.drafts.write(second.id)
    assert [str(rule) for rule in room.book.own] == ["ask tool bash words touch"]
    await room.scene.answer("reject")


async def test_calls_of_the_past_show_what_a_rule_would_have_matched(room: Room) -> None:
    draft = await room.propose("bash git status --short")
    assert draft.rule.words == ("git", "status")
    assert past_lines(draft.past, draft.matched) == [
        "It is about 3 of the last 5 calls in this project: accepted 1×, ran 1×, rejected 1×",
        "  bash git status  (accepted 1×, ran 1×)",
        "  bash git status --short && ls  (rejected 1×)",
    ]
    wider = room.revise(draft, "text", '{"action": "deny", "path": "src/**"}')
    assert past_lines(wider.past, wider.matched)[1:] == ["  write src/a.py  (rejected 1×)"]
    assert room.then(wider) == "asks" or room.then(wider).startswith("still asks")
    assert past_lines(5, ()) == ["It is about none of the last 5 calls in this project."]


@pytest.mark.parametrize(
    ("call", "rules"),
    [
        ("bash ls -la", ["words ls", "words ls -la", ""]),
        ("bash git push -f", ["words git push", "words git push -f", ""]),
        ("bash python3 -c 'x'", ["words python3", ""]),
        ("bash touch $X", ["words touch", ""]),
        ("bash ls | wc -l", ["words ls", "words wc", "words wc -l", ""]),
        ("write src/a.py", ["path src/a.py", "path src/**", "path **/*.py", ""]),
        ("read", [""]),
    ],
)
async def test_the_rules_that_are_proposed(room: Room, call: str, rules: list[str]) -> None:
    draft = await room.propose(call)
    tool = call.split()[0]
    assert list(map(str, draft.choices)) == [f"allow tool {tool} {said}".strip() for said in rules]
    for expected in (*draft.choices[1:], draft.choices[0]):
        draft = room.revise(draft, "words")
        assert draft.rule == expected


async def test_what_would_become_of_the_call_is_said(room: Room) -> None:
    draft = await room.propose("bash touch x > out")
    assert room.then(draft) == "still asks: it writes out"
    assert room.then(room.revise(draft, "action")) == "asks"
    two = await room.propose("bash touch x && ls")
    assert room.then(two) == "still asks: no rule covers ls"
    plain = await room.propose("bash touch x")
    assert room.then(plain) == "runs without a question"
    assert room.then(room.revise(room.revise(plain, "action"), "action")) == "is denied"
    outside = await room.propose("write /etc/passwd")
    assert room.then(outside) == "still asks: /etc/passwd is outside"
    assert meaning(plain.rule) == ("bash: what begins with touch runs without a question")


@pytest.mark.parametrize("command", ["echo \u202e", "echo " + "x" * 12_000, "echo a\x00b"])
async def test_what_is_not_shown_as_it_is_offers_no_rule(room: Room, command: str) -> None:
    await room.ask(command)
    with pytest.raises(UserError, match="No rule is offered"):
        await room.propose()
    await room.scene.answer("reject")


async def test_without_a_question_a_call_must_be_named(room: Room) -> None:
    with pytest.raises(UserError, match="No approval request is open"):
        await room.propose()
    with pytest.raises(UserError, match="There is no tool nothing"):
        await room.propose("nothing at all")
    draft = await room.propose("bash ls")
    with pytest.raises(UserError, match="action must be one of"):
        room.revise(draft, "text", '{"action": "permit"}')


async def test_each_part_of_a_pipe_that_asks_gets_a_rule(room: Room) -> None:
    await room.ask("touch a | mkdir b | touch c")
    first = await room.propose()
    assert first.rule.words == ("touch",)
    await room.drafts.write(first.id)
    assert room.drafts.asks_for_more
    second = await room.propose()
    assert second.choices[0].words == ("mkdir",)
    assert ("touch",) not in [rule.words for rule in second.choices]
    await room.write(second)
    assert not room.drafts.asks_for_more


async def test_a_rule_that_answers_nothing_here_is_followed_by_no_other(room: Room) -> None:
    await room.ask("touch a | mkdir b")
    draft = room.revise(await room.propose(), "action")
    await room.drafts.write(draft.id)
    assert not room.drafts.asks_for_more
    await room.scene.answer("reject")
