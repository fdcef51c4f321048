"""Which model a chat gets: settings first, then the environment, then the planner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Reply
from agentchat.models.client import ModelClient
from agentchat.models.offline import OfflineModel
from agentchat.models.select import ModelSelection, choose_model, environment_keys
from tests.models.notation import C, F, Z
from tests.models.raw_server import BARE_HEAD, ServerScript, serving, waits
from tests.models.requests import request
from tests.support.model_server import ModelServer
from tests.support.replies import text

KEY = {"OPENAI_API_KEY": "sk-1"}
LOCAL = "http://127.0.0.1:8080/v1"
DEFAULTS = {
    "provider": None,
    "name": None,
    "base_url": None,
    "api_key_env": "OPENAI_API_KEY",
    "api_key_cmd": None,
}


@pytest.mark.parametrize(
    ("settings", "environ", "url", "name"),
    [
        ({}, KEY, "https://api.openai.com/v1", "gpt-5"),
        ({}, {**KEY, "AGENTCHAT_MODEL": "m"}, "https://api.openai.com/v1", "m"),
        ({}, {"OPENAI_BASE_URL": LOCAL}, LOCAL, "gpt-5"),
        ({}, {"OPENAI_BASE_URL": LOCAL + "/", "AGENTCHAT_MODEL": "m"}, LOCAL, "m"),
        (DEFAULTS, {"OPENAI_BASE_URL": LOCAL, **KEY}, LOCAL, "gpt-5"),
        ({"name": "mine"}, {**KEY, "AGENTCHAT_MODEL": "m"}, "https://api.openai.com/v1", "mine"),
        ({"name": "mine"}, {"OPENAI_BASE_URL": LOCAL}, LOCAL, "mine"),
        ({"base_url": LOCAL, "name": "mine"}, {"OPENAI_BASE_URL": "http://x"}, LOCAL, "mine"),
        ({"provider": "ollama", "name": "qwen"}, {}, "http://127.0.0.1:11434/v1", "qwen"),
        ({"provider": "openai", "api_key_cmd": "x"}, {}, "https://api.openai.com/v1", "gpt-5"),
        ({"api_key_env": "MY"}, {"MY": "k"}, "https://api.openai.com/v1", "gpt-5"),
    ],
)
def test_a_server_is_chosen(
    settings: Mapping[str, Any], environ: Mapping[str, str], url: str, name: str
) -> None:
    model = choose_model(settings, environ)
    assert isinstance(model, ModelClient)
    assert (model.base_url, model.name) == (url, name)


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        ({}, {}),
        (DEFAULTS, {}),
        (DEFAULTS, {"AGENTCHAT_MODEL": "m", "OPENAI_API_KEY": ""}),
        ({"provider": "offline"}, KEY),
        ({"name": "offline"}, KEY),
    ],
)
def test_the_planner_is_chosen(settings: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    assert isinstance(choose_model(settings, environ), OfflineModel)


@pytest.mark.parametrize(
    ("settings", "environ", "says"),
    [
        ({"provider": "opnai"}, KEY, "Unknown provider 'opnai' in g:agentchat.model. Did you mean"),
        ({"provider": "openai"}, {}, "No key: set $OPENAI_API_KEY, or api_key_cmd"),
        ({"name": "gpt-5"}, {}, "No key: set $OPENAI_API_KEY"),
        ({"api_key_env": "MY"}, KEY, "No key: set $MY"),
        ({"provider": "mistral", "name": "x"}, KEY, "No key: set $MISTRAL_API_KEY"),
        ({"provider": "ollama"}, {}, "No model is named for http://127.0.0.1:11434/v1"),
        ({"base_url": "127.0.0.1:8080"}, {}, "must begin with http:// or https://"),
        ({}, {"OPENAI_BASE_URL": "localhost"}, "must begin with http:// or https://"),
    ],
)
def test_a_choice_that_cannot_be_made_says_what_to_do(
    settings: Mapping[str, Any], environ: Mapping[str, str], says: str
) -> None:
    with pytest.raises(UserError) as caught:
        choose_model(settings, environ)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "environ", "sent"),
    [
        ({}, KEY, "sk-1"),
        ({}, {}, "no-key"),
        ({"api_key_env": "MY"}, {**KEY, "MY": " mine\n"}, "mine"),
        ({"api_key_cmd": ["echo", "printed"]}, KEY, "printed"),
        ({"provider": "openrouter", "name": "m"}, {**KEY, "OPENROUTER_API_KEY": "or"}, "or"),
        ({"provider": "openrouter", "name": "m"}, KEY, "no-key"),
    ],
)
async def test_the_key_goes_to_the_server_it_belongs_to(
    server: ModelServer, settings: Mapping[str, Any], environ: Mapping[str, str], sent: str
) -> None:
    server.script(text("ok"))
    model = choose_model({**settings, "base_url": server.url}, environ)
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    assert reply.text == "ok"
    assert server.requests[0].headers["authorization"] == f"Bearer {sent}"


def test_every_key_in_the_environment_is_a_secret() -> None:
    environ = {**KEY, "GROQ_API_KEY": "gk", "MY": "mine\n", "HOME": "/root", "MISTRAL_API_KEY": ""}
    assert set(environment_keys({"api_key_env": "MY"}, environ)) == {"sk-1", "gk", "mine"}
    assert environment_keys({}, {}) == ()


# --- what a chat keeps ----------------------------------------------------------------------


class Hidden(list[str]):
    """Collects the keys that a selection announces."""

    def hide(self, keys: Iterable[str]) -> None:
        self.extend(keys)


async def ask(selection: ModelSelection) -> Reply:
    return await selection.current().ask(request(), lambda piece: None)


def kept_open(body: str) -> ServerScript:
    """Send a whole answer and keep the connection."""
    head = BARE_HEAD.replace(b"Connection: close", b"Content-Length: %d" % len(body))
    return waits(head, body.encode())


async def test_the_same_settings_give_the_same_model() -> None:
    selection = ModelSelection({"base_url": LOCAL, "name": "m"})
    first = selection.current()
    assert selection.current() is first
    selection.chosen = "other"
    assert selection.current().name == "other"
    await selection.close()


async def test_a_model_that_is_replaced_is_closed() -> None:
    async with serving(kept_open(C("ok") + F("stop") + Z)) as wire:
        selection = ModelSelection({"base_url": wire.url, "name": "m"})
        assert (await ask(selection)).text == "ok"
        selection.settings = {"provider": "offline"}
        assert selection.current().name == "offline"
        await asyncio.wait_for(wire.gone.wait(), 1)
        await selection.close()


async def test_the_end_of_a_chat_closes_its_model() -> None:
    async with serving(kept_open(C("ok") + F("stop") + Z)) as wire:
        selection = ModelSelection({"base_url": wire.url, "name": "m"})
        await ask(selection)
        await selection.close()
        await asyncio.wait_for(wire.gone.wait(), 1)


async def test_the_key_of_a_command_is_hidden_before_it_is_sent(server: ModelServer) -> None:
    server.script(text("ok"))
    hidden = Hidden()
    settings = {"base_url": server.url, "name": "m", "api_key_cmd": ["echo", "printed-key"]}
    selection = ModelSelection(settings, hidden.hide)
    selection.warm_up()
    assert "printed-key" not in hidden
    await ask(selection)
    assert "printed-key" in hidden
    await selection.close()
