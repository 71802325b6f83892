"""A grade: what is released to the author."""

from __future__ import annotations

from datetime import datetime

from pipeline.types.fingerprint import Fingerprint
from pipeline.types.judgment import FeedbackItem, OverallGrade, Score
from pipeline.types.model import Frozen
from pipeline.types.verdict import Verdict

__all__ = ["Grade", "Grading"]


class Grading(Frozen):
    """One submission graded under one fingerprint; also the id of its graph thread."""

    id: str
    submission_id: str
    fingerprint: Fingerprint


class Grade(Frozen):
    """The final word on a grading."""

    grading_id: str
    verdict: Verdict
    scores: tuple[Score, ...]
    overall: OverallGrade
    feedback: tuple[FeedbackItem, ...]
    decided_by: str
    """``gates``, ``certificate`` or a reviewer's name."""
    comment: str = ""
    released_at: datetime
