"""Edits as data: a text, what is asked, and the text or the refusal that must come of it."""

from __future__ import annotations

from tests.core.edit.edit_cases import (
    exact,
    indentation,
    line_ends,
    look_alikes,
    refused,
    several,
    white_space,
)
from tests.core.edit.edit_cases.case import Case

ALL: tuple[Case, ...] = (
    *exact.CASES,
    *refused.CASES,
    *line_ends.CASES,
    *white_space.CASES,
    *indentation.CASES,
    *look_alikes.CASES,
    *several.CASES,
)
