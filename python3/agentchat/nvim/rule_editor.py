"""The float in which the user writes a rule: what Lua says of it, and what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentchat.agent.permissions.rule_drafts import RuleDraft, RuleDrafts
from agentchat.agent.session import Session
from agentchat.core.errors import UserError
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.render.rules import draft_table


class RuleEditor:
    """Takes the events about rules of one chat, and draws what becomes of them."""

    def __init__(self, bridge: LuaApi, session: Session, ruling: RuleDrafts) -> None:
        self._bridge = bridge
        self._session = session
        self._ruling = ruling

    async def propose(self, payload: Mapping[str, Any]) -> None:
        """Show a rule about a call that is named, or about what is being asked."""
        self._show(await self._ruling.propose(self._session.question, payload.get("text") or ""))

    def revise(self, payload: Mapping[str, Any]) -> None:
        """Show the rule changed; what is no rule is told where it was typed."""
        text = payload.get("text") or ""
        try:
            draft = self._ruling.revise(payload["draft"], payload["change"], text)
        except UserError as error:
            self._bridge.call("notify.warn", str(error))
            return
        if draft is not None:
            self._show(draft)

    async def write(self, payload: Mapping[str, Any]) -> None:
        """Put the rule that is shown into force."""
        self._bridge.call("notify.info", await self._ruling.write(payload["draft"]))

    def _show(self, draft: RuleDraft) -> None:
        chat = self._session.chat
        where = self._ruling.where(draft.scope)
        self._bridge.call("rules.show", chat.uuid, draft_table(draft, where, chat.policy))


def truster(bridge: LuaApi) -> Any:
    """Return what lets Neovim trust a file that the user has agreed to."""

    async def trust(path: Path, digest: str) -> bool:
        return bool(await bridge.request("trust.agreed", str(path), digest))

    return trust
