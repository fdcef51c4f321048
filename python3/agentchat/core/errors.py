"""The errors of the project; each message ends with what to do about it."""

from __future__ import annotations


class AgentError(Exception):
    """Base of all expected errors; their messages are for the user or the model."""


class UserError(AgentError):
    """An error that the user can fix; becomes one line through ``vim.notify``."""


class ModelError(AgentError):
    """The model server failed; ends the turn with reason ``error``."""


class ToolError(AgentError):
    """A tool cannot do what it should; the model gets the message unchanged."""


class StalePreview(ToolError):
    """A file changed since its preview; the change must be previewed and approved again."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed since the preview. Nothing was changed.")
        self.path = path


class Irreversible(ToolError):
    """A call cannot be undone; ``manual_guide`` tells the user what to do by hand."""

    def __init__(self, manual_guide: str = "") -> None:
        super().__init__(manual_guide or "It cannot be undone.")
        self.manual_guide = manual_guide


class Unreachable(ToolError):
    """The machine of the workspace cannot be reached, or its connection was lost."""


class DefinitionError(TypeError):
    """A tool is declared wrongly; the message says how to declare it."""


class Cancelled(Exception):
    """The user stopped the turn; thrown into the plan, which then answers all open calls."""
