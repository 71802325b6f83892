"""Calibration: from what a judge seems sure of to how often it is right, and what may stand on that."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from pipeline.types.fingerprint import Fingerprint
from pipeline.types.model import Frozen
from pipeline.types.text import OneLine

__all__ = ["GRADE", "Calibrator", "Certificate", "Curve", "Loss", "Scope", "Split"]

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


class Calibrator(Frozen):
    """Everything that turns drafts of one scope into probabilities."""

    scope: Scope
    features: str
    """Version of the features."""
    loss: Loss
    curves: tuple[Curve, ...]
    labels: str
    """Content hash of the labels that it was fitted on."""
    constructed: bool
    """Whether any of them was constructed by a task's author rather than given by an expert."""
    histories: dict[str, tuple[int, int]]
    """Per task how many of these labels it has, and in how many the judge's grade was right: a feature of
    drafts to come, frozen here so that a draft is read as those were that the curves were fitted on."""
    usual: float = Field(ge=0, le=1)
    """Share that is right over all tasks; 0.5 where nothing is known."""


class Certificate(Frozen):
    """A threshold with its guarantee, or why there is none. Void as soon as anything in its scope changes."""

    scope: Scope
    calibrator: str
    """Content hash of the calibrator whose probabilities the threshold is for."""
    policy: str
    """Content hash of the policy that asked for it."""
    criterion: str
    """Id of a criterion, or `GRADE`."""
    loss: Loss
    mode: Literal["selective", "expected"]
    """``selective``: with confidence 1 - delta, at most alpha of what is accepted is wrong. ``expected``: on
    average over calibration samples, at most alpha of everything is accepted and wrong."""
    alpha: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    """Of all tests of this policy together; unused with ``expected``."""
    level: float = Field(ge=0, lt=1)
    """What of `delta` this test had: the rest is for other criteria and looks. 0 where nothing was tested."""
    look: int = Field(ge=1)
    """How many times this scope was tested, this time included."""
    grid: tuple[float, ...]
    """Thresholds that were tried, from the strictest on; fixed before labels were seen."""
    chains: int
    threshold: float | None
    """Probabilities from here on may stand alone; None: nothing may."""
    accepted: int
    """Calibration items at or above the threshold; where every criterion needs a certificate, at or above
    those of all."""
    errors: int
    """How many of these were wrong."""
    bound: float | None
    """Upper bound of the share of wrong ones among accepted at `level`."""
    n: int
    """Calibration items in all."""
    coverage: float | None
    """Share of drafts that would stand: covered, and as sure as all thresholds together demand."""
    sampling: Literal["random", "clusters"]
    """``random``: a sample of the stream with known probability. ``clusters``: errors are counted by task."""
    tasks: tuple[str, ...]
    """Tasks with labels enough in the fit split: drafts for others were not tested and go to people."""
    task_versions: tuple[str, ...] = ()
    """Content hashes of the versions of these that had them: under another version nothing was tested."""
    authors: tuple[str, ...]
    """Pseudonyms of authors with any; likewise."""
    labels: str
    """Content hash of the labels that certify."""
    constructed: bool
    """Whether any of them was constructed: then it shows how certificates work and no policy accepts it."""
    experts_differ: float | None
    """How often two experts differ by the same loss; None where too few items were seen twice."""
    experts_pairs: int
    issued_at: datetime
    issued_by: str
    reason: OneLine
    """What it says in one sentence, or why nothing may stand alone and what would help."""
