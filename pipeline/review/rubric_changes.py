"""What adjudicators say that rubrics should say instead, week by week, for whoever revises them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline.review.history import History
from pipeline.review.timesheets import name_week
from pipeline.types import Rubric

__all__ = ["RubricChange", "list_rubric_changes"]

#: How far back the list goes: what is older was taken up or turned down.
_WEEKS: Final = 8


@dataclass(frozen=True, slots=True)
class RubricChange:
    """One wish.

    Attributes:
        review_id: The review that gave rise to it.
        task_id: Its task.
        rubric: Id and version that it was made under; of one that is lost the hash's beginning.
        at: When it was made.
        text: What the rubric should say.
    """

    review_id: str
    task_id: str
    rubric: str
    at: datetime
    text: str


def list_rubric_changes(
    history: History, rubrics: Mapping[str, Rubric | None], now: datetime
) -> tuple[tuple[str, tuple[RubricChange, ...]], ...]:
    """Return the wishes of the last weeks by the week's name, the newest first."""
    oldest = now - timedelta(weeks=_WEEKS)
    weeks: dict[str, list[RubricChange]] = defaultdict(list)
    for place, done in reversed(list(history.committed.items())):
        if done.at < oldest or not done.what.rubric_change.strip():
            continue
        item, rubric = history.items.get(place.review_id), rubrics.get(done.what.rubric)
        weeks[name_week(done.at.astimezone(UTC).date())].append(
            RubricChange(
                review_id=place.review_id,
                task_id=item.task_id if item else "",
                rubric=f"{rubric.id} {rubric.version}" if rubric else done.what.rubric[:12],
                at=done.at,
                text=done.what.rubric_change,
            )
        )
    return tuple((name, tuple(changes)) for name, changes in weeks.items())
