"""The built-in planner: plain requests, real calls, and what it makes of their results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentchat.core.messages import (
    History,
    Note,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.model import CallDelta, ModelRequest, Piece, TextDelta
from agentchat.core.turn.compact import INSTRUCTION
from agentchat.models.offline import OfflineModel
from agentchat.models.offline.model import ABOUT, NO_SUMMARY, NOTICE, PENDING
from tests.models.requests import tool

NAMES = ("read", "grep", "find", "ls", "edit", "write", "delete", "bash", "ast_edit")
STAGED = "Staged as a preview - nothing has been changed yet.\nAST Edit: 2 replacements in 1 file"
REMINDER = "<system-reminder>"

Answers = Callable[[str, dict[str, Any]], "str | tuple[str, Status]"]


class Chat:
    """A chat with the planner whose tools answer as told; ``pending`` previews force resolve."""

    def __init__(
        self, answers: Answers, without: tuple[str, ...] = (), confidence: int = 0
    ) -> None:
        self.answers = answers
        self.history = History()
        self.pending = 0
        self.planning = False
        self.model = OfflineModel(pace=0)
        self.pieces: list[Piece] = []
        self.rounds: list[list[tuple[str, dict[str, Any]]]] = []
        self.tools = tuple(tool(n, min_confidence=confidence) for n in NAMES if n not in without)

    async def send(self, *texts: str) -> str:
        """Play one turn; return what the planner says at its end."""
        self.history = self.history.add(*(UserText(text) for text in texts))
        while True:
            reply = await self.model.ask(self.request(), self.pieces.append)
            self.history = self.history.add(reply)
            if not reply.calls:
                return reply.text
            assert len(self.rounds) < 30, "the planner goes on for ever"
            self.run(reply)

    def request(self) -> ModelRequest:
        waits = self.pending > 0
        tools = (*self.tools, tool("resolve")) if waits or self.planning else self.tools
        forced, reminder = ("resolve", REMINDER) if waits else (None, None)
        return ModelRequest(
            system="", history=self.history, tools=tools, forced=forced, reminder=reminder
        )

    def run(self, reply: Reply) -> None:
        self.rounds.append([(call.name, json.loads(call.arguments)) for call in reply.calls])
        for call in reply.calls:
            self.history = self.history.add(self.answer(call))

    def answer(self, call: ToolCall) -> ToolResult:
        said = self.answers(call.name, json.loads(call.arguments))
        text, status = said if isinstance(said, tuple) else (said, Status.SUCCESS)
        self.pending += text.startswith("Staged")
        if call.name == "resolve" and status is not Status.ERROR:
            self.pending -= 1
        return ToolResult(call.id, call.name, text, status)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [call for round in self.rounds for call in round]


def by_tool(**results: Any) -> Answers:
    """Each tool answers with its text, or with the next of a list."""

    def answers(name: str, arguments: dict[str, Any]) -> Any:
        said = results[name]
        return said.pop(0) if isinstance(said, list) else said

    return answers


def no_tools(name: str, arguments: dict[str, Any]) -> str:
    raise AssertionError(f"{name} was called")


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("read src/a.py", ("read", {"path": "src/a.py"})),
        ("Please read the file `src/a b.py`.", ("read", {"path": "src/a b.py"})),
        ("read #file:a.py", ("read", {"path": "a.py"})),
        ("@bash read a.py please", ("read", {"path": "a.py"})),
        ("use the read tool to read a.py", ("read", {"path": "a.py"})),
        ("find **/*.py", ("find", {"pattern": "**/*.py"})),
        ("find files matching *.py in src", ("find", {"pattern": "*.py", "path": "src"})),
        ("search TODO|FIXME", ("grep", {"pattern": "TODO|FIXME"})),
        ("search for 'a b' in src", ("grep", {"pattern": "a b", "path": "src"})),
        ("search x in *.py", ("grep", {"pattern": "x", "glob": "*.py"})),
        ("ls", ("ls", {})),
        ("ls src", ("ls", {"path": "src"})),
        (
            "run: cd x; ls && echo 'then read b'",
            ("bash", {"command": "cd x; ls && echo 'then read b'"}),
        ),
        ("run: if true; then read x; fi", ("bash", {"command": "if true; then read x; fi"})),
        ("run `make test`", ("bash", {"command": "make test"})),
        ("write a.txt: hello; world", ("write", {"path": "a.txt", "content": "hello\n"})),
        ("write a.txt: 'x; y'", ("write", {"path": "a.txt", "content": "'x; y'\n"})),
        (
            "write a.py:\n```python\nx = 1\ny; z then read\n```",
            ("write", {"path": "a.py", "content": "x = 1\ny; z then read\n"}),
        ),
        ("delete old.txt", ("delete", {"path": "old.txt"})),
        (
            "replace 'it's; then' with \"b\" in a.py",
            ("edit", {"path": "a.py", "edits": [{"old_text": "it's; then", "new_text": "b"}]}),
        ),
        (
            "replace 'a\nb' with '' in the file a.py",
            ("edit", {"path": "a.py", "edits": [{"old_text": "a\nb", "new_text": ""}]}),
        ),
        (
            "rename old_name to new_name in **/*.py",
            ("ast_edit", {"ops": [{"pat": "old_name", "out": "new_name"}], "glob": "**/*.py"}),
        ),
        (
            "Rename the function `a` to `b` in src.",
            ("ast_edit", {"ops": [{"pat": "a", "out": "b"}], "path": "src"}),
        ),
        ("rename a to b", ("ast_edit", {"ops": [{"pat": "a", "out": "b"}]})),
    ],
)
async def test_a_plain_request_becomes_a_call(text: str, call: tuple[str, Any]) -> None:
    chat = Chat(lambda name, arguments: "User rejected the call.")
    await chat.send(text)
    assert chat.rounds[0][0] == call


async def test_anything_else_is_answered_plainly() -> None:
    said = await Chat(no_tools).send("What is the meaning of life?")
    assert said == ABOUT
    assert said.count("\n") == 2
    assert "not a language model" in said
    assert "$OPENAI_API_KEY" in said


async def test_the_first_reply_of_a_chat_says_that_it_is_the_offline_models() -> None:
    chat = Chat(by_tool(read=["a", "b"]))
    await chat.send("read a.py")
    assert await chat.send("read b.py") == "Read b.py: 1 line."
    texts = [message.text for message in chat.history.messages if isinstance(message, Reply)]
    assert texts[0] == f"{NOTICE}\n\nRead `a.py`."
    assert [text for text in texts if NOTICE in text] == texts[:1]


async def test_after_another_model_it_says_so_again() -> None:
    chat = Chat(by_tool(read="a"))
    chat.history = chat.history.add(UserText("hello"), Reply("Hi.", model="gpt"))
    await chat.send("read a.py")
    reply = chat.history.messages[3]
    assert isinstance(reply, Reply)
    assert reply.text == f"{NOTICE}\n\nRead `a.py`."


async def test_calls_with_ids_of_another_version_are_no_trouble() -> None:
    chat = Chat(by_tool(read="a"))
    older = Reply(calls=(ToolCall("offline-1", "read", "{}", "offline-1"),), model="offline")
    chat.history = chat.history.add(UserText("read b.py"), older)
    chat.history = chat.history.add(ToolResult("offline-1", "read", "b"), Reply("Done."))
    assert await chat.send("read a.py") == "Read a.py: 1 line."


async def test_several_requests_are_made_in_one_reply_and_answered_in_order() -> None:
    chat = Chat(by_tool(read=["a\nb", "c"], ls="x\ny/\n"))
    said = await chat.send("read a.py\nread b.py; ls")
    assert len(chat.rounds) == 1
    assert [name for name, _ in chat.calls] == ["read", "read", "ls"]
    assert said == "Read a.py: 2 lines.\nRead b.py: 1 line.\nThe directory has 2 entries."


async def test_what_follows_a_then_waits_for_what_is_before_it() -> None:
    chat = Chat(by_tool(write="Created a.py (2 bytes).", bash="(no output)"))
    said = await chat.send("write a.py: x, and then run: python a.py")
    assert [[name for name, _ in round] for round in chat.rounds] == [["write"], ["bash"]]
    assert chat.calls[0][1]["content"] == "x\n"
    assert said == "Created a.py (2 bytes).\n`python a.py` ran and printed nothing."


async def test_a_line_that_begins_with_then_belongs_to_the_line_before() -> None:
    chat = Chat(by_tool(write="Created a (2 bytes).", delete="Deleted a.", ls="x"))
    await chat.send("write a: x\nthen delete a\nls")
    assert [[name for name, _ in round] for round in chat.rounds] == [["write", "ls"], ["delete"]]


async def test_what_follows_a_then_is_left_out_when_it_fails() -> None:
    chat = Chat(by_tool(bash="oops\n\nCommand exited with code 2"))
    said = await chat.send("run: make then read log.txt")
    assert chat.calls == [("bash", {"command": "make"})]
    assert said == (
        "`make` failed: Command exited with code 2. Its last line: oops\n"
        "I left out what was to follow (1 request)."
    )


async def test_a_missing_file_is_looked_for_by_a_similar_name() -> None:
    answers = by_tool(
        read=[("Path not found: src/confg.py", Status.ERROR), "x\n"],
        find="src/config.py\nsrc/main.py\ntests/config_test.py",
    )
    chat = Chat(answers)
    said = await chat.send("read src/confg.py")
    assert chat.calls[1:] == [("find", {"pattern": "*.py"}), ("read", {"path": "src/config.py"})]
    assert (
        said == "src/confg.py does not exist; the nearest name is src/config.py. Read "
        "src/config.py: 1 line."
    )


async def test_a_missing_file_with_no_similar_name_is_said_to_be_missing() -> None:
    answers = by_tool(
        read=("Path not found: zzz.py", Status.ERROR),
        find="No files found matching pattern",
    )
    said = await Chat(answers).send("read zzz.py")
    assert said == "zzz.py does not exist, and no file has a similar name."


async def test_a_replace_that_fits_several_places_is_made_in_all_of_them() -> None:
    many = (
        "edits[0]: old_text matches 2 places in a.py (lines 1, 4). Give more. Nothing was changed."
    )
    chat = Chat(by_tool(edit=[(many, Status.ERROR), "Edited a.py: 2 replacements."]))
    said = await chat.send("replace 'x' with 'y' in a.py")
    assert chat.calls[1][1]["edits"][0]["replace_all"] is True
    assert said == "Edited a.py: 2 replacements."


async def test_a_replace_whose_text_is_not_there_shows_the_nearest_lines() -> None:
    missing = "edits[0]: old_text not found in a.py. Closest match at line 2: Nothing was changed."
    chat = Chat(by_tool(edit=(missing, Status.ERROR), read="import os\ndef main():\n    pass\n"))
    said = await chat.send("replace 'def mian():' with 'def run():' in a.py")
    assert [name for name, _ in chat.calls] == ["edit", "read"]
    assert said == (
        "a.py does not contain 'def mian():', so I changed nothing. The nearest lines:\n\n"
        "    2: def main():"
    )


async def test_a_replace_in_a_glob_edits_each_file_that_has_the_text() -> None:
    found = "a.py:1: x\na.py:9: x\nb.py:3: x"
    edited = ["Edited a.py: 2 replacements.", "Edited b.py: 1 replacement."]
    chat = Chat(by_tool(grep=found, edit=edited.copy()))
    said = await chat.send("replace 'x' with 'y' in *.py")
    assert chat.calls[0] == ("grep", {"pattern": "x", "literal": True, "glob": "*.py"})
    assert [arguments["path"] for _, arguments in chat.calls[1:]] == ["a.py", "b.py"]
    assert said == " ".join(edited)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (
            "User rejected the bash call. Reason: too risky.",
            "You rejected the command `rm x`: too risky.",
        ),
        ("User rejected the bash call.", "You rejected the command `rm x` without a reason."),
    ],
)
async def test_a_rejection_is_repeated_and_not_tried_again(result: str, says: str) -> None:
    chat = Chat(by_tool(bash=(result, Status.REJECTED)))
    said = await chat.send("run: rm x")
    assert len(chat.calls) == 1
    assert said == f"{says} I stopped there and do not try it again."


async def test_a_denied_call_says_which_rule() -> None:
    chat = Chat(by_tool(bash=("Denied by rule: deny bash", Status.DENIED)))
    said = await chat.send("run: rm x")
    assert said == "I stopped before the command `rm x`: Denied by rule: deny bash"


async def test_a_rename_is_staged_then_applied_then_checked() -> None:
    answers = by_tool(
        ast_edit=STAGED,
        resolve="Applied 2 replacements in 1 file.",
        grep="a.py:7:     # f is old",
    )
    chat = Chat(answers)
    said = await chat.send("rename f to g in *.py")
    assert chat.calls[1] == (
        "resolve",
        {"action": "apply", "reason": "The user asked to rename f to g."},
    )
    assert chat.calls[2] == ("grep", {"pattern": r"\bf\b", "glob": "*.py"})
    assert said == (
        "Applied 2 replacements in 1 file. 1 line still contains f (text or comments): a.py:7."
    )


async def test_while_a_preview_waits_nothing_but_resolve_is_called() -> None:
    resolved = ["Applied 2 replacements in 1 file.", "Applied 1 replacement in 1 file."]
    answers = by_tool(
        ast_edit=[STAGED, STAGED], resolve=resolved, read="x", grep="No matches found"
    )
    chat = Chat(answers)
    await chat.send("rename a to b in *.py; read x then read y; rename c to d in *.py")
    names = [[name for name, _ in round] for round in chat.rounds]
    assert names[0] == ["ast_edit", "read", "ast_edit"]
    assert names[1:3] == [["resolve"], ["resolve"]]
    newest, older = chat.rounds[1][0][1], chat.rounds[2][0][1]
    assert newest["reason"] == "The user asked to rename c to d."
    assert older["reason"] == "The user asked to rename a to b."
    assert sorted(names[3]) == ["grep", "grep", "read"]


async def test_a_rejected_rename_is_left_alone() -> None:
    rejected = "User rejected the resolve call. Reason: no\nDiscarded: AST Edit. Reason: no"
    chat = Chat(by_tool(ast_edit=STAGED, resolve=(rejected, Status.REJECTED)))
    said = await chat.send("rename f to g then run: make")
    assert [name for name, _ in chat.calls] == ["ast_edit", "resolve"]
    assert said == (
        "You rejected the rename of f to g: no. I stopped there and do not try it again.\n"
        "I left out what was to follow (1 request)."
    )


async def test_a_rename_that_does_not_apply_is_discarded() -> None:
    stale = "a.py changed since the preview. Nothing was changed."
    answers = by_tool(ast_edit=STAGED, resolve=[(stale, Status.ERROR), "Discarded: AST Edit."])
    chat = Chat(answers)
    said = await chat.send("rename f to g")
    assert chat.calls[2][1]["action"] == "discard"
    assert said == f"The rename of f to g failed: {stale}"


async def test_a_rename_of_what_is_only_text_says_so() -> None:
    chat = Chat(by_tool(ast_edit="No replacements made", grep="README.md:3: call f"))
    said = await chat.send("rename f to g")
    assert said == "No replacements made: f occurs only in text, at README.md:3."


async def test_a_preview_the_user_resolved_meanwhile_needs_nothing() -> None:
    chat = Chat(by_tool(ast_edit=STAGED))
    chat.history = chat.history.add(UserText("rename f to g"))
    reply = await chat.model.ask(chat.request(), chat.pieces.append)
    chat.history = chat.history.add(reply)
    chat.run(reply)
    chat.pending = 0
    chat.history = chat.history.add(Note("The user ran :AgentResolve apply."))
    said = await chat.model.ask(chat.request(), chat.pieces.append)
    assert said.text == "I stopped before the rename of f to g: there is no pending preview."


async def test_a_conversation_is_not_replaced_by_its_fixed_words() -> None:
    chat = Chat(no_tools)
    chat.history = chat.history.add(UserText("hello"), Note(INSTRUCTION.format("")))
    summary = await chat.model.ask(chat.request(), chat.pieces.append)
    assert (summary.text, summary.error, chat.pieces) == ("", NO_SUMMARY, [])


async def test_with_a_preview_pending_other_requests_wait_for_the_user() -> None:
    chat = Chat(no_tools)
    chat.pending = 1
    assert await chat.send("read a.py") == f"{NOTICE}\n\n{PENDING}"
    assert await chat.send("hello") == PENDING


@pytest.mark.parametrize(
    ("text", "reason"),
    [("discard: wrong files", "wrong files"), ("discard", "The user asked to discard it.")],
)
async def test_a_pending_preview_can_be_resolved_by_words(text: str, reason: str) -> None:
    chat = Chat(by_tool(resolve="Discarded: AST Edit."))
    chat.pending = 1
    assert await chat.send(text) == "Discarded: AST Edit."
    assert chat.calls == [("resolve", {"action": "discard", "reason": reason})]


async def test_only_tools_of_the_chat_are_called() -> None:
    chat = Chat(by_tool(read="x"), without=("bash",))
    said = await chat.send("run: make\nread a.py")
    assert [name for name, _ in chat.calls] == ["read"]
    assert said.splitlines() == [
        "I stopped before the command `make`: this chat has no bash tool (add it: @bash).",
        "Read a.py: 1 line.",
    ]


async def test_what_several_calls_say_alike_is_said_once() -> None:
    chat = Chat(by_tool(write="Staged as a preview - nothing has been changed yet."))
    said = await chat.send("write a.txt: one\nwrite b.txt: two")
    assert said.count("Staged as a preview") == 1


async def test_in_plan_mode_it_says_that_the_mode_has_no_such_tool() -> None:
    chat = Chat(no_tools, without=("bash",))
    chat.planning = True
    said = await chat.send("run: make")
    assert said == (
        f"{NOTICE}\n\nI stopped before the command `make`: "
        "plan mode has no bash tool (leave it: :AgentMode ask)."
    )


async def test_without_a_search_tool_the_rename_goes_on_to_what_follows() -> None:
    answers = by_tool(ast_edit=STAGED, resolve="Applied 2 replacements in 1 file.", read=["x", "y"])
    chat = Chat(answers, without=("grep",))
    said = await chat.send("rename f to g then read a.py then read b.py")
    assert [name for name, _ in chat.calls] == ["ast_edit", "resolve", "read", "read"]
    assert said.splitlines()[0] == "Applied 2 replacements in 1 file."


async def test_what_is_not_understood_is_named_beside_what_is_done() -> None:
    chat = Chat(by_tool(read="x"))
    said = await chat.send("read a.py\nmake it nice")
    assert said == "Read a.py: 1 line.\nI do not understand 'make it nice'."


async def test_a_text_sent_meanwhile_joins_the_work() -> None:
    chat = Chat(by_tool(read=["x", "y"], ls="a"))
    chat.history = chat.history.add(UserText("read a.py then read b.py"))
    reply = await chat.model.ask(chat.request(), chat.pieces.append)
    chat.history = chat.history.add(reply)
    chat.run(reply)
    said = await chat.send("ls")
    assert sorted(name for name, _ in chat.rounds[1]) == ["ls", "read"]
    assert said.splitlines() == [
        "Read a.py: 1 line.",
        "Read b.py: 1 line.",
        "The directory has 1 entry.",
    ]


async def test_a_new_turn_does_not_repeat_the_last_one() -> None:
    chat = Chat(by_tool(read=["x", "y"]))
    await chat.send("read a.py")
    assert await chat.send("read b.py") == "Read b.py: 1 line."
    assert [arguments["path"] for _, arguments in chat.calls] == ["a.py", "b.py"]


async def test_a_cancelled_turn_is_not_taken_up_again() -> None:
    chat = Chat(by_tool(bash=("Cancelled by the user.", Status.CANCELLED), read="x"))
    chat.history = chat.history.add(UserText("run: make then run: make install"))
    reply = await chat.model.ask(chat.request(), chat.pieces.append)
    chat.history = chat.history.add(reply)
    chat.run(reply)
    assert await chat.send("read a.py") == "Read a.py: 1 line."
    assert [name for name, _ in chat.calls] == ["bash", "read"]


async def test_a_stopped_turn_is_not_taken_up_again() -> None:
    chat = Chat(by_tool(read="x"))
    chat.history = chat.history.add(UserText("run: make"), Reply("Run", finish="cancelled"))
    assert await chat.send("read a.py") == "Read a.py: 1 line."


async def test_capped_results_are_counted_honestly() -> None:
    answers = by_tool(
        grep="a:1: x\na:2: x\n\n[2 matches limit reached. Use limit=4 for more, or refine pattern]",
        read="x\n\n[Showing lines 1-2000 of 9000. Use offset=2001 to continue.]",
    )
    said = await Chat(answers).send("search x; read a")
    assert said.splitlines() == [
        "At least 2 matches for x in 1 file: a:1, a:2.",
        "Read a, a part of it: Showing lines 1-2000 of 9000. Use offset=2001 to continue.",
    ]


async def test_names_in_brackets_are_names() -> None:
    said = await Chat(by_tool(find="[id].tsx\nb.tsx")).send("find *.tsx")
    assert said == "2 files for *.tsx: [id].tsx, b.tsx."


async def test_a_confidence_is_given_where_it_is_asked_for() -> None:
    chat = Chat(by_tool(read=["x", "y"]), confidence=80)
    await chat.send("read a.py then read b.py")
    assert chat.calls[0] == ("read", {"path": "a.py", "_confidence": 100})
    assert len(chat.calls) == 2


async def test_the_same_chat_gives_the_same_replies_and_every_id_is_new() -> None:
    async def played() -> History:
        chat = Chat(by_tool(read=["x", "y", "z"]))
        await chat.send("read a; read b")
        await chat.send("read c")
        return chat.history

    history = await played()
    assert history == await played()
    ids = [call.id for m in history.messages if isinstance(m, Reply) for call in m.calls]
    assert len(set(ids)) == len(ids) == 3


async def test_a_reply_streams_in_small_pieces_that_add_up() -> None:
    chat = Chat(by_tool(write="Created a (1 byte)."))
    said = await chat.send("write a: " + "word " * 50)
    texts = [piece.text for piece in chat.pieces if isinstance(piece, TextDelta)]
    growing = [piece.arguments for piece in chat.pieces if isinstance(piece, CallDelta)]
    assert len(texts) > 3
    assert "".join(texts).endswith(said)
    assert len(growing) > 3
    assert json.loads(growing[-1]) == chat.calls[0][1]
    assert all(growing[-1].startswith(piece) for piece in growing)
