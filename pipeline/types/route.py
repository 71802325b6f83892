"""A route: whether a grade stands alone, goes to a person, or waits."""

from __future__ import annotations

from enum import StrEnum

from pipeline.types.model import Frozen
from pipeline.types.text import OneLine

__all__ = ["Destination", "Route"]


class Destination(StrEnum):
    """Where a grade goes."""

    ACCEPT = "accept"
    REVIEW = "review"
    SECOND_REVIEW = "second_review"
    #: Nothing to grade until someone acts: infrastructure failed.
    HOLD = "hold"


class Route(Frozen):
    """A destination and the reason that would stand in front of the author."""

    destination: Destination
    reason: OneLine
    policy: str
    """Version of the policy that decided, e.g. ``gates 1``."""
    rule: str = ""
    """Name of the rule of it that did, e.g. ``gate_closed``; empty in routes from before rules had names."""
