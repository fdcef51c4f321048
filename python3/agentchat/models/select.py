"""Which model a chat talks to: the settings, else the environment, else the offline model."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from agentchat.core.errors import UserError
from agentchat.core.tools.model import Model
from agentchat.models.api_key import ApiKey, CommandKey, FixedKey, NoKey, OnKey
from agentchat.models.client import ModelClient
from agentchat.models.offline import OfflineModel
from agentchat.models.prices import PriceList
from agentchat.models.protocols.options import ProtocolName, read_options, read_protocol
from agentchat.models.providers import PROVIDERS, Provider

OPENAI = "openai"
OFFLINE = "offline"
KEY_VARIABLE = "OPENAI_API_KEY"

LEARNED: dict[tuple[str, str], ProtocolName] = {}
"""The protocol that a server asked for, by its URL and the model: for all chats of this process."""

log = logging.getLogger(__name__)


class ModelSelection:
    """The model a chat asks now: from settings or environment, or as chosen by name.

    Args:
        settings: ``g:agentchat.model``; may be replaced at any time.
        hide: takes every key before it is used, to keep it out of journal and log.
    """

    def __init__(
        self, settings: Mapping[str, Any], hide: Callable[[Iterable[str]], None] | None = None
    ) -> None:
        self.settings = settings
        self.chosen: str | None = None
        self._hide = hide
        self._basis: object = None
        self._model: Model | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def current(self) -> Model:
        """Return the model; the same one as long as nothing about it changes.

        Raises:
            UserError: none can be chosen.
        """
        wanted = dict(self.settings)
        if self.chosen is not None:
            wanted["name"] = self.chosen
        keys = environment_keys(wanted, os.environ)
        basis = (repr(sorted(wanted.items())), keys)
        if self._model is None or basis != self._basis:
            self._hide_keys(keys)
            self._replace(choose_model(wanted, os.environ, lambda key: self._hide_keys([key])))
            self._basis = basis
        assert self._model is not None
        return self._model

    def warm_up(self) -> None:
        """Load what the model needs, in the background: not while the user waits for it."""
        with contextlib.suppress(UserError):
            self.current().warm_up()

    async def close(self) -> None:
        """Close the connections of every model that was in use."""
        self._replace(None)
        await asyncio.gather(*self._closing)

    def _replace(self, model: Model | None) -> None:
        """Take another model; the one before is closed when its request is over."""
        before, self._model = self._model, model
        if before is not None:
            task = asyncio.get_running_loop().create_task(_close(before))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _hide_keys(self, keys: Iterable[str]) -> None:
        if self._hide is not None:
            self._hide(keys)


def choose_model(
    settings: Mapping[str, Any], environ: Mapping[str, str], on_key: OnKey | None = None
) -> ModelClient | OfflineModel:
    """Return the model of ``g:agentchat.model`` (``settings``), else of the environment.

    Args:
        on_key: called with each key that a command prints.

    Raises:
        UserError: unknown provider, no key for a server that needs one, or a bad URL.
    """
    provider = settings.get("provider")
    offline = provider == OFFLINE or (not provider and settings.get("name") == OFFLINE)
    if offline or not _wants_server(settings, environ):
        return OfflineModel()
    return _client(provider or OPENAI, settings, environ, on_key)


def environment_keys(settings: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys in the environment: values that must never be written down."""
    named = {provider.key_variable for provider in PROVIDERS.values()}
    variables = {*named, settings.get("api_key_env") or KEY_VARIABLE}
    values = (environ.get(variable, "").strip() for variable in sorted(variables))
    return tuple(value for value in values if value)


async def _close(model: Model) -> None:
    try:
        await model.close()
    except Exception:
        log.exception("closing the connections of %s failed", model.name)


def _wants_server(settings: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether anything names a server: the settings, or the environment."""
    keys = ("provider", "name", "base_url", "api_key_cmd", "protocol")
    named = any(settings.get(key) for key in keys)
    own = settings.get("api_key_env") or KEY_VARIABLE
    return (
        named
        or own != KEY_VARIABLE
        or bool(environ.get("OPENAI_BASE_URL") or environ.get(KEY_VARIABLE))
    )


def _find_provider(provider: str) -> Provider:
    if provider in PROVIDERS:
        return PROVIDERS[provider]
    names = [*PROVIDERS, OFFLINE]
    near = difflib.get_close_matches(provider, names, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise UserError(
        f"Unknown provider {provider!r} in g:agentchat.model.{guess} Known are: "
        f"{', '.join(names)}. Any other server: leave provider out and set base_url."
    )


def _client(
    provider_name: str,
    settings: Mapping[str, Any],
    environ: Mapping[str, str],
    on_key: OnKey | None,
) -> ModelClient:
    provider = _find_provider(provider_name)
    name = settings.get("name") or environ.get("AGENTCHAT_MODEL") or provider.default_model
    protocol, url = _protocol_and_url(provider, name, settings, environ)
    if not url:
        raise UserError(
            f"No base_url for {provider_name}: set base_url in g:agentchat.model, "
            "like https://NAME.openai.azure.com/openai/v1."
        )
    if not name:
        raise UserError(
            f"No model is named for {url}: set name in g:agentchat.model, or $AGENTCHAT_MODEL."
        )
    is_own = url == provider.url(protocol)
    needs_key = provider.needs_key and (is_own or not provider.base_url)
    command = settings.get("api_key_cmd")
    key = (
        CommandKey(command, on_key=on_key)
        if command
        else _environment_key(provider, needs_key, settings, environ)
    )
    return ModelClient(
        name,
        url,
        key,
        protocol=protocol,
        provider=provider_name if is_own else f"{provider_name}@{urlsplit(url).netloc}",
        options=read_options(settings),
        key_header=provider.key_header,
        prices=PriceList(provider_name, name, is_free=not provider.needs_key),
        written_calls=provider.written_calls or not (is_own or provider.key_header),
        on_protocol=lambda learned: LEARNED.update({(url, name): learned}),
    )


def _protocol_and_url(
    provider: Provider, name: str, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[ProtocolName, str]:
    """Return the protocol, and the URL: the user's, else that of the provider."""
    set_protocol = read_protocol(settings)
    url = settings.get("base_url")
    if not url and provider is PROVIDERS[OPENAI]:
        url = environ.get("OPENAI_BASE_URL")
    protocol = set_protocol or (provider.protocol if url else provider.protocol_of(name))
    url = url or provider.url(protocol)
    return set_protocol or LEARNED.get((url, name), protocol), url


def _environment_key(
    provider: Provider, needed: bool, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> ApiKey:
    variable = settings.get("api_key_env") or KEY_VARIABLE
    if variable == KEY_VARIABLE:  # the default: never send one provider's key to another
        variable = provider.key_variable or KEY_VARIABLE
    value = environ.get(variable, "").strip()
    if value:
        return FixedKey(value, variable)
    if needed:
        raise UserError(f"No key: set ${variable}, or api_key_cmd in g:agentchat.model.")
    return NoKey(variable)
