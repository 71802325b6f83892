"""A fault: what went wrong, where, and whose it is."""

from __future__ import annotations

from enum import StrEnum

from pipeline.types.model import Frozen
from pipeline.types.text import OneLine

__all__ = ["Fault", "Owner"]


class Owner(StrEnum):
    """Who has to act on a fault."""

    SUBMISSION = "submission"
    TASK = "task"
    ENVIRONMENT = "environment"
    JUDGE = "judge"
    GRADER = "grader"


class Fault(Frozen):
    """One thing that went wrong."""

    owner: Owner
    code: str
    """Stable identifier, e.g. ``missing_entry`` or ``wall_time``."""
    message: OneLine
    """One line: what happened, and which limit it met."""
    where: OneLine = ""
    """File, line or key that it concerns, e.g. ``kernel.py:12``."""
    remedy: OneLine = ""
    """What to do about it."""
    line: int | None = None
    """Line of the submission, 1-based, where there is one."""

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{remedy}"
