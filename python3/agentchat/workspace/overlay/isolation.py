"""Runs commands that nobody was asked about, where they can do no harm: *isolated runs*.

Each command gets an overlay of its own over the project as it is now, unsaved buffers included. It
sees what ``mounts`` lists, has no network unless it asked for it, and no key of the user's. When it
ended, all its processes are dead, and what it changed is a value: to be applied, or forgotten.
Only ignored files stay, for the next command (``kept``).

Runs of one chat wait for one another, since the kept files must not change below a mounted overlay.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.frozen import frozen
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.workspace import Command, ProcessResult, Workspace
from agentchat.rpc.background import BackgroundTasks
from agentchat.workspace.overlay import kept
from agentchat.workspace.overlay.changes import OverlayChanges
from agentchat.workspace.overlay.client import (
    DEFAULT_LIMITS,
    Ended,
    Limits,
    NamespaceClient,
    StartFailed,
)
from agentchat.workspace.overlay.folder import OverlayFolder, remove_tree
from agentchat.workspace.overlay.git import masked_settings
from agentchat.workspace.overlay.kept import KeptFiles
from agentchat.workspace.overlay.launcher import (
    environment_inside,
    explain,
    make_sight,
    why_impossible,
)
from agentchat.workspace.overlay.mounts import Mount, is_visible, list_hidden, list_mounts
from agentchat.workspace.overlay.secret_files import SecretFiles

MOST_HIDDEN = 5
TOO_DEEP = "The command made folders too deep to be shown. Nothing of what it changed was kept."
_PATH = re.compile(r"(?<![\w.~/-])(?:~|/)[\w.+@~/-]*[\w+@~-]")


@frozen
class Kept:
    """The ignored files that a run left on the overlay: how many, and the topmost names.

    ``ended``: those of earlier runs and of this one were removed, since they exceed the quota.
    """

    number: int = 0
    names: tuple[str, ...] = ()
    ended: bool = False


@frozen
class IsolatedRun:
    """What a command did on its overlay; nothing of it is in the project.

    Args:
        result: how it ended, with its output.
        change: what counts as a change: no times, caches or ignored files.
        moved: the names of files that the user changed while the command did; they cannot be
            applied.
        skipped: what it changed that no change can hold, with the reason.
        kept: ignored files that stay on the overlay.
        hidden: paths that it evidently tried, and that are hidden.
        ended: the number of its background processes, which were ended.
        stopped: which limit stopped it, as a sentence; empty if it ended by itself.
        times: when each changed file was written, in nanoseconds, by path.
    """

    result: ProcessResult
    change: ChangeSet = ChangeSet(())
    moved: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    kept: Kept = Kept()
    hidden: tuple[str, ...] = ()
    ended: int = 0
    stopped: str = ""
    times: tuple[tuple[str, int], ...] = ()


class Isolation:
    """The isolated runs of one chat.

    Args:
        project: the workspace, with the user's buffers.
        folder: where the overlays are, below the state folder of the plugin.
        hidden: more folders and files that are hidden, like the state folder.
        visible: more folders and files that can be read.
        variables: the user's environment, for HOME and PATH.
    """

    def __init__(
        self,
        project: Workspace,
        folder: OverlayFolder,
        *,
        hidden: Sequence[str] = (),
        visible: Sequence[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        self._project = project
        self._root = project.root
        self._folder = folder
        self._limits = limits
        self._home = os.path.realpath(variables.get("HOME") or os.path.expanduser("~"))
        self._variables = variables
        self._visible, self._never_visible = tuple(visible), tuple(hidden)
        self._kept = KeptFiles(self._root, folder.path / "kept")
        self._secrets = SecretFiles(self._root)
        self._mounts: list[Mount] = []
        self._hidden: list[str] = []
        self._client: NamespaceClient | None = None
        self._works = False
        self._starting = BackgroundTasks()
        self._lock = asyncio.Lock()
        self._number = 0

    def why_impossible(self) -> str:
        """Return why no overlay can even be tried here; empty if it can be."""
        return why_impossible(self._root, self._folder.path)

    async def ready(self) -> None:
        """Start what runs commands; raises Unreachable with the reason and what to do."""
        async with self._lock:
            client = await self._connect()
            if not self._works:
                await self._probe(client)

    def warm_up(self) -> None:
        """Start it in the background; what fails is told by the run that needs it."""
        if self._client is None:
            self._starting.start(self._start_quietly())

    async def _start_quietly(self) -> None:
        with contextlib.suppress(Unreachable):
            await self.ready()

    async def _connect(self) -> NamespaceClient:
        if self._client is not None and self._client.alive and self._mounts:
            return self._client
        await self._disconnect()
        if reason := self.why_impossible():
            raise Unreachable(reason)
        try:
            await asyncio.to_thread(self._prepare)
            starting = asyncio.ensure_future(self._start())
            await asyncio.gather(
                starting,
                asyncio.to_thread(self._secrets.find),
                asyncio.to_thread(self._list_mounts),
            )
        except StartFailed as error:
            raise Unreachable(explain(str(error))) from error
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename}"
            raise Unreachable(f"No overlay works here ({reason}).") from error
        return starting.result()

    async def _start(self) -> NamespaceClient:
        self._client = await NamespaceClient.start()
        return self._client

    def _prepare(self) -> None:
        self._folder.prepare(self._root)
        self._kept.folder.mkdir(exist_ok=True)
        self._kept.drop_outdated()

    def _list_mounts(self) -> None:
        sight = make_sight(
            self._root, self._home, self._variables, self._visible, self._never_visible
        )
        self._mounts = list_mounts(sight)
        self._hidden = list_hidden(sight)

    async def _probe(self, client: NamespaceClient) -> None:
        """Run a command that does nothing: a step of making its root may fail here."""
        run = await asyncio.to_thread(self._new_run, {})
        try:
            nothing = Command(("/bin/sh", "-c", ""), self._root)
            await self._run(client, nothing, None, run)
        except BaseException:
            await self._disconnect()
            raise
        finally:
            await asyncio.to_thread(remove_tree, run)

    async def run(
        self,
        command: Command,
        on_output: Callable[[bytes], None] | None = None,
        *,
        network: bool = False,
    ) -> IsolatedRun:
        """Run a command on an overlay of the project as it is now.

        Raises:
            ToolError: its program or directory is not there; nothing was run.
            Unreachable: no overlay works; the message says why and what to do.
        """
        async with self._lock:
            client = await self._connect()
            texts = await self._texts()
            run = await asyncio.to_thread(self._new_run, texts)
            try:
                inside = replace(
                    command, env=environment_inside(command.env, self._home), network=network
                )
                began = time.time_ns()
                ended = await self._run(client, inside, on_output, run)
                changes = OverlayChanges(
                    self._root, str(run / "upper"), self._project.read, (str(run / "texts"),)
                )
                for path, text in texts.items():
                    changes.assume(path, text)
                return await self._collect(ended, run, changes, began)
            except RecursionError as error:
                raise ToolError(TOO_DEEP) from error
            finally:
                # Not awaited: no later run uses it.
                self._remove_later(run)

    async def _texts(self) -> dict[str, bytes]:
        """Return what a command sees instead of the project's files: unsaved buffers that are no
        secrets, and git's settings without passwords."""
        unsaved = await self._project.unsaved()
        masked = await asyncio.to_thread(masked_settings, self._root)
        return masked | {path: text for path, text in unsaved.items() if self._may_show(path)}

    def _may_show(self, path: str) -> bool:
        inside = path.startswith(f"{self._root}/")
        return inside and not is_secret(os.path.relpath(path, self._root).split("/"))

    def _new_run(self, texts: Mapping[str, bytes]) -> Path:
        """Return a new folder for what a command changes; drop kept files that are outdated."""
        self._kept.drop_outdated()
        self._number += 1
        run = self._folder.path / f"run-{self._number}"
        for name in ("upper", "work", "texts"):
            (run / name).mkdir(parents=True)
        status = os.stat(self._root)
        shutil.copystat(self._root, run / "upper")
        with contextlib.suppress(PermissionError):
            os.chown(run / "upper", status.st_uid, status.st_gid)
        kept.write_texts(self._root, run / "texts", texts)
        return run

    def _place(self, run: Path) -> dict[str, object]:
        """Return the file system of a command, see ``Root``."""
        between = (run / "texts", self._kept.folder)
        layers = [str(folder) for folder in between if any(folder.iterdir())]
        stage = ("stage", self._root, layers, str(run / "upper"), str(run / "work"))
        hidden = self._folder.hide([*self._hidden, *self._secrets.find()])
        return {
            "top": str(self._folder.path / "top"),
            "size": self._limits.temporary,
            "masks": str(self._folder.masks),
            "mounts": [*self._mounts, stage, *hidden],
        }

    async def _run(
        self,
        client: NamespaceClient,
        command: Command,
        on_output: Callable[[bytes], None] | None,
        run: Path,
    ) -> Ended:
        changes = OverlayChanges(self._root, str(run / "upper"), self._project.read)
        root = await asyncio.to_thread(self._place, run)
        try:
            ended = await client.run(command, root, self._limits, on_output, changes.size)
        except StartFailed as error:
            raise Unreachable(explain(str(error))) from error
        self._works = True
        return ended

    async def _collect(
        self, ended: Ended, run: Path, changes: OverlayChanges, began: int
    ) -> IsolatedRun:
        """Return what a command did; move ignored files to those that are kept."""
        result = IsolatedRun(
            ended.result, ended=ended.ended, stopped=self._limits.explain(ended.stopped)
        )
        if ended.result.code != 0:
            result = replace(result, hidden=await asyncio.to_thread(self._tried, ended.result))
        if not any((run / "upper").iterdir()) and not _mode_differs(run / "upper", self._root):
            return result
        files = await asyncio.to_thread(self._keep, str(run / "upper"))
        await changes.update(began)
        change = await changes.change_set()
        return replace(
            result,
            change=change,
            moved=tuple(changes.moved(change)),
            skipped=tuple(changes.skipped),
            kept=files,
            times=tuple(changes.times().items()),
        )

    def _keep(self, upper: str) -> Kept:
        ignored, caches = kept.find_ignored(self._root, upper)
        number = self._kept.keep(upper, ignored)
        self._kept.keep(upper, caches)
        ended = self._kept.size > self._limits.changed
        if ended:
            self._kept.clear()
            self._kept.folder.mkdir(exist_ok=True)
        return Kept(number, kept.describe_kept(ignored) if number else (), ended)

    def _tried(self, result: ProcessResult) -> tuple[str, ...]:
        """Return paths in the output of a failed command that are there, but hidden from it."""
        text = (result.head + result.tail + result.stderr).decode("utf-8", "replace")
        named = dict.fromkeys(_PATH.findall(text[-64 * 1024 :]))
        found = (path for path in named if self._is_hidden(path))
        return tuple(path for path, _ in zip(found, range(MOST_HIDDEN), strict=False))

    def _is_hidden(self, path: str) -> bool:
        try:
            real = os.path.realpath(os.path.expanduser(path))
        except OSError:  # a link that nobody may read, like /proc/1/root
            return False
        hidden = (("hide", path) for path in self._hidden)
        mounts = (*self._mounts, ("stage", self._root), *hidden)
        return os.path.lexists(real) and not is_visible(real, mounts)

    def _remove_later(self, run: Path) -> None:
        asyncio.get_running_loop().run_in_executor(None, remove_tree, run)

    async def _disconnect(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def close(self) -> None:
        """End everything, and forget the kept files."""
        await self._starting.cancel()
        async with self._lock:
            await self._disconnect()
            await asyncio.to_thread(self._folder.remove)


def _mode_differs(one: Path, other: str) -> bool:
    return one.stat().st_mode != os.stat(other).st_mode
