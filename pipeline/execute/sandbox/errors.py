"""The fault of a machine that cannot confine a job."""

from __future__ import annotations

from pipeline.errors import GraderError
from pipeline.types.fault import Fault, Owner

__all__ = ["SandboxError"]


class SandboxError(GraderError):
    """The sandbox itself failed; nothing is known about the job, and its author is not to blame."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(
            Fault(owner=Owner.ENVIRONMENT, code="sandbox", where="sandbox", message=message, remedy=remedy)
        )
