"""A tolerance: how far an output may be from the reference, and where that comes from."""

from __future__ import annotations

from pipeline.types.model import Frozen

__all__ = ["Tolerance"]


class Tolerance(Frozen):
    """The limits that one output of one draw was held to."""

    rel_l2: float
    """Of the relative L2 error over the whole output."""
    row_rel_l2: float
    """Of that of the row that uses up most of its limit."""
    elementwise: float
    """Of ``|error| / (|reference| + rms(reference))`` of the element that uses up most of its limit."""
    derivation: tuple[str, ...] = ()
    """How the limits follow from operation, lengths, dtypes and values: one sentence per step."""
    overridden: bool = False
    """Whether the task set any of them itself."""
