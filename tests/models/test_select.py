"""Which model a chat gets: settings first, then the environment, then the planner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Reply
from agentchat.models.client import ModelClient
from agentchat.models.learned import LearnedServers
from agentchat.models.offline import OfflineModel
from agentchat.models.providers import PROVIDERS
from agentchat.models.select import ModelSelection, choose_model, environment_keys
from tests.models.notation import C, F, Z
from tests.models.protocol_server import Answered, events, in_turn, refusal
from tests.models.protocol_server import serving as protocol_serving
from tests.models.raw_server import BARE_HEAD, ServerScript, serving, waits
from tests.models.requests import request
from tests.support.model_server import ModelServer
from tests.support.replies import status, text

KEY = {"OPENAI_API_KEY": "sk-1"}
LOCAL = "http://127.0.0.1:8080/v1"
GEMINI = "https://generativelanguage.googleapis.com/v1beta"
COMPATIBLE = f"{GEMINI}/openai"
AZURE = "https://x.openai.azure.com/openai/v1"
EVERY_KEY = {provider.key_variable: "k" for provider in PROVIDERS.values()}
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
        ({"provider": "vllm", "name": "m"}, KEY, "no-key"),
        ({"provider": "vllm", "name": "m", "api_key_env": "MY"}, {"MY": "mine"}, "mine"),
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


@pytest.mark.parametrize(
    ("provider", "key", "owner"),
    [
        ("openai", "sk-ant-api03-1", "anthropic"),
        ("anthropic", "sk-proj-1", "openai"),
        ("gemini", "sk-or-v1-1", "openrouter"),
        ("openrouter", "AIza1", "gemini"),
        ("xai", "gsk_1", "groq"),
        ("github", "xai-1", "xai"),
    ],
)
async def test_a_key_of_another_provider_is_not_sent(provider: str, key: str, owner: str) -> None:
    environ = {PROVIDERS[provider].key_variable: key}
    model = choose_model({"provider": provider, "name": "m"}, environ)
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    said = reply.error or ""
    assert f"The key is one of {owner}, not of {provider}, and was not sent." in said
    assert f"set provider = {owner!r} in g:agentchat.model" in said
    assert key not in said


async def test_a_refused_key_that_belongs_elsewhere_is_named(server: ModelServer) -> None:
    server.script(status(401, "no"))
    model = choose_model({"base_url": server.url}, {"OPENAI_API_KEY": "sk-ant-1"})
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    assert "Check $OPENAI_API_KEY: it looks like a key of anthropic." in (reply.error or "")


@pytest.mark.parametrize(
    ("settings", "protocol", "url"),
    [
        (
            {"provider": "openai", "name": "gpt-5.4"},
            "openai-responses",
            "https://api.openai.com/v1",
        ),
        ({"provider": "openai", "name": "o3"}, "openai-responses", "https://api.openai.com/v1"),
        ({"provider": "openai", "name": "gpt-4.1"}, "openai-chat", "https://api.openai.com/v1"),
        ({"name": "gpt-5", "base_url": LOCAL}, "openai-chat", LOCAL),
        ({"name": "m", "base_url": LOCAL, "protocol": "anthropic"}, "anthropic", LOCAL),
        ({"provider": "anthropic", "name": "m"}, "anthropic", "https://api.anthropic.com/v1"),
        ({"provider": "anthropic", "name": "m", "base_url": LOCAL}, "anthropic", LOCAL),
        ({"provider": "gemini", "name": "m"}, "gemini", GEMINI),
        ({"provider": "gemini", "name": "m", "protocol": "openai-chat"}, "openai-chat", COMPATIBLE),
        ({"provider": "ollama", "name": "m"}, "ollama", "http://127.0.0.1:11434/v1"),
        ({"provider": "azure", "name": "gpt-5", "base_url": AZURE}, "openai-chat", AZURE),
        ({"provider": "xai", "name": "grok"}, "openai-chat", "https://api.x.ai/v1"),
    ],
)
def test_the_protocol_follows_from_settings_provider_and_model(
    settings: Mapping[str, Any], protocol: str, url: str
) -> None:
    model = choose_model(settings, EVERY_KEY)
    assert isinstance(model, ModelClient)
    assert (model.protocol, model.base_url) == (protocol, url)


async def test_a_protocol_that_a_server_asked_for_is_remembered_for_other_processes(
    tmp_path: Path,
) -> None:
    message = "This model is only supported in v1/responses and not in v1/chat/completions."
    done = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    answers = in_turn(refusal(400, message), events(done))
    async with protocol_serving(answers) as server:
        settings = {"base_url": f"{server.url}/v1", "name": "gpt-next"}
        learned = LearnedServers(tmp_path)
        first = ModelSelection(settings, learned=learned)
        second = ModelSelection(settings, learned=LearnedServers(tmp_path))
        await ask(first)
        await ask(second)
        await first.close()
        await second.close()
    chat, responses = "/v1/chat/completions", "/v1/responses"
    assert [asked.path for asked in server.asked] == [chat, responses, responses]


async def test_the_key_of_azure_has_a_header_of_its_own() -> None:
    answers = in_turn(refusal(403, "no"))
    async with protocol_serving(answers) as server:
        settings = {"provider": "azure", "base_url": server.url, "name": "gpt-5"}
        model = choose_model(settings, {"AZURE_OPENAI_API_KEY": "az"})
        await model.ask(request(), lambda piece: None)
        await model.close()
    (asked,) = server.asked
    assert asked.headers["api-key"] == "az"
    assert "authorization" not in asked.headers


async def test_the_settings_of_a_model_are_in_each_request(server: ModelServer) -> None:
    server.script(text("ok"))
    settings = {
        "base_url": server.url,
        "name": "m",
        "effort": "low",
        "temperature": 0,
        "max_tokens": 100.0,
        "params": {"top_p": 0.5},
    }
    model = choose_model(settings, {})
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    body = server.requests[0].body
    assert body["reasoning_effort"] == "low"
    assert (body["temperature"], body["max_tokens"], body["top_p"]) == (0, 100, 0.5)
    assert reply.provider == f"openai@{server.url.split('/')[2]}"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"protocol": "antropic"},
            "Unknown protocol 'antropic' in g:agentchat.model. Did you mean",
        ),
        ({"effort": "hihg"}, "Unknown effort 'hihg' in g:agentchat.model. Did you mean 'high'?"),
        ({"temperature": 3}, "temperature in g:agentchat.model must be a number from 0 to 2"),
        ({"temperature": True}, "temperature in g:agentchat.model must be a number"),
        ({"max_tokens": 0}, "max_tokens in g:agentchat.model must be a whole number, at least 1"),
        ({"max_tokens": 1.5}, "max_tokens in g:agentchat.model must be a whole number"),
        ({"context": 100}, "context in g:agentchat.model must be a whole number, at least 512"),
        ({"params": "x"}, "params in g:agentchat.model must be a table"),
        ({"params": {"messages": []}}, "params in g:agentchat.model cannot hold 'messages'"),
        ({"provider": "azure", "name": "x"}, "No base_url for azure"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings: Mapping[str, Any], says: str) -> None:
    with pytest.raises(UserError) as caught:
        choose_model({"name": "m", **settings}, EVERY_KEY)
    assert says in str(caught.value)


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
    assert selection.choose("other").name == selection.current().name == "other"
    await selection.close()


ENVIRONMENT = {"ANTHROPIC_API_KEY": "a", "OPENROUTER_API_KEY": "o"}


@pytest.mark.parametrize(
    ("settings", "chosen", "name", "url"),
    [
        ({"base_url": LOCAL, "name": "m"}, "other", "other", LOCAL),
        ({"base_url": LOCAL, "name": "m"}, "openai/other", "other", LOCAL),
        ({"base_url": LOCAL, "name": "m"}, "Qwen/Qwen3", "Qwen/Qwen3", LOCAL),
        ({"base_url": LOCAL, "name": "m"}, "ollama/qwen3", "qwen3", PROVIDERS["ollama"].base_url),
        (
            {"base_url": LOCAL, "name": "m", "protocol": "openai-chat"},
            "anthropic/claude-opus-4-6",
            "claude-opus-4-6",
            PROVIDERS["anthropic"].base_url,
        ),
        (
            {"provider": "openrouter", "name": "m"},
            "openrouter/anthropic/claude-x",
            "anthropic/claude-x",
            PROVIDERS["openrouter"].base_url,
        ),
    ],
)
async def test_a_provider_and_a_name_choose_a_model(
    settings: Mapping[str, Any],
    chosen: str,
    name: str,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    selection = ModelSelection(settings)
    model = selection.choose(chosen)
    assert isinstance(model, ModelClient)
    assert (model.name, model.base_url) == (name, url)
    await selection.close()


async def test_a_choice_that_cannot_be_used_changes_nothing() -> None:
    selection = ModelSelection({"base_url": LOCAL, "name": "m"})
    for chosen, problem in (("mistral/x", "No key: set"), ("mistral/", "Name a model, too")):
        with pytest.raises(UserError, match=problem):
            selection.choose(chosen)
        assert selection.current().name == "m"
    assert selection.choose("offline").name == "offline"
    assert selection.choose("n").name == "n"
    await selection.close()


async def test_a_change_of_the_settings_undoes_a_choice_and_only_that_of_the_model() -> None:
    selection = ModelSelection({"base_url": LOCAL, "name": "m"})
    selection.choose("other")
    selection.configure({"base_url": LOCAL, "name": "m", "effort": "low"})
    assert selection.current().name == "other"
    selection.configure({"base_url": LOCAL, "name": "new"})
    assert selection.current().name == "new"
    await selection.close()


def a_list(*names: str, key: str = "data", field: str = "id") -> Answered:
    return Answered(json.dumps({key: [{field: name} for name in names]}).encode(), kind="json")


@pytest.mark.parametrize(
    ("settings", "page", "path"),
    [
        ({"name": "m"}, a_list("b", "a", "text-embedding-3"), "/models"),
        ({"name": "m", "protocol": "anthropic"}, a_list("b", "a"), "/v1/models"),
        (
            {"name": "m", "protocol": "gemini"},
            a_list("models/b", "models/a", key="models", field="name"),
            "/v1beta/models",
        ),
        (
            {"name": "m", "protocol": "ollama"},
            a_list("b", "a", key="models", field="name"),
            "/api/tags",
        ),
    ],
)
async def test_the_models_of_a_server_can_be_listed_in_every_protocol(
    settings: Mapping[str, Any], page: Answered, path: str
) -> None:
    async with protocol_serving(in_turn(page)) as server:
        selection = ModelSelection({**settings, "base_url": server.url})
        listed = await selection.list()
        await selection.close()
    assert [asked.path for asked in server.asked] == [path]
    assert (listed.names[:3], listed.names[-1], listed.problem) == (
        ("a", "b", "m"),
        "offline",
        "",
    )


async def test_a_name_that_the_server_lists_is_one_of_its_models() -> None:
    async with protocol_serving(in_turn(a_list("openai/gpt-oss", "groq/x"))) as server:
        selection = ModelSelection({"base_url": server.url, "name": "m"})
        await selection.list()
        assert selection.choose("groq/x").name == "groq/x"
        await selection.close()


async def test_a_server_without_a_list_says_how_to_go_on() -> None:
    async with protocol_serving(in_turn(refusal(404, "no"))) as server:
        selection = ModelSelection({"base_url": server.url, "name": "m"})
        listed = await selection.list()
        await selection.close()
    assert listed.names[0] == "m"
    assert listed.problem.endswith("does not list its models: name one with :AgentModel NAME.")


async def test_a_server_that_is_not_there_is_no_server_without_a_list() -> None:
    selection = ModelSelection({"base_url": "http://127.0.0.1:9", "name": "m"})
    listed = await selection.list()
    await selection.close()
    assert listed.names[0] == "m"
    assert listed.problem.endswith("Is the server running?")


async def test_a_model_that_is_replaced_is_closed() -> None:
    async with serving(kept_open(C("ok") + F("stop") + Z)) as wire:
        selection = ModelSelection({"base_url": wire.url, "name": "m"})
        assert (await ask(selection)).text == "ok"
        selection.configure({"provider": "offline"})
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
