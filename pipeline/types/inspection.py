"""An inspection: all that deterministic checks established about one submission."""

from __future__ import annotations

from pipeline.types.fact import Fact
from pipeline.types.fault import Fault
from pipeline.types.finding import CheckReport
from pipeline.types.model import Frozen
from pipeline.types.verdict import Verdict

__all__ = ["Inspection"]


class Inspection(Frozen):
    """The verdict, and everything it rests on."""

    verdict: Verdict
    fault: Fault | None = None
    """What stopped the submission, if anything did."""
    facts: tuple[Fact, ...] = ()
    reports: tuple[CheckReport, ...] = ()
    sandbox: str
    """Isolation level the submission ran under; ``none`` when nothing of it ran."""
    approximated: tuple[str, ...] = ()
    """Names of the operations that the emulator does not reproduce exactly."""
