"""Rubrics: read from TOML, validated whole, and only as published."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from pipeline.library.errors import LibraryError
from pipeline.library.lock import read_lock, read_locked
from pipeline.library.roots import rubrics_root
from pipeline.types import Criterion, Fault, Overall, Owner, Rubric

__all__ = ["list_rubrics", "load_rubric", "parse_rubric"]

_Problem: TypeAlias = tuple[str, str, str]
"""Key, what is wrong with it, and what to do."""

_LEVELS = (0, 1, 2, 3, 4)
_SOURCE = re.compile(r"judge|check:[a-z][a-z0-9_]*")


def load_rubric(id: str, version: str | None = None, *, root: Path | None = None) -> Rubric:
    """Return a published rubric, the newest version unless one is named.

    Raises:
        LibraryError: If it is unknown, was edited after publication, or is invalid; names file, key and
        remedy.
    """
    version, text, path = read_locked(root or rubrics_root(), id, version, ".toml")
    return parse_rubric(text, id=id, version=version, where="/".join(path.parts[-3:]))


def list_rubrics(*, root: Path | None = None) -> list[str]:
    """Return the ids of all published rubrics, in alphabetical order."""
    return sorted(read_lock(root or rubrics_root()))


def parse_rubric(text: str, *, id: str, version: str, where: str) -> Rubric:
    """Return the rubric that `text` spells.

    Args:
        text: TOML with id, version, title, purpose, one ``[[criteria]]`` table per criterion and
        ``[overall]``. id: Name of its folder; the text must say the same.
        version: Name of its file; the text must say the same.
        where: How errors name the file.

    Raises:
        LibraryError: At the first thing that is wrong, naming file, key and remedy.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refuse(where, "", f"is no TOML: {error}", "mend the syntax") from None
    try:
        rubric = Rubric.model_validate(_unfold(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        message = first["msg"][:1].lower() + first["msg"][1:]
        raise _refuse(where, key, message, "see docs/grading.md") from None
    problems = (
        *_check_identity(rubric, id, version),
        *_check_criteria(rubric),
        *_check_overall(rubric.overall),
    )
    for key, message, remedy in problems:
        raise _refuse(where, key, message, remedy)
    return rubric


def _unfold(content: dict[str, Any]) -> dict[str, Any]:
    """Return `content` in the form of the model: levels as a list, worst first, and prose on one line."""
    criteria = content.get("criteria")
    if not isinstance(criteria, list):
        return content
    return {
        **content,
        "purpose": _join_lines(content.get("purpose")),
        "criteria": [_unfold_criterion(entry) if isinstance(entry, dict) else entry for entry in criteria],
    }


def _unfold_criterion(criterion: dict[str, Any]) -> dict[str, Any]:
    unfolded = {**criterion, "question": _join_lines(criterion.get("question"))}
    levels = criterion.get("levels")
    if isinstance(levels, dict):
        unfolded["levels"] = [
            {"level": level, "anchor": _join_lines(anchor)} for level, anchor in sorted(levels.items())
        ]
    return unfolded


def _join_lines(prose: object) -> object:
    return " ".join(prose.split()) if isinstance(prose, str) else prose


def _check_identity(rubric: Rubric, id: str, version: str) -> Iterator[_Problem]:
    if rubric.id != id:
        yield "id", f"{rubric.id!r} differs from its folder {id!r}", "make them agree"
    if rubric.version != version:
        yield "version", f"{rubric.version!r} differs from its file {version!r}", "make them agree"


def _check_criteria(rubric: Rubric) -> Iterator[_Problem]:
    if not rubric.criteria:
        yield "criteria", "there is none", "add a [[criteria]] table"
    for id in _find_repeated(criterion.id for criterion in rubric.criteria):
        yield f"criteria.{id}", "two criteria have this id", "rename one"
    for criterion in rubric.criteria:
        for key, message, remedy in _check_criterion(criterion):
            yield f"criteria.{criterion.id}.{key}", message, remedy


def _check_criterion(criterion: Criterion) -> Iterator[_Problem]:
    if not (math.isfinite(criterion.weight) and criterion.weight > 0):
        yield "weight", f"{criterion.weight} is not above 0", "give it a weight, or leave the criterion out"
    if not _SOURCE.fullmatch(criterion.source):
        yield "source", f"{criterion.source!r} is neither judge nor check:<id>", "name who scores it"
    if not criterion.evidence:
        yield "evidence", "is empty", "say what the criterion is judged from"
    found = [level.level for level in criterion.levels]
    for missing in sorted(set(_LEVELS) - set(found)):
        yield f"levels.{missing}", "is missing", "write an anchor for every level from 0 to 4"
    for extra in sorted(set(found) - set(_LEVELS)):
        yield f"levels.{extra}", "there is no such level", "levels run from 0 to 4"
    for level in criterion.levels:
        if not level.anchor.strip():
            yield f"levels.{level.level}", "has no anchor", "write what one sees at this level"
    for anchor in _find_repeated(level.anchor for level in criterion.levels):
        yield "levels", f"two levels share the anchor {anchor!r}", "write what tells them apart"
    yield from _check_scale(criterion)


def _check_scale(criterion: Criterion) -> Iterator[_Problem]:
    scale = criterion.scale
    if scale is None:
        return
    if criterion.check is None:
        yield "scale", "a judge scores this criterion", "remove the scale, or name a check as its source"
    if scale.fact not in criterion.evidence:
        yield "scale.fact", f"{scale.fact!r} is not among the evidence", "add it to evidence"
    if not scale.steps:
        yield "scale.steps", "is empty", "give the bound of every level above 0"
    for level in sorted(set(scale.steps) - set(_LEVELS[1:])):
        yield f"scale.steps.{level}", "no level above 0 has this number", "give bounds for levels 1 to 4"
    bounds = [scale.steps[level] for level in sorted(scale.steps)]
    ordered = sorted(bounds, reverse=scale.direction == "at_most")
    if bounds != ordered or len(set(bounds)) != len(bounds):
        yield "scale.steps", "a better level must have a stricter bound", "put the bounds in order"


def _check_overall(overall: Overall) -> Iterator[_Problem]:
    for gate in _find_repeated(overall.gates):
        yield "overall.gates", f"{gate!r} is named twice", "name it once"
    for key, value in (
        ("pass_mark", overall.pass_mark),
        ("minimum_scored_weight", overall.minimum_scored_weight),
    ):
        if not 0 < value <= 1:
            yield f"overall.{key}", f"{value} is not in (0, 1]", "give a share of 1"


def _find_repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _refuse(where: str, key: str, message: str, remedy: str) -> LibraryError:
    place = f"{where}: {key}" if key else where
    return LibraryError(
        Fault(owner=Owner.GRADER, code="invalid_rubric", message=message, where=place, remedy=remedy)
    )
