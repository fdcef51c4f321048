"""Runs the functions of a tool within their time; what fails becomes an error result."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agentchat.core.errors import Irreversible, StalePreview, ToolError
from agentchat.core.limits import LONGEST_ERROR
from agentchat.core.text import clip
from agentchat.core.tools.tool import ArgumentError, Step, Tool, ToolContext, ToolOutput

log = logging.getLogger(__name__)

T = TypeVar("T")

GUIDE = "manual_guide"
"""Among the details of an undo that is impossible: what the user can do by hand."""


async def parse_arguments(tool: Tool, given: Mapping[str, Any]) -> Any:
    """Return the arguments as the tool takes them; raises ArgumentError or ToolError."""
    try:
        parsed = tool.arguments.parse(given)
        # Not ``isawaitable``, which takes as long as parsing.
        return await parsed if inspect.iscoroutine(parsed) else parsed
    except (ArgumentError, ToolError):
        raise
    except Exception as error:
        log.exception("%s could not check its arguments", tool.name)
        raise failure(tool, error) from error


def as_result(output: Any) -> ToolOutput:
    """Return the output of a step as a result: text as is, any other value as JSON."""
    if isinstance(output, ToolOutput):
        return output
    if output is None:
        return ToolOutput("(no output)")
    if isinstance(output, str):
        return ToolOutput(output)
    return ToolOutput(json.dumps(output, ensure_ascii=False, default=str))


async def run_steps_safely(tool: Tool, arguments: Any, context: ToolContext) -> ToolOutput:
    """Run the steps; every failure but StalePreview becomes an error result."""
    try:
        return await limited(_run_all(tool, arguments, context), tool.timeout)
    except StalePreview:
        raise
    except ToolError as error:
        details = {GUIDE: error.manual_guide} if isinstance(error, Irreversible) else None
        return ToolOutput(clip(str(error), LONGEST_ERROR), is_error=True, details=details)
    except OutOfTime:
        return ToolOutput(f"{tool.name} timed out after {tool.timeout:g} s.", is_error=True)
    except Exception as error:
        log.exception("%s failed", tool.name)
        return ToolOutput(str(failure(tool, error)), is_error=True)


async def _run_all(tool: Tool, arguments: Any, context: ToolContext) -> ToolOutput:
    output: Any = None
    for number, step in enumerate(tool.steps):
        context = replace(context, last_output=output) if number else context
        output = await run_step(step, arguments, context)
        if isinstance(output, ToolOutput) and output.is_error:
            break
    return as_result(output)


async def run_step(step: Step, arguments: Any, context: ToolContext) -> Any:
    """Return what one function returns; a plain one runs in a thread."""
    if inspect.iscoroutinefunction(step):
        return await step(arguments, context)
    # A plain function may block; the event loop serves every chat.
    return await asyncio.to_thread(step, arguments, context)


class OutOfTime(Exception):
    """The tool's time limit is over; a TimeoutError raised by the tool itself is not this."""


async def limited(work: Coroutine[Any, Any, T], seconds: float | None) -> T:
    """Await the work of a tool; raises OutOfTime after ``seconds``, or what the work raises."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if limit.expired():
            raise OutOfTime from error
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Not this task was cancelled, but something that the tool awaited.
        raise RuntimeError("it was cancelled from inside") from error


def failure(tool: Tool, error: Exception) -> ToolError:
    """Return the error that the model reads of one that a tool raised."""
    text = str(error) or type(error).__name__
    return ToolError(f"{tool.name} failed: {clip(text, LONGEST_ERROR)}")
