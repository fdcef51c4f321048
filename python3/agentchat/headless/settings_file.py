"""The file of ``--settings``: the settings that count without an editor, as JSON.

In Neovim ``config/schema.lua`` checks the same shapes.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentchat.core.errors import UserError
from agentchat.core.limits import KIB
from agentchat.core.permissions.policy import MODES
from agentchat.disk.regular import read_regular

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_PROBLEMS = 5
LARGEST = 1024 * KIB


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the settings in a file; raises OSError, or UserError that names what is wrong."""
    data = read_regular(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise UserError(f"{path} is larger than {LARGEST // KIB} KiB.")
    try:
        settings = json.loads(data)
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise UserError(f"{path} must hold one JSON object, with the keys of g:agentchat.")
    problems = find_problems(settings)
    if problems:
        raise UserError("; ".join(f"{path}: {problem}" for problem in problems[:MOST_PROBLEMS]))
    return settings


def find_problems(settings: Mapping[str, Any]) -> list[str]:
    """Return a line for each setting that is unknown or has a value of another type."""
    from pydantic import ValidationError

    shape = _shape()
    try:
        shape.validate_python(settings)
    except ValidationError as error:
        schema = shape.json_schema()
        return [_problem(item["loc"], item, schema) for item in error.errors(include_url=False)]
    return []


def _problem(location: tuple[int | str, ...], error: Mapping[str, Any], schema: Any) -> str:
    names = [str(part) for part in location if not str(part).startswith(("list[", "str"))]
    place = ".".join(names)
    if error["type"] != "extra_forbidden":
        message = str(error["msg"]).replace("Input should be", "must be")
        return f"{place} {message}, got {json.dumps(error['input'], default=str)}."
    known = _known_keys(names[:-1], schema)
    near = difflib.get_close_matches(names[-1], known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else f": use {', '.join(known)}."
    return f"no setting {place!r} without an editor{guess}"


def _known_keys(path: list[str], schema: Any) -> list[str]:
    """Return the settings of a table, by the JSON Schema of all settings."""
    node = schema
    for name in path:
        node = node.get("properties", {}).get(name) or node.get("additionalProperties") or {}
        node = schema["$defs"].get(str(node.get("$ref", "")).rpartition("/")[2], node)
    return [*node.get("properties", {})]


def _shape() -> TypeAdapter[Any]:
    """Return the shape of the settings; pydantic takes too long to import before it is needed."""
    from typing import Annotated

    from pydantic import ConfigDict, Field, TypeAdapter, with_config
    from typing_extensions import TypedDict

    strict = with_config(ConfigDict(strict=True, extra="forbid"))
    texts = list[str]
    dollars = Annotated[float, Field(gt=0)] | None
    positive = Annotated[int, Field(gt=0)]
    # JSON has no other way to write a table whose names are free.
    tables = dict[str, dict[str, Any]]

    def table(name: str, /, **fields: Any) -> Any:
        return strict(TypedDict(name, fields, total=False))  # type: ignore[operator]

    model = table(
        "model",
        **dict.fromkeys(
            ("provider", "name", "base_url", "protocol", "api_key_env", "effort"), str | None
        ),
        api_key_cmd=str | texts | None,
        temperature=Annotated[float, Field(ge=0, le=2)] | None,
        max_tokens=positive | None,
        context=positive | None,
        params=dict[str, Any],
    )
    tools = table(
        "tools",
        default=texts,
        paths=texts,
        edits=Literal["ask", "stage"],
        deferred_threshold=Annotated[int, Field(ge=0)],
        always_load=texts,
        max_parallel=positive,
        groups=tables,
        opts=tables,
    )
    stage = table(
        "stage",
        network=Literal["ask", "allow", "deny"],
        quota_mb=positive,
        visible=texts,
        ignored=Literal["drop", "ask", "apply"],
        check=str | None,
        check_rounds=positive,
    )
    commands = table(
        "commands",
        unasked=Literal["isolated", "readers", "none"],
        limits=table("limits", processes=positive, memory_mb=positive),
    )
    settings = table(
        "settings",
        model=model,
        tools=tools,
        rules=list[dict[str, Any]],
        mode=Literal[MODES],
        max_rounds=positive,
        budget=table("budget", turn=dollars, chat=dollars, day=dollars),
        compact=Literal["ask", "auto", "off"],
        sandbox=Literal["off", "auto", "required"],
        stage=stage,
        commands=commands,
    )
    return TypeAdapter(settings)
