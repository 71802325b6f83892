"""Response: whether everything that chance drew for experts has been answered.

A sample whose hard items nobody answered is none, and no test can tell from the answers alone: with half of
the wrong drafts skipped, half of the certificates were wrong (``python -m evals.certificates.assembled``).
"""

from __future__ import annotations

from typing import NamedTuple

from pipeline.routing.observations import Observations
from pipeline.routing.splits import root_of
from pipeline.store import Store
from pipeline.types import Scope

__all__ = ["Response", "measure_response"]


class Response(NamedTuple):
    """What became of the submissions that chance drew.

    Attributes:
        drawn: How many were drawn to calibrate on.
        waiting: To how many of these nobody has said anything.
    """

    drawn: int
    waiting: int


def measure_response(store: Store, observed: Observations) -> Response:
    """Return what became of the submissions that chance drew from one scope.

    Args:
        store: Only read.
        observed: All that the scope drafted; what a hard rule settles is no part of it.
    """
    named = {
        item.review.grading_id for _, item in store.desk.list_items() if item.review.calibration is not None
    }
    if not named:
        return Response(0, 0)
    root = root_of(store, observed.scope)
    drawn = {
        place.submission_id
        for place in store.drafts.list_places()
        if place.grading_id in named and root_of(store, Scope.of(place.made)) == root
    }
    answered = [unit.first is not None for unit in observed.units if unit.submission_id in drawn]
    return Response(len(answered), answered.count(False))
