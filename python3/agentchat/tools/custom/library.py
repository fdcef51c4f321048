"""The files with tools that were loaded, each once for all chats of this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.calling import Calling
from agentchat.tools.custom.description import heard
from agentchat.tools.custom.files import Source
from agentchat.tools.custom.importing import ImportProblem, Problem, import_source
from agentchat.tools.custom.thread import run
from agentchat.tools.custom.worker import Ended
from agentchat.tools.custom.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file holds: tools whose functions are elsewhere, tools made here, and groups."""

    source: Source
    tools: tuple[Calling, ...] = ()
    made: tuple[Tool, ...] = ()
    groups: tuple[Group, ...] = ()


@dataclass
class Library:
    """Files by path, as they were when they were last read; ``workshop`` is where they run."""

    workshop: Workshop
    _known: dict[Path, tuple[str, Loaded | Problem]] = field(default_factory=dict)

    async def load(self, sources: Sequence[Source]) -> None:
        """Import what changed."""
        for source in sources:
            if self._known.get(source.path, ("", None))[0] != source.digest:
                self._known[source.path] = (source.digest, await self._found(source))

    def contents(self, sources: Iterable[Source]) -> tuple[list[Loaded], list[Problem]]:
        """Return what was loaded of these files, and what is wrong with the others."""
        loaded: list[Loaded] = []
        problems: list[Problem] = []
        for source in sources:
            digest, found = self._known.get(source.path, ("", None))
            if digest != source.digest:
                continue
            if isinstance(found, Loaded):
                loaded.append(found)
            elif found is not None:
                problems.append(found)
        return loaded, problems

    def clear(self) -> None:
        """Forget every file, so that each is imported again, in a new process."""
        self._known.clear()
        self.workshop.close()

    async def _found(self, source: Source) -> Loaded | Problem:
        seconds = self.workshop.seconds
        try:
            told = await self.workshop.bring_in(source)
            if "problem" in told:
                line, text = told["problem"]
                return Problem(source.path, int(line), str(text))
            made = await _made(source, seconds) if told["made"] else ()
        except Ended:
            return Problem(source.path, 0, "it ends the process that imports it")
        except asyncio.TimeoutError:
            why = f"it is not imported within {seconds:g} s; is there an endless loop?"
            return Problem(source.path, 0, why)
        except ImportProblem as found:
            return found.problem
        return self._loaded(source, told, made)

    def _loaded(self, source: Source, told: dict[str, Any], made: tuple[Tool, ...]) -> Loaded:
        tools = (Calling(self.workshop, source.key, heard(text)) for text in told["tools"])
        groups = ({**about, "tools": tuple(about["tools"])} for about in json.loads(told["groups"]))
        return Loaded(source, tuple(tools), made, tuple(Group(**about) for about in groups))


async def _made(source: Source, seconds: float) -> tuple[Tool, ...]:
    """Import a file here, for tools that it made of the plugin's own parts."""
    work = run(lambda: import_source(source).made, printed=lambda text: None)
    importing: asyncio.Task[tuple[Tool, ...]] = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({importing}, timeout=seconds)
    if not done:
        importing.cancel()  # it may go on, but nobody waits for it
        raise asyncio.TimeoutError
    return importing.result()
