"""What stands in a task.toml: keys, types and ranges, and errors that name the key and the remedy."""

from __future__ import annotations

import difflib
import json
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from pipeline.library.errors import TaskError
from pipeline.types import (
    AxisConstraint,
    Battery,
    Case,
    Family,
    Frozen,
    Numerics,
    Policy,
    TaskLimits,
    TensorSpec,
    Verdict,
    Work,
)

__all__ = ["TaskFile", "read_task_file"]

_SLUG = r"^[a-z][a-z0-9_]{0,63}$"


class TaskFile(Frozen):
    """The content of a task.toml, version 1."""

    schema_version: Literal[1]
    id: str = Field(pattern=_SLUG)
    title: str = Field(min_length=1, max_length=120)
    family: Family
    rubric: str | None = Field(default=None, pattern=_SLUG)
    """Where absent, the rubric of the family."""
    entry: str
    statement: str = Field(min_length=1)
    dialects: tuple[str, ...] = Field(min_length=1)
    targets: tuple[str, ...] = Field(min_length=1)
    toolchain: tuple[str, ...] = Field(min_length=1)
    lnc: Literal[1, 2] = 1
    axes: dict[str, AxisConstraint] = Field(min_length=1)
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    outputs: tuple[TensorSpec, ...] = Field(min_length=1)
    cases: tuple[Case, ...] = Field(min_length=1)
    numerics: Numerics = Field(default_factory=Numerics)
    battery: Battery = Field(default_factory=Battery)
    work: Work
    limits: TaskLimits = Field(default_factory=TaskLimits)
    policy: Policy = Field(default_factory=Policy)
    solutions: dict[str, Verdict] = Field(default_factory=dict)
    """Expected verdict of each ``bad_*.py``; ``good_*.py`` are expected to be correct and not listed."""


_SECTIONS: dict[str, type[BaseModel]] = {
    "axes": AxisConstraint,
    "inputs": TensorSpec,
    "outputs": TensorSpec,
    "cases": Case,
    "numerics": Numerics,
    "battery": Battery,
    "work": Work,
    "limits": TaskLimits,
    "policy": Policy,
}


def read_task_file(text: str, path: Path) -> TaskFile:
    """Return the content of the task.toml at `path`.

    Raises:
        TaskError: If it is no TOML, or a key is unknown, missing, of the wrong type or out of range.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError.at(
            str(path), f"not valid TOML: {error}", "correct the syntax at that place"
        ) from None
    try:
        # Through JSON, because there pydantic's strict mode takes arrays for tuples and names for enums,
        # and yet refuses "3" for 3.
        return TaskFile.model_validate_json(json.dumps(document, default=str), strict=True)
    except ValidationError as error:
        raise _explain(error, path) from None


def _explain(error: ValidationError, path: Path) -> TaskError:
    # A misspelt key shows as an unknown and a missing one: the unknown one says more.
    problems = sorted(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    first = problems[0]
    message, remedy = _describe(first["type"], first["msg"], first["loc"], first["input"])
    if len(problems) > 1:
        message += f", and {len(problems) - 1} more problem{'s' if len(problems) > 2 else ''}"
    return TaskError.at(f"{path}, {_key(first['loc'])}", message, remedy)


def _key(location: tuple[int | str, ...]) -> str:
    """Return a location as TOML writes it, entries of arrays counted from 1: ``cases[2].axes.M``."""
    key = ""
    for part in location:
        key += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if key else part
    return key


def _describe(kind: str, message: str, location: tuple[int | str, ...], value: Any) -> tuple[str, str]:
    match kind:
        case "extra_forbidden":
            model = _SECTIONS.get(str(location[0]), TaskFile) if len(location) > 1 else TaskFile
            known = [*model.model_fields]
            near = difflib.get_close_matches(str(location[-1]), known, n=1)
            remedy = f"did you mean '{near[0]}'?" if near else f"remove it; known keys: {', '.join(known)}"
            return "unknown key", remedy
        case "missing":
            return "missing", "add it"
        case "enum" | "literal_error":
            return f"{value!r} is not allowed", message[:1].lower() + message[1:]
        case _:
            shown = repr(value)
            return f"{shown if len(shown) <= 60 else shown[:57] + '...'} is not allowed", (
                message[:1].lower() + message[1:]
            )
