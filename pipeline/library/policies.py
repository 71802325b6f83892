"""Routing policies: read from TOML, validated whole, and only as published."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from pipeline.library.errors import LibraryError
from pipeline.library.lock import read_lock, read_locked
from pipeline.library.roots import policies_root
from pipeline.types import GRADE, Fault, Owner, RoutingPolicy

__all__ = ["DEFAULT", "list_policies", "load_policy", "parse_policy", "split_name"]

#: The policy of whoever names none.
DEFAULT: Final = "standard"

_Problem: TypeAlias = tuple[str, str, str]
"""Key, what is wrong with it, and what to do."""


def load_policy(name: str | None = None, *, root: Path | None = None) -> RoutingPolicy:
    """Return a published policy.

    Args:
        name: ``ID`` for its newest version, or ``ID@vN``; None for the default.
        root: Folder with policy folders and their lock; None for those that ship with the grader.

    Raises:
        LibraryError: If it is unknown, was edited after publication, or is invalid; names file, key and
            remedy.
    """
    id, wanted = split_name(name or DEFAULT)
    version, text, path = read_locked(root or policies_root(), id, wanted, ".toml")
    return parse_policy(text, id=id, version=version, where="/".join(path.parts[-3:]))


def list_policies(*, root: Path | None = None) -> list[str]:
    """Return the ids of all published policies, in alphabetical order."""
    return sorted(read_lock(root or policies_root()))


def split_name(name: str) -> tuple[str, str | None]:
    """Return the id and the version that ``ID`` or ``ID@vN`` names; None where it names no version."""
    id, separator, version = name.partition("@")
    return id, version if separator else None


def parse_policy(text: str, *, id: str, version: str, where: str) -> RoutingPolicy:
    """Return the policy that `text` spells.

    Args:
        text: TOML with the fields of `RoutingPolicy`.
        id: Name of its folder; the text must say the same.
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
        policy = RoutingPolicy.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        message = first["msg"][:1].lower() + first["msg"][1:]
        raise _refuse(where, key, message, "see docs/calibration.md") from None
    for key, message, remedy in _check(policy, id, version):
        raise _refuse(where, key, message, remedy)
    return policy


def _check(policy: RoutingPolicy, id: str, version: str) -> Iterator[_Problem]:
    if policy.id != id:
        yield "id", f"{policy.id!r} differs from its folder {id!r}", "make them agree"
    if policy.version != version:
        yield "version", f"{policy.version!r} differs from its file {version!r}", "make them agree"
    if not policy.looks:
        yield "looks", "is empty, so that nothing could ever be tested", "give shares of delta, such as [1.0]"
    for share in policy.looks:
        if not 0 < share <= 1:
            yield "looks", f"{share} is no share of delta in (0, 1]", "give shares that sum to at most 1"
    if math.fsum(policy.looks) > 1:
        yield "looks", f"its shares sum to {math.fsum(policy.looks):.4g}", "give shares that sum to at most 1"
    named = Counter(policy.demand_measured)
    for criterion, count in named.items():
        if count > 1:
            yield "demand_measured", f"{criterion!r} is named twice", "name it once"
    if GRADE in named:
        yield "demand_measured", f"{GRADE!r} is no criterion", "name criteria"
    for key, cost in (
        ("expert_hour", policy.costs.expert_hour),
        ("wrong_grade", policy.costs.wrong_grade),
    ):
        if not math.isfinite(cost):
            yield f"costs.{key}", f"{cost} is no sum of money", "give a finite number"


def _refuse(where: str, key: str, message: str, remedy: str) -> LibraryError:
    place = f"{where}: {key}" if key else where
    return LibraryError(
        Fault(owner=Owner.GRADER, code="invalid_policy", message=message, where=place, remedy=remedy)
    )
