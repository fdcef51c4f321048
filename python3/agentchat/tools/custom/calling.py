"""Calls the functions of one tool, in the process where they live."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import ArgumentError, ToolContext
from agentchat.tools.custom.description import Described
from agentchat.tools.custom.link import CallLink
from agentchat.tools.custom.workshop import Functions

CHECK_SECONDS = 1.0
"""How long arguments may take to be checked beforehand; they are checked again in the call."""


class Sent(dict[str, Any]):
    """A call's arguments as plain data, the defaults filled in; ``sent`` is what the model sent."""

    def __init__(self, sent: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
        super().__init__(plain)
        self.sent = dict(sent)


@dataclass(frozen=True, slots=True)
class Calling:
    """One tool of one file, as ``functions`` know it."""

    functions: Functions
    file: str
    tool: Described

    async def run(
        self,
        role: str,
        given: Sent,
        context: ToolContext,
        *,
        number: int = 0,
        first: Sequence[Any] = (),
        keep: bool = False,
    ) -> Any:
        """Run a function with the context of a call; return what it told, see ``serving``.

        Raises:
            ToolError: the function's own, or the arguments do not fit.
            Failed: it raised something else, or its process ended.
        """
        link = CallLink(self.tool.name, context)
        about = {
            "cwd": context.cwd,
            "call_id": context.call_id,
            "flags": dict(context.flags),
            "first": list(first),
            "linked": True,
            "number": number,
            "keep": keep,
        }
        try:
            return await self.functions.call("call", self._body(role, given, about), link.take)
        except ArgumentError as error:
            raise ToolError(self._invalid(error)) from error
        finally:
            await link.close()

    async def ask(self, role: str, given: Sent, cwd: str) -> Any:
        """Run a function that is given nothing but the arguments."""
        return await self.functions.call("call", self._body(role, given, alone(cwd)))

    def soon(
        self, role: str, given: Mapping[str, Any], cwd: str, seconds: float, *first: Any
    ) -> Any:
        """Run a function and wait here for what it tells; raises TimeoutError."""
        about = {**alone(cwd), "first": list(first)}
        return self.functions.soon("call", self._body(role, given, about), seconds)

    def _body(self, role: str, given: Mapping[str, Any], about: dict[str, Any]) -> dict[str, Any]:
        sent = given.sent if isinstance(given, Sent) else given
        return {
            "file": self.file,
            "name": self.tool.name,
            "role": role,
            "given": json.dumps(sent),
            **about,
        }

    def _invalid(self, error: ArgumentError) -> str:
        lines = [f"  - {name}: {reason}" for name, reason in error.problems]
        return "\n".join([f'Validation failed for tool "{self.tool.name}":', *lines])

    # As core.tool.Arguments:

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self.tool.schema

    def parse(self, value: Mapping[str, Any]) -> Sent:
        """Return the arguments, checked by the hints of the function; raises ArgumentError.

        Where its process is not there to check them now, that is left to the call.
        """
        body = {"file": self.file, "name": self.tool.name, "given": json.dumps(dict(value))}
        try:
            plain = json.loads(self.functions.soon("check", body, CHECK_SECONDS))
        except ArgumentError:
            raise
        except Exception:
            plain = value
        return Sent(value, {**self.tool.defaults, **plain})


def alone(cwd: str) -> dict[str, Any]:
    """Return what goes with a call that has no context but a working directory."""
    return {
        "cwd": cwd,
        "call_id": "",
        "flags": {},
        "first": [],
        "linked": False,
        "number": 0,
        "keep": False,
    }
