"""A case: one shape and input distribution of a task."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from pipeline.types.model import Frozen

__all__ = ["Case", "CaseKind"]


class CaseKind(StrEnum):
    """What a case is for."""

    #: Correctness, shapes known to authors.
    CHECK = "check"
    #: The shapes that performance is judged on; correctness counts here too.
    SCORED = "scored"
    #: Correctness, shapes never shown to authors.
    HIDDEN = "hidden"


class Case(Frozen):
    """One shape, one distribution, some seeds."""

    name: str = Field(min_length=1, max_length=64)
    kind: CaseKind
    axes: dict[str, int]
    """Value of every symbolic axis of the task."""
    distribution: str = "normal"
    """Handed to the task's ``make_inputs`` as ``case["distribution"]``."""
    seeds: int = Field(default=1, ge=1, le=100)
    """How many independent draws are run."""
