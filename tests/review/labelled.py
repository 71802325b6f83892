"""Reviews of the small desk's rubric with drafts, and people who answer them, straight as events."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pipeline.store import StageRecord, Store
from pipeline.types import (
    Account,
    Action,
    Answer,
    Assessment,
    Committed,
    DeskEvent,
    Finished,
    Judgment,
    OverallGrade,
    Purpose,
    Review,
    Revision,
    Score,
    SlotOpened,
)
from tests.review.desk_examples import HASH, NOON, add_graded

__all__ = ["Teller", "add_review", "answer"]


def add_review(
    store: Store,
    name: str,
    *,
    kind: Literal["route", "audit"] = "route",
    probability: float | None = None,
    opened_at: datetime = NOON,
    **judge: int | None,
) -> str:
    """Keep a review whose draft gives these levels, and return its id."""
    add_graded(store, name)
    scores = [Score(criterion="correct", level=4, source="check:correct", reason="all cases agree")]
    scores += [
        Score(criterion=criterion, level=level, source="judge", reason="it reads so")
        for criterion, level in judge.items()
    ]
    draft = Judgment(
        judge="j 1",
        scores=tuple(scores),
        overall=OverallGrade(value=None, passed=None, reason="draft", scored_weight=1.0),
    )
    store.record_stage(
        StageRecord(
            stage="judge",
            key=f"draft-{name}",
            output=draft.model_dump_json(),
            seconds=0.1,
            scores=draft.scores,
        )
    )
    store.link_stages(f"g-{name}", {"judge": f"draft-{name}"})
    store.open_review(
        Review(
            id=f"r-{name}",
            grading_id=f"g-{name}",
            reason="chance",
            opened_at=opened_at,
            kind=kind,
            probability=probability,
        )
    )
    store.flush()
    return f"r-{name}"


def answer(**levels: int | None) -> Assessment:
    """Return an assessment with these levels; None cannot be judged."""
    return Assessment(
        answers={
            name: Answer(level=level, reason="" if level is not None else "out of sight")
            for name, level in levels.items()
        }
    )


class Teller:
    """Tells a store what happened at the desk, event by event."""

    def __init__(self, store: Store, at: datetime = NOON) -> None:
        self._store, self._count = store, 0
        self.at = at
        self._events: list[DeskEvent] = []

    def tell(self, account: Account, name: str, action: Action, slot: int = 0) -> None:
        self._count += 1
        self._events.append(
            DeskEvent(
                id=f"e-{self._count}",
                review_id=f"r-{name}",
                slot=slot,
                actor=account.name,
                at=self.at,
                action=action,
            )
        )

    def open(
        self, account: Account, name: str, slot: int, purpose: Purpose, chance: float | None = None
    ) -> None:
        self.tell(account, name, SlotOpened(purpose=purpose, probability=chance), slot)

    def commit(
        self, account: Account, name: str, slot: int = 0, seconds: float = 60, **levels: int | None
    ) -> None:
        self.tell(account, name, Committed(assessment=answer(**levels), rubric=HASH, seconds=seconds), slot)

    def finish(
        self,
        account: Account,
        name: str,
        slot: int = 0,
        seconds: float = 30,
        revisions: tuple[Revision, ...] = (),
        **levels: int | None,
    ) -> None:
        self.tell(
            account, name, Finished(assessment=answer(**levels), revisions=revisions, seconds=seconds), slot
        )

    def keep(self) -> None:
        """Keep what was told since, in one go."""
        self._store.desk.record(self._events)
        self._events = []
