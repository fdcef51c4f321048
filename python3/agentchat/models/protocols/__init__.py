"""The wire formats of model servers: one module each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from agentchat.models.protocols.options import ProtocolName
from agentchat.models.protocols.protocol import WireProtocol

_CLASSES: Mapping[ProtocolName, str] = {
    "openai-chat": "OpenAIChat",
    "openai-responses": "OpenAIResponses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "ollama": "Ollama",
}


def protocol_class(name: ProtocolName) -> type[WireProtocol]:
    """Return the class of a protocol; its module is loaded when it is first needed."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    found: type[WireProtocol] = getattr(module, _CLASSES[name])
    return found
