"""A submission: the code of one author for one task."""

from __future__ import annotations

from pydantic import Field

from pipeline.types.fault import Fault
from pipeline.types.model import Frozen, hash_text
from pipeline.types.verdict import Verdict

__all__ = ["Admission", "Submission"]


class Admission(Frozen):
    """Why a submission was turned away at the door."""

    verdict: Verdict
    fault: Fault


class Submission(Frozen):
    """What was handed in. The same bytes for the same task are the same submission."""

    id: str
    task_id: str
    code: str
    """The kernel source; empty when it was refused at admission."""
    received: str = ""
    """The whole model response, where the code was taken out of one; kept for the reader."""
    refusal: Admission | None = None
    expected: Verdict | None = Field(default=None, exclude=True)
    """The verdict that the task's own solutions declare; never part of its identity, never stored with it."""

    @staticmethod
    def identify(task_id: str, content: bytes) -> str:
        """Return the id of a submission of `content` to task `task_id`."""
        return "s-" + hash_text(task_id, content)[:16]
