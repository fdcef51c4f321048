"""A chat as Markdown."""

from __future__ import annotations

from agentchat.core.messages import History, Reply, ToolCall, ToolResult, UserText
from agentchat.journal.markdown import LONGEST_RESULT, render_markdown


def test_rounds_of_a_turn_share_a_header_and_calls_are_followed_by_their_results() -> None:
    history = History(
        (
            UserText("model text", display_text="look"),
            Reply("I look.", (ToolCall("c1", "read", '{"path": "a"}'),)),
            ToolResult("c1", "read", "hello"),
            Reply("It says hello."),
        )
    )
    assert "\n".join(render_markdown(history, "look")) == (
        "# look\n\n## You\n\nlook\n\n## Agent\n\nI look.\n\n"
        '**read**\n\n```json\n{"path": "a"}\n```\n\n'
        "Result of read: success\n\n```\nhello\n```\n\nIt says hello.\n"
    )


def test_a_fence_in_a_result_ends_nothing() -> None:
    history = History((UserText("x"), Reply(calls=()), ToolResult("c", "read", "````\ncode\n````")))
    assert "`````\n````\ncode\n````\n`````" in "\n".join(render_markdown(history))


def test_a_long_result_is_cut() -> None:
    long = "\n".join(map(str, range(LONGEST_RESULT + 5)))
    assert "[5 more lines]" in render_markdown(History((ToolResult("c", "read", long),)))
