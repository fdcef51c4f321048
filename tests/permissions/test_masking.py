"""A token in what a tool returns reaches the model as a visible mask."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentchat.core.text import mask_secrets, mask_values
from agentchat.models.providers import PROVIDERS
from tests.permissions.gate import ASK, RUN, Chat

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


async def test_a_token_in_a_result_never_reaches_the_model(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text(f"token = {TOKEN}\n")
    chat = Chat(tmp_path.resolve())
    assert await chat.call("read", path="notes") == RUN
    assert await chat.bash("cat notes", "accept") == "ASK"
    assert TOKEN not in str(chat.scene.model.requests)
    assert chat.result().text == "token = [masked: GitHub token]"


RANDOM = "k7Qw2ZtR9vXb4NcM1sLd8PfH6jGy3TaE"
"""A key without a form of its own, as Mistral and Azure give out."""

VARIABLES = sorted({provider.key_variable for provider in PROVIDERS.values()} - {""})
KEYS = ("gsk_" + "a1B2" * 13, "xai-" + "a1B2" * 20, "sk-or-v1-" + "a1" * 32, "sk-ant-" + "a1B2" * 9)
PLACES = (
    "[remote]\n\turl = https://me:{}@example.org/a.git",
    "[remote]\n\turl = https://{}@example.org/a.git",
    "[http]\n\textraheader = AUTHORIZATION: basic {}",
    'curl -H "Authorization: Bearer {}" https://example.org',
    '{{"headers": {{"Authorization": "Bearer {}"}}}}',
    "x-api-key: {}",
)
HARMLESS = (
    "https://example.org/a@b", "git@github.com:a/b.git", "ssh://git@example.org/a",
    "https://${USER}:${TOKEN}@example.org", "Authorization: Bearer ${TOKEN}",
    "OPENAI_API_KEY=your-key", "postgres://app:app@db/app", "api_key = os.environ['API_KEY']",
    "MAX_TOKENS = 100_000_000_000_000_000", "https://user:<password>@example.org",
)  # fmt: skip


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("form", ["{}={}", "export {}='{}'", '"{}": "{}"', "{}: {}"])
def test_the_key_of_every_provider_is_masked(variable: str, form: str) -> None:
    text = form.format(variable, RANDOM)
    assert RANDOM not in mask_secrets(text)
    assert variable in mask_secrets(text)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_with_a_known_form_is_masked_anywhere(key: str) -> None:
    assert key not in mask_secrets(f"it is {key}.")


@pytest.mark.parametrize("place", PLACES)
def test_what_stands_where_a_password_does_is_masked(place: str) -> None:
    assert mask_secrets(place.format(RANDOM)) == place.format("[masked: password]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert mask_secrets(text) == text


def test_a_value_that_the_user_has_is_masked() -> None:
    mask_values(["short", "a value-without any form"])
    assert mask_secrets("short: a value-without any form.") == "short: [masked: API key]."


@pytest.mark.parametrize("place", PLACES[:3])
async def test_settings_of_git_with_a_credential_ask(tmp_path: Path, place: str) -> None:
    root = tmp_path.resolve()
    (root / ".git").mkdir()
    config = root / ".git/config"
    chat = Chat(root)
    config.write_text("[remote]\n\turl = https://example.org/a.git\n")
    assert await chat.call("read", path=".git/config") == RUN
    config.write_text(place.format(RANDOM))
    assert await chat.call("read", "accept", path=".git/config") == ASK
    assert RANDOM not in str(chat.scene.model.requests)
    chat = Chat(root)
    chat.policy.attended = False
    await chat.call("read", path=".git/config")
    assert "Denied" in chat.result().text


async def test_a_file_with_a_second_name_asks_before_it_is_read(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "workspace"
    (root / "node_modules").mkdir(parents=True)
    (tmp_path / "id_rsa").write_text("hidden\n")
    for name in ("notes.txt", "node_modules/a.js"):
        os.link(tmp_path / "id_rsa", root / name)
    chat = Chat(root)
    assert await chat.call("read", path="notes.txt") == ASK
    assert await chat.call("read", path="node_modules/a.js") == RUN
