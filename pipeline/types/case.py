"""A case: one shape and input distribution of a task."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from pipeline.types.model import Frozen

__all__ = ["Case", "CaseKind", "Pattern"]


class CaseKind(StrEnum):
    """What a case is for."""

    #: Correctness, shapes known to authors.
    CHECK = "check"
    #: The shapes that performance is judged on; correctness counts here too.
    SCORED = "scored"
    #: Correctness, shapes never shown to authors.
    HIDDEN = "hidden"
    #: Correctness, inputs of a pattern that breaks kernels which are right on random numbers.
    BATTERY = "battery"


class Pattern(StrEnum):
    """What is done to the values that a task draws."""

    #: Nothing.
    DRAWN = "drawn"
    #: Scaled by 1e-3.
    SMALL = "small"
    #: Scaled by 64.
    LARGE = "large"
    #: Scaled until exponentials and squares overflow that need not.
    EXTREME = "extreme"
    #: Scaled to some thousand times the smallest normal float32.
    NEAR_DENORMAL = "near_denormal"
    #: All of one sign.
    SIGNED = "signed"
    #: Shifted far from zero, so that the spread is small beside the mean.
    OFFSET = "offset"
    #: The same value along each row.
    CONSTANT_ROWS = "constant_rows"
    #: Few distinct values.
    TIES = "ties"
    #: Ascending along each row.
    SORTED = "sorted"
    #: One term of each row dominates all others.
    IMPULSE = "impulse"
    #: Half of the values, or all but a short span, are minus infinity; never all of a row.
    MASKED = "masked"


class Case(Frozen):
    """One shape, one distribution, some seeds."""

    name: str = Field(min_length=1, max_length=64)
    kind: CaseKind
    axes: dict[str, int]
    """Value of every symbolic axis of the task."""
    distribution: str = "normal"
    """Handed to the task's ``make_inputs`` as ``case["distribution"]``."""
    pattern: Pattern = Pattern.DRAWN
    """Done by the grader to what ``make_inputs`` drew."""
    seeds: int = Field(default=1, ge=1, le=100)
    """How many independent draws are run."""
