"""Constructed levels: what each solution of a task was made to deserve, criterion by criterion.

``levels.toml`` beside a task.toml begins with a comment that says what these levels are: constructed from
rubric and code alone, and no expert's labels. Then::

    rubric = "performance_quality v1"

    ["good_simple.py"]
    tiling = [3, "full tiles, but the moving one is loaded once per row"]

Loading a task needs no more than this form. That the levels are those of the rubric in use, and that no
solution and no criterion is missing, is for `check_levels`: grading does not depend on it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from pipeline.library.errors import TaskError
from pipeline.types import ConstructedLevel, Rubric, Task

__all__ = ["LEVELS_FILE", "check_levels", "read_levels"]

LEVELS_FILE: Final = "levels.toml"

_RUBRIC: Final = re.compile(r"[a-z][a-z0-9_]* v\d+")


def read_levels(text: str, path: Path, solutions: Collection[str]) -> dict[str, dict[str, ConstructedLevel]]:
    """Return the levels that the levels.toml at `path` gives, by solution and criterion.

    Raises:
        TaskError: If it is no TOML, names a solution that is not among `solutions`, or an entry is not a
            level with a reason.
    """
    tables = _read_tables(text, path)
    for name in tables:
        if name not in solutions:
            raise TaskError.at(f"{path}, {name}", "no such file in solutions/", "remove it or add the file")
    return {
        name: {
            criterion: _read_level(entry, f"{path}, {name}.{criterion}") for criterion, entry in table.items()
        }
        for name, table in tables.items()
    }


def check_levels(folder: Path, task: Task, rubric: Rubric) -> bool:
    """Hold the levels of the task in `folder` to `rubric`; return whether there are any.

    Raises:
        TaskError: If they were constructed for another rubric or version, if a solution or criterion is
            missing or unknown, or if a level is none of the criterion's.
    """
    path = folder / LEVELS_FILE
    if not path.is_file():
        return False
    named = tomllib.loads(path.read_text())["rubric"]
    if named != f"{rubric.id} {rubric.version}":
        raise TaskError.at(
            f"{path}, rubric",
            f"the levels are for {named}, the task is judged by {rubric.id} {rubric.version}",
            "write them anew from that rubric's anchors",
        )
    allowed = {criterion.id: {step.level for step in criterion.levels} for criterion in rubric.criteria}
    for solution in task.solutions:
        key = f"{path}, {solution.name}"
        for criterion in allowed.keys() - solution.levels.keys():
            raise TaskError.at(key, f"no level for {criterion}", f'add `{criterion} = [level, "reason"]`')
        for criterion, given in solution.levels.items():
            if criterion not in allowed:
                raise TaskError.at(
                    key, f"'{criterion}' is no criterion of the rubric", f"it has: {', '.join(allowed)}"
                )
            if given.level not in allowed[criterion]:
                levels = ", ".join(map(str, sorted(allowed[criterion])))
                raise TaskError.at(
                    f"{key}.{criterion}", f"there is no level {given.level}", f"it has {levels}"
                )
    return True


def _read_tables(text: str, path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError.at(str(path), f"not valid TOML: {error}", "correct the syntax there") from None
    rubric = content.pop("rubric", None)
    if not (isinstance(rubric, str) and _RUBRIC.fullmatch(rubric)):
        raise TaskError.at(f"{path}, rubric", "names no rubric", 'write `rubric = "<id> <version>"` first')
    for name, table in content.items():
        if not isinstance(table, dict):
            raise TaskError.at(
                f"{path}, {name}",
                "no table of a solution",
                'write `["good_name.py"]`, then one line per criterion',
            )
    return content


def _read_level(entry: object, key: str) -> ConstructedLevel:
    match entry:
        case [int(level), str(reason)] if not isinstance(level, bool) and reason.strip():
            if "\n" in reason:
                raise TaskError.at(key, "the reason has several lines", "say it in one line")
            return ConstructedLevel(level=level, reason=reason)
        case _:
            raise TaskError.at(key, "is no level with a reason", 'write `[level, "reason"]`')
