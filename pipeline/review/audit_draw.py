"""Audits: of the grades that stand alone a random share is reviewed nevertheless, with a known probability.

Without them nobody could say how often a grade that no person looked at is wrong.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pipeline.review.chances import chance_of
from pipeline.store import Store
from pipeline.types import Frozen, Review, hash_text

__all__ = ["AuditCursor", "AuditDraw", "open_audit"]

_REASON: Final = "its grade stands alone, and chance chose it to be looked at"


class AuditCursor(Frozen):
    """Up to which grade chance was asked: each is asked about once, at the rate of its day."""

    after: int = 0


class AuditDraw:
    """Draws audits from one store.

    Args:
        store: Where grades are, and reviews are opened.
        secret: Decides: the same grading is chosen for ever, and nobody can tell which will be.
    """

    def __init__(self, store: Store, secret: str) -> None:
        self._store = store
        self._secret = secret
        cursor = store.desk.find_record("audits", "desk", AuditCursor)
        self._after = cursor.after if cursor else 0

    def draw(self, rate: float, now: datetime) -> list[Review]:
        """Open an audit for each new grade that stands alone and that chance chooses.

        What a certificate accepted was drawn when it was routed, and is not asked about again.
        """
        accepted = self._store.desk.list_accepted(self._after)
        if not accepted:
            return []
        chosen = [
            open_audit(summary.grading_id, now, probability=rate)
            for _, summary in accepted
            if chance_of(self._secret, "audit", summary.grading_id) < rate
            and not self._is_certified(summary.grading_id)
        ]
        for review in chosen:
            self._store.open_review(review)
        self._after = max(number for number, _ in accepted)
        # After the reviews: what is asked about again after a crash is chosen again, and opened once.
        self._store.desk.save_record("audits", "desk", AuditCursor(after=self._after))
        return chosen

    def _is_certified(self, grading_id: str) -> bool:
        grade = self._store.load_grade(grading_id)
        return grade is not None and grade.decided_by == "certificate"


def open_audit(
    grading_id: str, now: datetime, *, probability: float, calibration: float | None = None
) -> Review:
    """Return the audit of a grading.

    Args:
        grading_id: Of a grading whose grade stands alone.
        now: When it comes to the queue.
        probability: With which chance drew it.
        calibration: The same where it was drawn to calibrate on, among all gradings and not only those that
            stand alone.
    """
    return Review(
        id=_audit_id_of(grading_id),
        grading_id=grading_id,
        reason=_REASON,
        opened_at=now,
        kind="audit",
        probability=probability,
        calibration=calibration,
    )


def _audit_id_of(grading_id: str) -> str:
    """Return the id of the audit of a grading: never that of the review which its route may ask for yet."""
    return "r-" + hash_text("audit", grading_id)[:16]
