"""The calibration draw: chance picks gradings for experts to label, whatever becomes of them.

What experts say of the rest is no sample: a route or a person chose it. Only what chance picked, with a known
probability, can certify how often drafts are wrong.
"""

from __future__ import annotations

from typing import Final

from pipeline.review.chances import chance_of, load_secret
from pipeline.store import Store
from pipeline.types import DeskSettings, Destination, Grading, Scope

__all__ = ["CalibrationDraw"]

_DESK: Final = "desk"


class CalibrationDraw:
    """Draws from one stream of gradings.

    A submission has the same chance each time it is graded the same way, so that grading it again, such as
    under another policy, is no second draw.

    Args:
        store: Holds the secret that decides: nobody can tell what will be drawn.
        rate: With which probability anything is drawn.
    """

    def __init__(self, store: Store, rate: float) -> None:
        self._secret = load_secret(store)
        self._rate = rate
        settings = store.desk.find_record("settings", _DESK, DeskSettings) or DeskSettings()
        # Audits of what stands alone are drawn here as well: two draws of one grade would count it twice.
        self._audit_rate = max(rate, settings.audit_rate)

    def draw(self, grading: Grading, destination: Destination) -> float | None:
        """Return with which probability a grading was drawn, or None where it was not."""
        rate = self._audit_rate if destination is Destination.ACCEPT else self._rate
        scope = Scope.of(grading.fingerprint).content_hash()
        drawn = chance_of(self._secret, "calibration", grading.submission_id, scope) < rate
        return rate if drawn else None
