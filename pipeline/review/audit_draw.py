"""Audits: of the grades that stand alone a random share is reviewed nevertheless, with a known probability.

Without them nobody could say how often a grade that no person looked at is wrong.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pipeline.review.chances import chance_of
from pipeline.store import Store
from pipeline.types import Frozen, Review, hash_text

__all__ = ["AuditCursor", "AuditDraw"]

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
        """Open an audit for each new grade that stands alone and that chance chooses."""
        accepted = self._store.desk.list_accepted(self._after)
        if not accepted:
            return []
        chosen = [
            Review(
                id=_audit_id_of(summary.grading_id),
                grading_id=summary.grading_id,
                reason=_REASON,
                opened_at=now,
                kind="audit",
                probability=rate,
            )
            for _, summary in accepted
            if chance_of(self._secret, "audit", summary.grading_id) < rate
        ]
        for review in chosen:
            self._store.open_review(review)
        self._after = max(number for number, _ in accepted)
        # After the reviews: what is asked about again after a crash is chosen again, and opened once.
        self._store.desk.save_record("audits", "desk", AuditCursor(after=self._after))
        return chosen


def _audit_id_of(grading_id: str) -> str:
    """Return the id of the audit of a grading: never that of the review which its route may ask for yet."""
    return "r-" + hash_text("audit", grading_id)[:16]
