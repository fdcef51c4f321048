"""Images and models that see none: what their servers say, and what is sent then."""

from __future__ import annotations

import base64
import json

import pytest

from agentchat.core.messages import Image, ToolCall, ToolResult, UserText
from agentchat.core.messages import Reply as ModelReply
from agentchat.core.model import Notice, Piece
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.features import NO_IMAGES_NOTICE
from agentchat.models.protocols.options import ProtocolName
from tests.models.protocol_server import Answered, events, in_turn, lines, refusal, serving
from tests.models.requests import request

PNG = Image("image/png", b"\x89PNG-data")
CHAT = events({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]})
RESPONSES = events(
    {"type": "response.output_text.delta", "delta": "ok"},
    {"type": "response.completed", "response": {"status": "completed", "output": []}},
)
ANTHROPIC = events(
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ok"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
)
GEMINI = events({"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]})
OLLAMA = lines({"message": {"content": "ok"}, "done": True, "done_reason": "stop"})


@pytest.mark.parametrize(
    ("protocol", "code", "message", "answer"),
    [
        ("openai-chat", 400, "Invalid content type. image_url is only supported by some.", CHAT),
        ("openai-chat", 400, "unknown variant `image_url`, expected `text`", CHAT),
        ("openai-chat", 400, "Image input is not enabled for this model", CHAT),
        ("openai-chat", 400, "m is not a multimodal model", CHAT),
        ("openai-chat", 400, "At most 0 image(s) may be provided in one request.", CHAT),
        ("openai-chat", 400, "'messages.1.content' must be a string", CHAT),
        ("openai-chat", 404, "No endpoints found that support image input", CHAT),
        ("openai-chat", 500, "image input is not supported - hint: provide the mmproj", CHAT),
        ("openai-responses", 400, "Image inputs are not supported by this model.", RESPONSES),
        ("openai-responses", 400, "Invalid value: 'input_image'.", RESPONSES),
        ("anthropic", 400, "'claude-2.1' does not support image input.", ANTHROPIC),
        ("gemini", 400, "Image input modality is not enabled for models/gemma", GEMINI),
        ("ollama", 400, "this model does not support images", OLLAMA),
        ("ollama", 500, "this model is missing data required for image input", OLLAMA),
    ],
)
async def test_a_model_that_sees_nothing_gets_a_note_and_the_user_another(
    protocol: ProtocolName, code: int, message: str, answer: Answered
) -> None:
    pieces: list[Piece] = []
    said = (
        UserText("look", images=(PNG,)),
        ModelReply(calls=(ToolCall("1", "read", "{}", "1"),), model="m", provider="p"),
        ToolResult("1", "read", "A picture.", images=(PNG, PNG)),
    )
    # Ollama is asked first for what it knows of the model.
    first = [lines({"model_info": {}})] if protocol == "ollama" else []
    async with serving(in_turn(*first, refusal(code, message), answer)) as server:
        model = ModelClient("m", server.url, FixedKey("k", "K"), protocol=protocol, provider="p")
        reply = await model.ask(request(*said), pieces.append)
        await model.close()
    with_images, without = (json.dumps(body) for body in server.bodies[-2:])
    assert (reply.text, reply.error) == ("ok", None)
    assert [p.text for p in pieces if isinstance(p, Notice)] == [NO_IMAGES_NOTICE]
    data = base64.b64encode(PNG.data).decode()
    assert data in with_images
    assert data not in without
    assert "[1 image left out: this model takes no images.]" in without
    assert "[2 images left out: this model takes no images.]" in without
