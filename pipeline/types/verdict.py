"""What a run of a submission came to."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Verdict"]


class Verdict(StrEnum):
    """Wrong, hacked and infrastructure are three different things."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    #: The language or the dialect refuses it.
    COMPILE_ERROR = "compile_error"
    #: It traces, but the chip or its compiler would refuse it.
    ILLEGAL_ON_TARGET = "illegal_on_target"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    NO_DEVICE_WORK = "no_device_work"
    #: The emulator does not know an operation: our gap, not the author's.
    UNSUPPORTED = "unsupported"
    #: An integrity finding with a deterministic witness.
    SUSPECT = "suspect"
    #: Ours or the machine's; never costs the author anything.
    INFRASTRUCTURE = "infrastructure"

    @property
    def is_settled_failure(self) -> bool:
        """Whether the verdict is a deterministic fact against the submission that needs no second opinion."""
        return self in _SETTLED


_SETTLED = frozenset(
    {
        Verdict.INCORRECT,
        Verdict.COMPILE_ERROR,
        Verdict.ILLEGAL_ON_TARGET,
        Verdict.RUNTIME_ERROR,
        Verdict.TIMEOUT,
        Verdict.TOO_LARGE,
        Verdict.NO_DEVICE_WORK,
    }
)
