"""What the desk refuses, each with a sentence for the person who sees it."""

from __future__ import annotations

from typing import Final

from pipeline.errors import GraderError
from pipeline.types import Fault, Owner

__all__ = ["CODES", "DeskError"]

#: Every refusal by its code, with the HTTP status that says the same.
CODES: Final[dict[str, int]] = {
    "unknown": 404,  # no such item, account or record
    "forbidden": 403,  # this role or person may not
    "not_held": 409,  # somebody else has it, or nobody
    "lease_lost": 409,  # it was released meanwhile; the draft is kept
    "stale_revision": 409,  # another window saved after this one
    "stale_rubric": 409,  # the rubric is not the one the form was made from
    "already_committed": 409,  # blind assessments are for good
    "not_committed": 409,  # the final one comes after the blind one
    "already_decided": 409,  # the grade is out
    "too_late": 409,  # the time to undo has passed
    "incomplete": 422,  # answers are missing or wrong; the message lists them
    "invalid": 422,  # a value is out of bounds
    "paused": 409,  # a lead keeps new items back
    "too_many": 429,  # a limit on what may wait or be asked for is reached
}


class DeskError(GraderError):
    """Something the desk does not do; nothing was changed.

    Attributes:
        code: A key of `CODES`.
    """

    def __init__(self, code: str, message: str, remedy: str, *, where: str = "") -> None:
        super().__init__(
            Fault(owner=Owner.ENVIRONMENT, code=code, message=message, where=where, remedy=remedy)
        )
        self.code = code

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        return CODES[self.code]
