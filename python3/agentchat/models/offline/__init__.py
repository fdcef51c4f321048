"""The built-in offline model: plain requests into real tool calls, with no key and no network."""

from agentchat.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]
