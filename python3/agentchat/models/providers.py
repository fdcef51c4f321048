"""Servers that are known by name: where they are, what they speak, which variable holds the key."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY

from agentchat.core.frozen import frozen
from agentchat.models.protocols.options import ProtocolName


@frozen
class Provider:
    """One kind of server. Local ones need no key; ``default_model`` is empty where none is sure.

    Args:
        base_url: empty where every user has another.
        protocol: what it speaks.
        by_model: other protocols for the models whose name a pattern finds.
        chat_url: where its chat completions are, if elsewhere.
        key_header: the header for the key, if it is not the protocol's.
        written_calls: its models may write calls as text, which it does not recognise.
        window_page: what says how large the context of its model is: ``models``, its list of
            them, or another path.
    """

    _: KW_ONLY

    base_url: str = ""
    key_variable: str = ""
    default_model: str = ""
    protocol: ProtocolName = "openai-chat"
    by_model: tuple[tuple[str, ProtocolName], ...] = ()
    chat_url: str = ""
    key_header: str = ""
    written_calls: bool = False
    window_page: str = ""

    @property
    def needs_key(self) -> bool:
        """Whether it refuses requests without a key."""
        return bool(self.key_variable)

    def url(self, protocol: ProtocolName) -> str:
        """Return where it is reached in a protocol."""
        return (protocol == "openai-chat" and self.chat_url) or self.base_url

    def protocol_of(self, model: str) -> ProtocolName:
        """Return the protocol for a model at the provider's own URL."""
        return next((p for found, p in self.by_model if re.search(found, model)), self.protocol)


MODELS = "models"

PROVIDERS = {
    "openai": Provider(
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        default_model="gpt-5",
        by_model=((r"^(o\d|codex|gpt-([5-9]|\d\d))", "openai-responses"),),
    ),
    "anthropic": Provider(
        base_url="https://api.anthropic.com/v1",
        key_variable="ANTHROPIC_API_KEY",
        protocol="anthropic",
        window_page=MODELS,
    ),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta",
        chat_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        protocol="gemini",
        window_page=MODELS,
    ),
    "openrouter": Provider(
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        window_page=MODELS,
    ),
    "deepseek": Provider(
        base_url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-chat",
    ),
    "mistral": Provider(
        base_url="https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY", window_page=MODELS
    ),
    "groq": Provider(
        base_url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY", window_page=MODELS
    ),
    "xai": Provider(base_url="https://api.x.ai/v1", key_variable="XAI_API_KEY"),
    "azure": Provider(key_variable="AZURE_OPENAI_API_KEY", key_header="api-key"),
    "github": Provider(base_url="https://models.github.ai/inference", key_variable="GITHUB_TOKEN"),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1", protocol="ollama", written_calls=True),
    "llamacpp": Provider(
        base_url="http://127.0.0.1:8080/v1",
        default_model="default",
        written_calls=True,
        window_page="../props",
    ),
    "vllm": Provider(base_url="http://127.0.0.1:8000/v1", written_calls=True, window_page=MODELS),
    "lmstudio": Provider(
        base_url="http://127.0.0.1:1234/v1",
        default_model="default",
        written_calls=True,
        window_page=MODELS,
    ),
}
