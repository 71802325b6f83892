"""What an instruction raises that only its execution can refuse."""

from __future__ import annotations

__all__ = ["MeetingError"]


class MeetingError(Exception):
    """Cores or ranks that met at an instruction but do not fit together.

    Attributes:
        message: Who, what differs, what to do; one line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
