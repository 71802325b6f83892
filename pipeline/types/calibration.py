"""Calibration: from what a judge seems sure of to how often it is right."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.types.fingerprint import Fingerprint
from pipeline.types.model import Frozen

__all__ = ["GRADE", "Curve", "Loss", "Scope", "Split"]

#: Stands for the grade as a whole where a criterion's id is asked for.
GRADE = "grade"

#: What a label may be used for. One that chose a prompt or made a calibrator never certifies.
Split = Literal["choose", "fit", "certify", "report"]


class Loss(Frozen):
    """When a grade counts as wrong beside what an expert said."""

    apart: int = Field(default=2, ge=1, le=4)
    """A level this many steps from the expert's, or more, is wrong."""
    flips: bool = True
    """Whether a grade that passes where the expert's fails, or the other way round, is wrong."""


class Scope(Frozen):
    """Which drafts a calibration speaks of: those that were made by exactly this.

    It is the fingerprint without the task, without what follows a draft, and without whether there was a
    sandbox: nothing that ran without one ever stands alone.
    """

    rubric: str
    prompt: str
    judge: str
    executor: str
    target: str
    toolchain: str
    numerics: str
    comparison: str
    checks: str

    @staticmethod
    def of(made: Fingerprint) -> Scope:
        """Return the scope of drafts under the fingerprint `made`."""
        return Scope.model_validate({name: getattr(made, name) for name in Scope.model_fields})


class Curve(Frozen):
    """How one criterion's features become the probability that its level is right.

    A weighted sum of standardised features ranks drafts; a monotone curve through points turns the rank into
    a probability, straight between points and flat beyond them.
    """

    criterion: str
    """Id of a criterion, or `GRADE`."""
    method: Literal["isotonic", "platt"]
    features: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    ranks: tuple[float, ...]
    """Increasing."""
    probabilities: tuple[float, ...]
    """Not decreasing, 0..1; one per rank."""
    n: int
    """Labels that it was fitted on."""
