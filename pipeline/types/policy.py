"""A routing policy: which grades may stand alone, at which risk, and what people cost."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.types.calibration import Loss
from pipeline.types.model import Frozen

__all__ = ["Costs", "RoutingPolicy"]


class Costs(Frozen):
    """What decisions cost, for reports: no route depends on them unless the policy says so."""

    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    expert_hour: float = Field(ge=0)
    wrong_grade: float = Field(ge=0)
    """What one wrong grade that stood alone costs whoever trains or evaluates on it."""


class RoutingPolicy(Frozen):
    """One version of a policy; a published version is never edited."""

    id: str
    version: str
    """``v1``, ``v2``, ..."""
    title: str
    mode: Literal["selective", "expected"]
    alpha: float = Field(gt=0, lt=1)
    delta: float = Field(gt=0, lt=1)
    loss: Loss
    by: Literal["grade", "criteria"]
    """What accepts a grade: a certificate for all of it, or one for each criterion that a judge scored."""
    looks: tuple[float, ...]
    """Shares of `delta` for the first, second, ... test of one scope; together at most 1. After the last
    there is none: what is tested until it passes proves nothing."""
    calibration_rate: float = Field(gt=0, le=1)
    """Share of gradings that chance draws for experts to label, whatever their confidence."""
    fewest_per_task: int = Field(ge=1)
    """A task with fewer labelled submissions in the fit split is not covered."""
    second_review_below: float = Field(ge=0, le=1)
    """Drafts that are less sure than this are seen by two people."""
    demand_measured: tuple[str, ...] = ()
    """Criteria that no modelled number may settle: their grades go to people until a device measured them."""
    costs: Costs
