"""The wire formats of model servers: one module each."""

from __future__ import annotations

from agentchat.models.protocols.anthropic import Anthropic
from agentchat.models.protocols.gemini import Gemini
from agentchat.models.protocols.ollama import Ollama
from agentchat.models.protocols.openai_chat import OpenAIChat
from agentchat.models.protocols.openai_responses import OpenAIResponses
from agentchat.models.protocols.options import ProtocolName
from agentchat.models.protocols.protocol import WireProtocol

PROTOCOLS: dict[ProtocolName, type[WireProtocol]] = {
    protocol.name: protocol for protocol in (OpenAIChat, OpenAIResponses, Anthropic, Gemini, Ollama)
}
