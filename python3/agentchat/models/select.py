"""Which model a chat talks to: the settings, else the environment, else the built-in planner."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from agentchat.core.errors import UserError
from agentchat.models.api_key import CommandKey, FixedKey, Key, NoKey
from agentchat.models.client import OpenAIModel
from agentchat.models.offline import OfflineModel
from agentchat.models.providers import PROVIDERS, Provider

OPENAI = "openai"
OFFLINE = "offline"
KEY_VARIABLE = "OPENAI_API_KEY"

AnyModel = OpenAIModel | OfflineModel


def choose(settings: Mapping[str, Any], environ: Mapping[str, str]) -> AnyModel:
    """Return the model of ``g:agentchat.model`` (``settings``), else of the environment.

    Raises:
        UserError: unknown provider, no key for a server that needs one, or a bad URL.
    """
    provider = settings.get("provider")
    offline = provider == OFFLINE or (not provider and settings.get("name") == OFFLINE)
    if offline or not _wants_server(settings, environ):
        return OfflineModel()
    return _server(_known(provider or OPENAI), settings, environ)


def secrets(settings: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that the environment holds: values that must never be written down."""
    named = {provider.key_variable for provider in PROVIDERS.values()}
    variables = {*named, settings.get("api_key_env") or KEY_VARIABLE}
    values = (environ.get(variable, "").strip() for variable in sorted(variables))
    return tuple(value for value in values if value)


def _wants_server(settings: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether anything names a server: the settings, or the environment."""
    named = any(settings.get(key) for key in ("provider", "name", "base_url", "api_key_cmd"))
    own = settings.get("api_key_env") or KEY_VARIABLE
    return (
        named
        or own != KEY_VARIABLE
        or bool(environ.get("OPENAI_BASE_URL") or environ.get(KEY_VARIABLE))
    )


def _known(provider: str) -> Provider:
    if provider in PROVIDERS:
        return PROVIDERS[provider]
    names = [*PROVIDERS, OFFLINE]
    near = difflib.get_close_matches(provider, names, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise UserError(
        f"Unknown provider {provider!r} in g:agentchat.model.{guess} Known are: "
        f"{', '.join(names)}. Any other server: leave provider out and set base_url."
    )


def _server(
    provider: Provider, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> OpenAIModel:
    own = provider is PROVIDERS[OPENAI]
    url = settings.get("base_url") or (own and environ.get("OPENAI_BASE_URL")) or provider.base_url
    name = settings.get("name") or environ.get("AGENTCHAT_MODEL") or provider.default_model
    if not name:
        raise UserError(
            f"No model is named for {url}: set name in g:agentchat.model, or $AGENTCHAT_MODEL."
        )
    needs_key = provider.needs_key and url == provider.base_url
    return OpenAIModel(name, url, _key(provider, needs_key, settings, environ))


def _key(
    provider: Provider, needed: bool, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> Key:
    command = settings.get("api_key_cmd")
    if command:
        return CommandKey(command)
    variable = settings.get("api_key_env") or KEY_VARIABLE
    if variable == KEY_VARIABLE:  # the default: never send one provider's key to another
        variable = provider.key_variable or KEY_VARIABLE
    value = environ.get(variable, "").strip()
    if value:
        return FixedKey(value, variable)
    if needed:
        raise UserError(f"No key: set ${variable}, or api_key_cmd in g:agentchat.model.")
    return NoKey(variable)
