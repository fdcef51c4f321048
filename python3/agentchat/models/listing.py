"""Which models there are to choose from: those of a chat's server, and of servers found locally."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

from agentchat.core.frozen import frozen
from agentchat.models.http import ConnectionFailure, HttpClient
from agentchat.models.protocols import protocol_class
from agentchat.models.providers import PROVIDERS, Provider

PROBE_SECONDS = 0.7
"""How long a server on this machine may take to say what it has."""

NOT_A_CHAT_MODEL = re.compile(
    "embed|whisper|tts|dall-e|moderation|rerank|transcribe|realtime|sora|image|audio", re.I
)


@frozen
class ModelList:
    """Names for ``:AgentModel``; ``problem`` says why those of the chat's server are missing."""

    names: tuple[str, ...] = ()
    problem: str = ""


def chat_models(names: Iterable[str]) -> list[str]:
    """Return the names of models that one can chat with, sorted."""
    return sorted(name for name in set(names) if not NOT_A_CHAT_MODEL.search(name))


async def find_local_models(except_for: str = "") -> list[str]:
    """Return the models of the servers that run on this machine, as ``provider/name``.

    Args:
        except_for: the URL of a server that is not asked.
    """
    local = {
        name: provider
        for name, provider in PROVIDERS.items()
        if provider.base_url and not provider.needs_key and provider.base_url != except_for
    }
    found = await asyncio.gather(*(_probe(provider) for provider in local.values()))
    return [
        f"{name}/{model}" for name, models in zip(local, found, strict=True) for model in models
    ]


async def _probe(provider: Provider) -> list[str]:
    protocol = protocol_class(provider.protocol)("")
    client = HttpClient(protocol.root(provider.base_url))
    try:
        page = await client.get_json(protocol.models_path, {}, PROBE_SECONDS)
    except ConnectionFailure:
        return []
    finally:
        await client.close()
    return chat_models(protocol.model_names(page))
