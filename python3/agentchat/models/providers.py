"""Servers that are known by name: where they are and which variable holds their key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of server. Local ones need no key; ``default_model`` is empty where none is sure."""

    base_url: str
    key_variable: str = ""
    default_model: str = ""

    @property
    def needs_key(self) -> bool:
        """Whether it refuses requests without a key."""
        return bool(self.key_variable)


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "llamacpp": Provider("http://127.0.0.1:8080/v1", default_model="default"),
    "lmstudio": Provider("http://127.0.0.1:1234/v1", default_model="default"),
    "ollama": Provider("http://127.0.0.1:11434/v1"),
    "vllm": Provider("http://127.0.0.1:8000/v1"),
}
