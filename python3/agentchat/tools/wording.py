"""The user's own words for the question and the outcomes of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.messages import Status
from agentchat.core.tools.tool import DryRunResult

OUTCOMES: Mapping[Status, str] = {
    Status.SUCCESS: "on_success",
    Status.ERROR: "on_error",
    Status.REJECTED: "on_rejected",
    Status.CANCELLED: "on_cancelled",
}
"""The functions that phrase how a call ended; a denial is the plugin's to explain."""

LONGEST_TITLE = 50
"""Characters of a question that fit into the title of a narrow float."""


def list_arguments(arguments: Mapping[str, Any], text: str = "") -> str:
    """Return the arguments below a text of the tool: they are what runs."""
    given = json.dumps(arguments, indent=2, ensure_ascii=False, default=str)
    return f"{text}\n\nArguments:\n{given}".lstrip("\n")


def with_question(found: DryRunResult, words: str, arguments: Mapping[str, Any]) -> DryRunResult:
    """Return a dry run with a question; further lines of ``words`` stand above the arguments.

    So does a question that is too long for a title.
    """
    question, _, more = words.strip().partition("\n")
    if len(question) > LONGEST_TITLE:
        question, more = "", words
    if not more.strip():
        return replace(found, question=question)
    text = f"{more.strip()}\n\n{found.text}" if found.text else list_arguments(arguments, more)
    return replace(found, question=question, text=text)
