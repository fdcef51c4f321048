"""The rules in force in one chat: the settings', the user's and the project's file, its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError, UserError
from agentchat.core.permissions.rule_file import RuleFileError, add_rule, read_rules
from agentchat.core.permissions.rules import Rule
from agentchat.tools.custom.files import DENIED, Source, is_trusted, read_source, read_trust
from agentchat.workspace.files.disk import Disk
from agentchat.workspace.files.transaction import FileTransaction

FILE = Path("agentchat", "rules.json")
PROJECT_FILE = Path(".agentchat", "rules.json")
CHAT = "this chat"
TRIES = 3
"""How often a file is read anew that changes while a rule is added to it."""


@dataclass(frozen=True, slots=True)
class RuleReading:
    """The rules as they are now.

    ``problems`` name what cannot be read, by file and line; ``remarks`` are the lines the user is
    told of files.
    """

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A file a rule was added to; ``trust`` is the hash to trust it by, where it may be."""

    path: Path
    trust: str = ""


class RuleStore:
    """Where the rules of one chat stand. Its methods read and write files: call them in a thread.

    Args:
        root: the workspace.
        config: Neovim's folder of the user's configuration; one that is not absolute is none.
        trust: the file in which Neovim keeps what the user trusts.
    """

    def __init__(self, root: str, config: Path, trust: Path) -> None:
        self._root = Path(root)
        self._trust = trust
        self.project = self._root / PROJECT_FILE
        self.user = config / FILE if config.is_absolute() else None
        self.settings = RuleReading()
        self.own: tuple[Rule, ...] = ()
        """The chat's own: kept in memory, gone with it."""

    def read(self) -> RuleReading:
        """Return all rules there are now."""
        readings = [self.settings, *self._files(), RuleReading(self.own)]
        return RuleReading(
            tuple(rule for one in readings for rule in one.rules),
            tuple(line for one in readings for line in one.problems),
            tuple(line for one in readings for line in one.remarks),
        )

    def keep(self, rule: Rule) -> None:
        """Add a rule for this chat."""
        self.own = (*self.own, replace(rule, source=CHAT))

    def write(self, path: Path, rule: Rule) -> WrittenRule:
        """Add a rule to a file, which is made if it is not there.

        Raises:
            UserError: it is no file of rules, or cannot be written; it is as it was.
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
        """Return what the user is told a file is called."""
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
            source = _source(path)
        except OSError as error:
            reason = error.strerror or str(error)
            problem = f"{self.name(path)} cannot be read: {reason}."
            return RuleReading((), (problem,), (problem,))
        if source is None:
            return RuleReading()
        rules, problems = read_rules(source.data, self.name(path))
        if path == self.user or self._trusts(source):
            return RuleReading(rules, problems, problems)
        return self._narrowing(source, rules, problems)

    def _trusts(self, source: Source) -> bool:
        return is_trusted(source, self._root, read_trust(self._trust))

    def _narrowing(
        self, source: Source, rules: tuple[Rule, ...], problems: tuple[str, ...]
    ) -> RuleReading:
        """Return what counts of a file that nobody trusts: what refuses or asks."""
        kept = tuple(rule for rule in rules if rule.action != "allow")
        if all(rule.action != "allow" for rule in rules) or self._is_denied(source):
            return RuleReading(kept, problems, problems)
        name = self.name(source.path)
        remark = f"{name} allows nothing until you trust it: :AgentApprovals trust"
        return RuleReading(kept, problems, (*problems, remark))

    def _is_denied(self, source: Source) -> bool:
        return read_trust(self._trust).get(str(source.path.resolve())) == DENIED

    def _add(self, path: Path, rule: Rule) -> WrittenRule:
        try:
            source = _source(path)
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
        FileTransaction(Disk(), lambda shown: shown).apply([change])
        may_trust = path == self.project and (source is None or self._trusts(source))
        return WrittenRule(path, Source(path, after).digest if may_trust else "")

    def _real(self, path: Path) -> Path:
        real = Path(os.path.realpath(path))
        if path == self.project and self._root not in real.parents:
            raise UserError(f"{self.name(path)} leads out of the project, to {real}.")
        return real


def _source(path: Path) -> Source | None:
    """Return a file, or ``None`` where there is none; raises OSError."""
    try:
        return read_source(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
