"""A request as it goes to the server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
    Message,
    Note,
    Reply,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.model import Notice, Piece
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.conversation import NO_RESULT
from agentchat.models.protocols.features import REASONING_REFUSED
from agentchat.models.protocols.openai_chat import OpenAIChat, OpenAIChatReader
from agentchat.models.protocols.options import ModelOptions
from agentchat.models.response.body import BodyReader
from agentchat.models.response.reply import ReplyAssembly
from tests.models.notation import D, F, Z
from tests.models.requests import request, tool
from tests.support.model_server import ModelServer
from tests.support.replies import status, text

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


# --- what servers want back -----------------------------------------------------------------

ROUTED = [
    {"type": "reasoning.text", "text": "hm", "signature": "s+/=", "index": 0, "format": "x"},
    {"type": "reasoning.encrypted", "data": "ZGF0YQ==", "index": 1},
]
SIGNED = {"google": {"thought_signature": "sig+/="}}


def routed(**more: Any) -> Reply:
    opaque = {"openai-chat": {"reasoning_details": ROUTED}}
    call = ToolCall("1", "read", "{}", opaque={"openai-chat": {"extra_content": SIGNED}})
    about = {"model": "m", "provider": "openrouter", **more}
    return Reply(parts=(ThinkingPart("hm", opaque), call), **about)


def assistant(provider: str, reply: Reply) -> dict[str, Any]:
    asked = request(ASKED, reply, ToolResult("1", "read", "ok"))
    message: dict[str, Any] = OpenAIChat("m", provider).body(asked)["messages"][2]
    return message


def test_reasoning_details_and_signatures_go_back_unchanged() -> None:
    message = assistant("openrouter", routed())
    assert message["reasoning_details"] == ROUTED
    assert message["tool_calls"][0]["extra_content"] == SIGNED
    assert "reasoning_content" not in message


@pytest.mark.parametrize("more", [{"model": "n"}, {"provider": "p"}, {"error": "cut"}])
def test_they_go_to_nobody_else(more: dict[str, str]) -> None:
    message = assistant("openrouter", routed(**more))
    assert "reasoning_details" not in message
    assert "extra_content" not in message["tool_calls"][0]


def test_gemini_gets_the_word_that_skips_its_check_for_foreign_calls() -> None:
    (call,) = assistant("gemini", routed())["tool_calls"]
    word = "skip_thought_signature_validator"
    assert call["extra_content"] == {"google": {"thought_signature": word}}


def test_pieces_of_reasoning_details_are_joined_and_kept() -> None:
    reader = BodyReader(OpenAIChatReader(ReplyAssembly()))
    first = {"type": "reasoning.text", "text": "h", "index": 0, "format": "x"}
    rest = {"type": "reasoning.text", "text": "m", "index": 0, "signature": None}
    signature = {"type": "reasoning.text", "text": "", "index": 0, "signature": "s+/="}
    deltas = [
        {"reasoning": "h", "reasoning_details": [first]},
        {"reasoning": "m", "reasoning_details": [rest]},
        {"reasoning_details": [signature, ROUTED[1]]},
        {"content": "ok"},
    ]
    reader.add(("".join(map(D, deltas)) + F("stop") + Z).encode())
    thinking, text = reader.reply().parts
    assert text == TextPart("ok")
    assert thinking == ThinkingPart("hm", {"openai-chat": {"reasoning_details": ROUTED}})


def test_a_signature_on_a_call_is_kept() -> None:
    reader = BodyReader(OpenAIChatReader(ReplyAssembly()))
    call = {"index": 0, "id": "1", "function": {"name": "ls", "arguments": "{}"}}
    reader.add((D({"tool_calls": [{**call, "extra_content": SIGNED}]}) + F("stop") + Z).encode())
    assert reader.reply().calls[0].opaque == {"openai-chat": {"extra_content": SIGNED}}


def test_effort_has_another_place_at_openrouter() -> None:
    options = ModelOptions(effort="high")
    assert OpenAIChat("m", "openrouter", options).body(request())["reasoning"] == {"effort": "high"}
    assert OpenAIChat("m", "groq", options).body(request())["reasoning_effort"] == "high"


MARK = {"cache_control": {"type": "ephemeral"}}


def test_anthropics_models_at_openrouter_get_three_marks_for_the_cache() -> None:
    said = (ASKED, calls("1"), result("1"), UserText("And b?"))
    asked = request(*said, reminder="Call resolve.")
    marked = OpenAIChat("anthropic/claude-sonnet-5", "openrouter").body(asked)["messages"]
    lists = [m["content"] for m in marked if type(m["content"]) is list]
    assert all(MARK.items() <= content[-1].items() for content in lists)
    assert [type(m["content"]) is list for m in marked] == [True, True, False, False, True, False]
    refused = OpenAIChat("anthropic/claude-sonnet-5", "openrouter", refused=("cache",))
    for plain in (refused, OpenAIChat("m", "openrouter"), OpenAIChat("anthropic/x", "openai")):
        assert "cache_control" not in str(plain.body(asked))


async def test_a_model_with_a_newer_name_for_the_limit_gets_it(server: ModelServer) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.script(status(400, message), text("ok"))
    model = ModelClient("m", server.url, NoKey("K"), options=ModelOptions(max_tokens=9))
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    assert reply.text == "ok"
    assert server.requests[1].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.requests[1].body


async def test_refused_reasoning_details_are_left_out_and_the_user_is_told(
    server: ModelServer,
) -> None:
    server.script(status(400, "Invalid signature in thinking block"), text("ok"))
    model = ModelClient("m", server.url, NoKey("K"), provider="openrouter")
    pieces: list[Piece] = []
    asked = request(ASKED, routed(), ToolResult("1", "read", "ok"))
    reply = await model.ask(asked, pieces.append)
    await model.close()
    assert reply.text == "ok"
    assert [p.text for p in pieces if isinstance(p, Notice)] == [REASONING_REFUSED]
    assert "reasoning_details" not in server.requests[1].messages[2]


async def test_a_model_that_sees_nothing_is_asked_without_images(server: ModelServer) -> None:
    server.script(status(400, "image input is not supported"), text("ok"))
    model = ModelClient("m", server.url, NoKey("K"))
    reply = await model.ask(request(UserText("look", images=(PNG,))), lambda piece: None)
    await model.close()
    assert reply.text == "ok"
    assert "[1 image left out: this model takes no images.]" in server.requests[1].last


def test_mistral_gets_ids_of_nine_characters_which_stay_apart() -> None:
    protocol = OpenAIChat("mistral-large", "mistral")
    made = calls("call_0fypS1hVX", "D681PevKs", "call_1")
    results = [result(id) for id in ("call_0fypS1hVX", "D681PevKs", "call_1")]
    messages = protocol.body(request(ASKED, made, *results))["messages"][2:]
    ids = [call["id"] for call in messages[0]["tool_calls"]]
    assert [message["tool_call_id"] for message in messages[1:]] == ids
    assert ids[1] == "D681PevKs"
    assert len(set(ids)) == 3
    assert all(re.fullmatch("[A-Za-z0-9]{9}", id) for id in ids)


@pytest.mark.parametrize(
    "refusal",
    [
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 60 instead.",
    ],
)
async def test_a_server_that_wants_short_ids_gets_them_from_then_on(
    server: ModelServer, refusal: str
) -> None:
    server.script(status(400, refusal), text("ok"))
    model = ModelClient("m", server.url, NoKey("K"))
    reply = await model.ask(request(ASKED, calls("call_1"), result("call_1")), lambda piece: None)
    await model.close()
    assert reply.text == "ok"
    ids = [request.messages[-1]["tool_call_id"] for request in server.requests]
    assert ids[0] == "call_1"
    assert len(ids[1]) == 9


@pytest.mark.parametrize(
    "refusal",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
    ],
)
async def test_a_server_that_wants_reasoning_in_each_reply_gets_it(
    server: ModelServer, refusal: str
) -> None:
    server.script(status(400, refusal), text("ok"))
    model = ModelClient("m", server.url, NoKey("K"))
    foreign = Reply("else", reasoning="a secret thought", model="else")
    thought = calls("b", reasoning="hm")
    said = (ASKED, foreign, ASKED, calls("a"), result("a"), thought, result("b"))
    reply = await model.ask(request(*said), lambda piece: None)
    await model.close()
    assert reply.text == "ok"
    replies = [m for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert [message["reasoning_content"] for message in replies] == [" ", " ", "hm"]


def test_reasoning_in_parts_of_the_content_is_reasoning() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Look first."}]}
    body = D({"content": [thinking]}) + D({"content": [{"type": "text", "text": "Done."}]})
    answer = BodyReader(OpenAIChatReader(ReplyAssembly()))
    answer.add((body + F("stop") + Z).encode())
    reply = answer.reply()
    assert (reply.reasoning, reply.text) == ("Look first.", "Done.")
