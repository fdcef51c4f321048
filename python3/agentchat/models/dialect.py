"""What one server takes of the protocol: all of it, until it refuses something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.models.errors import Refusal

_ALTERNATE = re.compile(r"roles? must alternate|alternating (user|roles)", re.IGNORECASE)


@dataclass
class Dialect:
    """Learned from refusals, for as long as the chat lasts.

    ``forcing``: it takes a forced ``tool_choice``; ``usage``: it takes ``stream_options``;
    ``alternating``: its template wants the user and the model to take turns.
    """

    forcing: bool = True
    usage: bool = True
    alternating: bool = False

    def learn(self, refused: Refusal, body: Mapping[str, Any]) -> bool:
        """Give up what the server does not take; return whether asking again makes sense."""
        if "tool_choice" in body and refused.names("tool_choice"):
            self.forcing = False
        elif "stream_options" in body and refused.names("stream_options"):
            self.usage = False
        elif not self.alternating and _ALTERNATE.search(refused.said):
            self.alternating = True
        else:
            return False
        return True
