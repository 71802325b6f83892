"""What a program that is not well formed raises."""

from __future__ import annotations

__all__ = ["ProgramError", "show"]

_SHOWN: int = 60


class ProgramError(Exception):
    """A program that is not well formed.

    An honest frontend never produces one, so the cause is a defect of ours or a submission that tampers with
    the process it shares.

    Attributes:
        rule: Stable id of what is wrong.
        message: What and where.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.message = message


def show(value: object) -> str:
    """Return a bounded, printable form of a hostile value."""
    return ascii(value)[:_SHOWN]
