"""The rules of a chat: from settings, the user's file, the project's file and the chat itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.permissions.rule_file import RuleFileError, add_rule, read_rules
from agentchat.core.permissions.rules import Rule
from agentchat.tools.trust import DENIED, Source, is_trusted, read_source, read_trust
from agentchat.workspace.files.disk import Disk
from agentchat.workspace.files.transaction import FileTransaction

FILE = Path("agentchat", "rules.json")
PROJECT_FILE = Path(".agentchat", "rules.json")
CHAT = "this chat"
TRIES = 3
"""How often a rule is added again to a file that changes meanwhile."""


@frozen
class RuleReading:
    """The rules at one moment.

    ``problems`` name errors by file and line; ``remarks`` are lines about files for the user.
    """

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@frozen
class WrittenRule:
    """The file that a rule was added to; ``trust`` is its hash, if it may be trusted now."""

    path: Path
    trust: str = ""


class RuleStore:
    """The rules of one chat. Its methods read and write files: call them in a thread.

    Args:
        root: the workspace.
        config: the folder of the user's Neovim configuration; ignored unless absolute.
        trust: the file of Neovim's trust database.
    """

    def __init__(self, root: str, config: Path, trust: Path) -> None:
        self._root = Path(root)
        self._trust = trust
        self.project = self._root / PROJECT_FILE
        self.user = config / FILE if config.is_absolute() else None
        self.settings = RuleReading()
        self.own: tuple[Rule, ...] = ()
        """The rules of this chat, kept in memory only."""

    def read(self) -> RuleReading:
        """Read all rules."""
        readings = [self.settings, *self._files(), RuleReading(self.own)]
        return RuleReading(
            tuple(rule for reading in readings for rule in reading.rules),
            tuple(line for reading in readings for line in reading.problems),
            tuple(line for reading in readings for line in reading.remarks),
        )

    def add(self, rule: Rule) -> None:
        """Add a rule for this chat."""
        self.own = (*self.own, replace(rule, source=CHAT))

    def write(self, path: Path, rule: Rule) -> WrittenRule:
        """Add a rule to a file, which is made if it is missing.

        Raises:
            UserError: it is not a rule file, or cannot be written; it is unchanged.
        """
        for _ in range(TRIES):
            try:
                return self._add(path, rule)
            except StalePreview:
                continue
            except ToolError as error:
                raise UserError(str(error)) from error
        raise UserError(f"{self.name(path)} keeps changing. Nothing was written: try again.")

    def name(self, path: Path) -> str:
        """Return the name of a file in messages."""
        if path == self.project:
            return str(PROJECT_FILE)
        home = str(Path.home())
        return f"~{str(path)[len(home) :]}" if str(path).startswith(f"{home}/") else str(path)

    def _files(self) -> Iterator[RuleReading]:
        if self.user is not None:
            yield self._read(self.user)
        yield self._read(self.project)

    def _read(self, path: Path) -> RuleReading:
        try:
            source = _read_source(path)
        except OSError as error:
            reason = error.strerror or str(error)
            problem = f"{self.name(path)} cannot be read: {reason}."
            return RuleReading((), (problem,), (problem,))
        if source is None:
            return RuleReading()
        rules, problems = read_rules(source.data, self.name(path))
        if path == self.user or self._trusts(source):
            return RuleReading(rules, problems, problems)
        return self._untrusted(source, rules, problems)

    def _trusts(self, source: Source) -> bool:
        return is_trusted(source, self._root, read_trust(self._trust))

    def _untrusted(
        self, source: Source, rules: tuple[Rule, ...], problems: tuple[str, ...]
    ) -> RuleReading:
        """Return the rules of an untrusted file that take effect: those that only restrict."""
        kept = tuple(replace(rule, trusted=False) for rule in rules if not rule.permits)
        if len(kept) == len(rules) or self._is_denied(source):
            return RuleReading(kept, problems, problems)
        name = self.name(source.path)
        remark = f"{name} allows nothing until you trust it: :AgentApprovals trust"
        return RuleReading(kept, problems, (*problems, remark))

    def _is_denied(self, source: Source) -> bool:
        return read_trust(self._trust).get(str(source.path.resolve())) == DENIED

    def _add(self, path: Path, rule: Rule) -> WrittenRule:
        try:
            source = _read_source(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(f"{self.name(path)} cannot be read: {reason}.") from error
        before = source.data if source is not None else None
        try:
            after = add_rule(before, rule)
        except RuleFileError as error:
            place = f"{self.name(path)}:{error.line}"
            raise UserError(f"{place}: {error} Not written: fix the error first.") from error
        change = FileChange(str(self._real(path)), before, after, self.name(path))
        FileTransaction(Disk(), lambda name: name).apply([change])
        may_trust = path == self.project and (source is None or self._trusts(source))
        return WrittenRule(path, Source(path, after).digest if may_trust else "")

    def _real(self, path: Path) -> Path:
        real = Path(os.path.realpath(path))
        if path == self.project and self._root not in real.parents:
            raise UserError(f"{self.name(path)} leads out of the project, to {real}.")
        return real


def _read_source(path: Path) -> Source | None:
    """Return a file, or ``None`` where there is none; raises OSError."""
    try:
        return read_source(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
