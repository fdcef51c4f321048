"""The few errors of the project; each message ends in what to do about it."""

from __future__ import annotations


class AgentError(Exception):
    """Base of all errors that are expected and have a reader."""


class UserError(AgentError):
    """Something the user can mend; becomes one line through ``vim.notify``."""


class ModelError(AgentError):
    """The model server failed or answered nonsense; ends the turn with reason ``error``."""


class ToolError(AgentError):
    """A tool's clear refusal; its message is told to the model unchanged."""


class StalePreview(ToolError):
    """The text under a preview changed; the change must be previewed and asked again."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed since the preview. Nothing was changed.")
        self.path = path


class Unreachable(ToolError):
    """The machine of the workspace cannot be reached, or was lost while it was needed."""


class Cancelled(Exception):
    """The user stopped the turn; thrown into the plan, which answers what is unanswered."""
