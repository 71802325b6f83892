"""What a deterministic check says."""

from __future__ import annotations

from enum import StrEnum

from pipeline.types.fact import Fact
from pipeline.types.fault import Owner
from pipeline.types.model import Frozen
from pipeline.types.text import OneLine

__all__ = ["CheckReport", "CheckStatus", "Finding", "Severity"]


class Severity(StrEnum):
    """How much a finding weighs."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class CheckStatus(StrEnum):
    """The outcome of one check."""

    PASSED = "passed"
    FAILED = "failed"
    #: The evidence it needs does not exist (an earlier stage failed, or nothing measured it).
    UNKNOWN = "unknown"


class Finding(Frozen):
    """One observation, with its evidence."""

    check: str
    severity: Severity
    message: OneLine
    """One or two sentences for the author: what was seen, which limit, what to do."""
    owner: Owner = Owner.SUBMISSION
    lines: tuple[int, ...] = ()
    """Lines of the submission, 1-based."""
    facts: tuple[str, ...] = ()
    """Ids of the facts it rests on."""


class CheckReport(Frozen):
    """All that one check has to say about one submission."""

    check: str
    status: CheckStatus
    reason: OneLine
    """One line: why it passed, failed or is unknown."""
    findings: tuple[Finding, ...] = ()
    facts: tuple[Fact, ...] = ()
    """Facts that the check itself established."""
