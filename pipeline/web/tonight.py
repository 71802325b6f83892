"""How many reviews fit into the hours that people offer for tonight."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from pipeline.review.permissions import Permission, may
from pipeline.review.progress import Pace
from pipeline.web.context import context_of

__all__ = ["Tonight", "measure_tonight"]


@dataclass(frozen=True, slots=True)
class Tonight:
    """What people offer for tonight.

    Attributes:
        people: How many say how long they are there.
        hours: Of all of these.
        room: How many reviews fit into them at the median seconds of one; None while that is not known.
    """

    people: int
    hours: float
    room: int | None


def measure_tonight(request: Request, pace: Pace) -> Tonight:
    """Return what the active people who review offer, and what fits into it at this `pace`."""
    offered = [
        person.hours_tonight
        for person in context_of(request).accounts.list()
        if person.active and person.hours_tonight is not None and may(person.role, Permission.REVIEW)
    ]
    hours = sum(offered)
    return Tonight(len(offered), hours, _count_room(hours, pace.blind.value, pace.final.value))


def _count_room(hours: float, blind: float | None, final: float | None) -> int | None:
    if blind is None or final is None or blind + final <= 0:
        return None
    return int(hours * 3600 / (blind + final))
