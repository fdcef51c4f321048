"""Which model a chat talks to: the settings, else the environment, else the offline model."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentchat.core.errors import UserError
from agentchat.core.model import Model
from agentchat.models.api_key import ApiKey, CommandKey, FixedKey, NoKey, OnKey
from agentchat.models.client import ModelClient
from agentchat.models.http import ConnectionFailure
from agentchat.models.learned import LearnedServers
from agentchat.models.listing import ModelList, chat_models, find_local_models
from agentchat.models.prices import PriceList
from agentchat.models.protocols.options import ProtocolName, read_options, read_protocol
from agentchat.models.providers import PROVIDERS, Provider

if TYPE_CHECKING:
    from agentchat.models.offline import OfflineModel

OPENAI = "openai"
OFFLINE = "offline"
KEY_VARIABLE = "OPENAI_API_KEY"

OF_A_SERVER = ("provider", "name", "base_url", "protocol")
"""Settings that say which model is asked."""

PORTABLE = ("effort", "temperature", "max_tokens")
"""Settings that mean the same at every server."""

log = logging.getLogger(__name__)


class ModelSelection:
    """The model a chat asks now: from settings or environment, or as chosen by name.

    Args:
        settings: ``g:agentchat.model``.
        hide: takes every key before it is used, to keep it out of journal and log.
        learned: what was learned of servers; that of all chats is one.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        hide: Callable[[Iterable[str]], None] | None = None,
        learned: LearnedServers | None = None,
    ) -> None:
        self._settings = settings
        self._choice: dict[str, Any] = {}
        self._before_turn: dict[str, Any] | None = None
        """The choice to return to at the end of a turn that another model answers."""
        self._listed: frozenset[str] = frozenset()
        self._hide = hide
        self._learned = learned or LearnedServers()
        self._basis = ""
        self._model: Model | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def current(self) -> Model:
        """Return the model; the same one as long as nothing about it changes.

        Raises:
            UserError: none can be chosen.
        """
        wanted = self._wanted()
        basis = repr(sorted(wanted.items()))
        if self._model is None or basis != self._basis:
            # The environment of a process does not change.
            self._hide_keys(environment_keys(wanted, os.environ))
            self._replace(choose_model(wanted, os.environ, self._hide_key, self._learned))
            self._basis = basis
        assert self._model is not None
        return self._model

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take ``g:agentchat.model`` as it is now; a change of the model undoes a choice."""
        before, self._settings = self._settings, settings
        if any(before.get(key) != settings.get(key) for key in OF_A_SERVER):
            self._choice = {}

    def choose(self, text: str) -> Model:
        """Ask another model from now on: ``provider/name``, or a name at the same server.

        Raises:
            UserError: there is no such provider, or no key for it; then nothing changes.
        """
        before, self._choice = self._choice, self._parse(text.strip())
        try:
            return self.current()
        except UserError:
            self._choice = before
            raise

    def use_for_turn(self, name: str) -> None:
        """Ask another model until ``end_turn``; raises UserError as ``choose`` does."""
        before = self._choice
        self.choose(name)
        if self._before_turn is None:
            self._before_turn = before

    def end_turn(self) -> None:
        """Ask the model again that was asked before ``use_for_turn``."""
        if self._before_turn is not None:
            self._choice, self._before_turn = self._before_turn, None

    @property
    def choice(self) -> tuple[str, str]:
        """The provider and the name that were chosen, each empty if the settings decide it."""
        return self._choice.get("provider", ""), self._choice.get("name", "")

    @property
    def is_offline_unasked(self) -> bool:
        """Whether the offline model answers only because no other one is configured."""
        asked = self._wanted().get("provider") == OFFLINE
        return not asked and not isinstance(self.current(), ModelClient)

    def restore(self, provider: str, name: str) -> None:
        """Choose what ``choice`` was in an earlier process; raises UserError as ``choose``."""
        chosen = {"provider": provider, "name": name}
        before, self._choice = self._choice, {key: each for key, each in chosen.items() if each}
        try:
            self.current()
        except UserError:
            self._choice = before
            raise

    async def list(self) -> ModelList:
        """Return the models of the server in use, of others on this machine, and ``offline``."""
        model, prefix = self.current(), self._wanted().get("provider")
        if isinstance(model, ModelClient):
            own, local = await asyncio.gather(
                _names(model), find_local_models(except_for=model.base_url)
            )
            self._listed = frozenset(own.names)
            names = chat_models({*own.names, model.name})
            shown = [f"{prefix}/{name}" if prefix else name for name in names]
            return ModelList((*shown, *local, OFFLINE), own.problem)
        return ModelList((*await find_local_models(), OFFLINE))

    def _wanted(self) -> dict[str, Any]:
        """Return the settings with the user's choice in them."""
        provider = self._choice.get("provider")
        if provider is None or provider == (self._settings.get("provider") or OPENAI):
            return {**self._settings, **self._choice}
        # What belongs to the server of the settings is not for another one.
        kept = {key: self._settings[key] for key in PORTABLE if key in self._settings}
        return {**kept, **self._choice}

    def _parse(self, text: str) -> dict[str, Any]:
        provider, slash, name = text.partition("/")
        if text == OFFLINE:
            return {"provider": OFFLINE}
        if slash and not name:
            raise UserError(f"Name a model, too: :AgentModel {provider}/NAME.")
        is_elsewhere = bool(slash) and provider in PROVIDERS and text not in self._listed
        if not is_elsewhere:
            here = self._choice if self._choice.get("provider") != OFFLINE else {}
            return {**here, "name": text}
        is_set = provider == (self._settings.get("provider") or OPENAI)
        return {"name": name} if is_set else {"provider": provider, "name": name}

    def _hide_key(self, key: str) -> None:
        self._hide_keys([key])

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
    settings: Mapping[str, Any],
    environ: Mapping[str, str],
    on_key: OnKey | None = None,
    learned: LearnedServers | None = None,
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
        from agentchat.models.offline import OfflineModel

        return OfflineModel()
    return _client(provider or OPENAI, settings, environ, on_key, learned or LearnedServers())


