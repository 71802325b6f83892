"""The one exception that carries a fault from any layer to whoever shows it."""

from __future__ import annotations

from pipeline.types.fault import Fault

__all__ = ["GraderError"]


class GraderError(Exception):
    """Something that a person has to act on; layers derive their own.

    Attributes:
        fault: What, where, which limit, what to do, and whose it is.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault
