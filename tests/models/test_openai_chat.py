"""A request as it goes to the server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
    Message,
    Note,
    Reply,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.models.protocols.conversation import NO_RESULT
from agentchat.models.protocols.openai_chat import OpenAIChat
from tests.models.requests import request, tool

ASKED = UserText("look")
PNG = Image("image/png", b"\x89PNG")


def sent(*said: Message, **more: Any) -> list[dict[str, Any]]:
    """The messages after the system prompt."""
    whole = OpenAIChat("m").body(request(*said, **more))
    assert whole["messages"][0] == {"role": "system", "content": "Be brief."}
    messages: list[dict[str, Any]] = whole["messages"][1:]
    return messages


def calls(*ids: str, text: str = "", **more: Any) -> Reply:
    made = tuple(ToolCall(f"inner-{id}", "read", '{"path": "a"}', id) for id in ids)
    return Reply(text, made, model="m", **more)


def result(id: str, text: str = "ok", images: tuple[Image, ...] = ()) -> ToolResult:
    return ToolResult(f"inner-{id}", "read", text, images=images)


def test_the_server_sees_its_own_ids_again() -> None:
    assert sent(ASKED, calls("a+/=|"), result("a+/=|")) == [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a+/=|",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "a"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a+/=|", "content": "ok"},
    ]


def test_every_call_has_exactly_one_answer_right_after_its_reply_in_order() -> None:
    messages = sent(
        ASKED,
        calls("1", "2", "3"),
        result("3", "three"),
        Note("meanwhile"),
        result("1", "one"),
        result("1", "again"),
        result("9", "of nobody"),
    )
    assert [m["content"] for m in messages[2:]] == ["one", NO_RESULT, "three", "meanwhile"]
    assert [m.get("tool_call_id") for m in messages[2:5]] == ["1", "2", "3"]


def test_an_id_that_a_server_uses_in_every_turn_stays_its_own() -> None:
    first = Reply("", (ToolCall("call_0", "read", "{}", "call_0"),))
    second = Reply("", (ToolCall("call_0~2", "read", "{}", "call_0"),))
    messages = sent(
        ASKED,
        first,
        ToolResult("call_0", "read", "one"),
        second,
        ToolResult("call_0~2", "read", "two"),
    )
    told = [(m["tool_call_id"], m["content"]) for m in messages if m["role"] == "tool"]
    assert told == [("call_0", "one"), ("call_0", "two")]


def test_images_of_results_follow_all_results_as_the_users() -> None:
    messages = sent(ASKED, calls("1", "2"), result("1", "[image]", (PNG,)), result("2"))
    assert [m["role"] for m in messages[2:]] == ["tool", "tool", "user"]
    assert messages[-1]["content"] == [
        {"type": "text", "text": "Images in the results of read, in order:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]


def test_images_of_the_user_are_parts_of_the_message() -> None:
    (message,) = sent(UserText("see", images=(PNG,)))
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]


def test_the_reminder_comes_last_and_is_no_part_of_the_history() -> None:
    asked = request(ASKED, reminder="<system-reminder>")
    messages = OpenAIChat("m").body(asked)["messages"]
    assert messages[-1] == {"role": "user", "content": "<system-reminder>"}
    assert len(asked.history.messages) == 1


def test_reasoning_goes_back_to_the_model_that_thought_it_with_its_calls_only() -> None:
    thought = calls("1", reasoning="hm")
    other = Reply("", (ToolCall("2", "read", "{}"),), reasoning="foreign", model="else")
    plain = Reply("Done.", reasoning="no need", model="m")
    messages = sent(ASKED, thought, result("1"), other, plain)
    assert [m.get("reasoning_content") for m in messages if m["role"] == "assistant"] == [
        "hm",
        None,
        None,
    ]


def test_an_answer_without_words_and_calls_is_left_out() -> None:
    assert sent(ASKED, Reply(error="no connection"), UserText("again")) == [
        {"role": "user", "content": "look"},
        {"role": "user", "content": "again"},
    ]


def test_the_text_of_a_broken_answer_stays_in_the_history() -> None:
    assert sent(ASKED, Reply("half", error="cut"))[1] == {"role": "assistant", "content": "half"}


@pytest.mark.parametrize("arguments", ['{"path": "a"', "[1]", '"x"', "{}{}", '{"a": 1} x'])
def test_arguments_that_are_no_object_go_back_inside_one(arguments: str) -> None:
    message = sent(ASKED, Reply("", (ToolCall("1", "read", arguments),)))[1]
    told = json.loads(message["tool_calls"][0]["function"]["arguments"])
    assert told == {"_not_json": arguments}


@pytest.mark.parametrize("arguments", ['{"path":  "a"}', '{"a":1,"a":2}', "{}"])
def test_arguments_that_are_an_object_go_back_as_they_came(arguments: str) -> None:
    message = sent(ASKED, Reply("", (ToolCall("1", "read", arguments),)))[1]
    assert message["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize(
    ("name", "told"), [("edit\u200b", "edit_"), ("", "_"), ("a b/c", "a_b_c"), ("x" * 99, "x" * 64)]
)
def test_a_name_that_servers_refuse_goes_back_as_one_they_take(name: str, told: str) -> None:
    message = sent(ASKED, Reply("", (ToolCall("1", name, "{}"),)))[1]
    assert message["tool_calls"][0]["function"]["name"] == told


def test_tools_with_a_dry_run_come_first_and_the_rest_keeps_its_order() -> None:
    tools = (tool("read"), tool("edit", dry_run=True), tool("ls"), tool("delete", dry_run=True))
    whole = OpenAIChat("m").body(request(tools=tools))
    names = [entry["function"]["name"] for entry in whole["tools"]]
    assert names == ["edit", "delete", "read", "ls"]


def test_a_tool_that_wants_confidence_says_so_and_has_a_field_for_it() -> None:
    whole = OpenAIChat("m").body(request(tools=(tool("x", min_confidence=80),)))
    function = whole["tools"][0]["function"]
    assert function["description"] == "The x tool. requires _confidence (0-100) in input, min=80"
    assert function["parameters"]["required"] == ["_confidence"]
    assert function["parameters"]["properties"]["_confidence"]["maximum"] == 100


def test_nothing_is_sent_that_a_server_did_not_take() -> None:
    asked = request(tools=(tool("resolve"),), forced="resolve")
    plain = OpenAIChat("m", refused=("tool_choice", "stream_options")).body(asked)
    assert sorted(plain) == ["messages", "model", "stream", "tools"]
    assert "tools" not in OpenAIChat("m").body(request())


def test_where_nobody_may_speak_twice_texts_are_joined() -> None:
    said = (ASKED, Note("By the way."), calls("1"), result("1"), UserText("And b?"))
    asked = request(*said, reminder="Call resolve.")
    messages = OpenAIChat("m", refused=("two turns of one side",)).body(asked)["messages"][1:]
    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", "look\n\nBy the way."),
        ("assistant", None),
        ("tool", "ok\n\nAnd b?\n\nCall resolve."),
    ]
    assert [m["role"] for m in sent(*said)] == ["user", "user", "assistant", "tool", "user"]