def environment_keys(settings: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys in the environment: values that must never be written down."""
    named = {provider.key_variable for provider in PROVIDERS.values()}
    variables = {*named, settings.get("api_key_env") or KEY_VARIABLE}
    values = (environ.get(variable, "").strip() for variable in sorted(variables))
    return tuple(value for value in values if value)


async def _names(model: ModelClient) -> ModelList:
    try:
        names = await model.list_models()
    except (UserError, ConnectionFailure) as error:
        return ModelList(problem=str(error))
    if names:
        return ModelList(tuple(names))
    return ModelList(
        problem=f"{model.base_url} does not list its models: name one with :AgentModel NAME."
    )


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
    learned: LearnedServers,
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
    memory = learned.of(url, name)
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
        protocol=read_protocol(settings) or memory.protocol or protocol,
        provider=provider_name if is_own else f"{provider_name}@{urlsplit(url).netloc}",
        options=read_options(settings),
        key_header=provider.key_header,
        prices=PriceList(provider_name, name, is_free=not provider.needs_key),
        written_calls=provider.written_calls or not (is_own or provider.key_header),
        window_page=provider.window_page if is_own or not provider.needs_key else "",
        memory=memory,
    )


def _protocol_and_url(
    provider: Provider, name: str, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[ProtocolName, str]:
    """Return the protocol, and the URL: the user's, else that of the provider."""
    url = settings.get("base_url")
    if not url and provider is PROVIDERS[OPENAI]:
        url = environ.get("OPENAI_BASE_URL")
    default = provider.protocol if url else provider.protocol_of(name)
    protocol = read_protocol(settings) or default
    return protocol, url or provider.url(protocol)


def _environment_key(
    provider: Provider, needed: bool, settings: Mapping[str, Any], environ: Mapping[str, str]
) -> ApiKey:
    variable = settings.get("api_key_env") or KEY_VARIABLE
    if variable == KEY_VARIABLE:  # the default: never send one provider's key to another
        variable = provider.key_variable
    value = environ.get(variable, "").strip()
    if value:
        return FixedKey(value, variable)
    if needed:
        raise UserError(f"No key: set ${variable}, or api_key_cmd in g:agentchat.model.")
    return NoKey(variable)
