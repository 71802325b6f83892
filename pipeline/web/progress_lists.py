"""The reviews behind a number of the progress page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from pipeline.review.concordance import pair_up
from pipeline.review.history import REVIEWS, Follower, Happening, History
from pipeline.review.labels import Label, Labels
from pipeline.review.progress import AGES
from pipeline.review.rubric_succession import carry_over
from pipeline.store import Store
from pipeline.types import Cause, Committed, Finished, Rubric

__all__ = ["Listed", "ProgressLists", "Side"]

#: Whom a table of agreement compares: people with people, the judge with people, or with imported labels.
Side = Literal["people", "judge", "imported"]


@dataclass(frozen=True, slots=True)
class Listed:
    """One review in a list.

    Attributes:
        review_id: The review.
        task_id: Its task.
        at: When what is counted happened; for one that waits, since when it does.
        words: What is counted of it, such as two levels.
    """

    review_id: str
    task_id: str
    at: datetime
    words: str


class ProgressLists:
    """Lists over one store.

    Any number of threads may use it.
    """

    def __init__(self, store: Store, follower: Follower | None = None) -> None:
        """Read from `store`, whose events `follower` follows."""
        self._store = store
        self._follower = follower or Follower(store)
        self._labels = Labels(store, self._follower)
        self._rubrics: dict[str, str] = {}

    def committed_on(self, day: date) -> list[Listed]:
        """Return the blind assessments of a day (UTC)."""
        history = self._follower.read(items=True)
        return _list_day(history, history.committed.values(), day)

    def finished_on(self, day: date) -> list[Listed]:
        """Return the final assessments of a day (UTC) that stand."""
        history = self._follower.read(items=True)
        return _list_day(history, history.finished.values(), day)

    def waiting(self, age: str, now: datetime) -> list[Listed]:
        """Return what waits for a blind assessment, the longest wait first; of one age, or of any for ""."""
        history = self._follower.read(items=True)
        decided = self._store.desk.list_decided_ids()
        waiting = [
            _list(history, place.review_id, since, "held" if place in history.held else "waiting")
            for place, since in history.list_unassessed()
            if place.review_id not in decided and (not age or _name_age(max(now - since, timedelta())) == age)
        ]
        return sorted(waiting, key=lambda listed: listed.at)

    def changed(self, cause: Cause | None, viewer: str) -> list[Listed]:
        """Return levels of decided reviews that were changed after the judge's were seen, newest first."""
        history = self._follower.read(items=True)
        shown = self._shown_to(viewer, history)
        changed = [
            _list(
                history,
                place.review_id,
                final.at,
                f"{revision.criterion}: {_say(revision.before)} → {_say(revision.after)},"
                f" {revision.cause.value.replace('_', ' ')}",
            )
            for place, final in history.finished.items()
            if place.review_id in shown and history.purpose_of(place) in REVIEWS
            for revision in final.what.revisions
            if revision.before != revision.after and cause in (None, revision.cause)
        ]
        return sorted(changed, key=lambda listed: listed.at, reverse=True)

    def compared(
        self,
        side: Side,
        rubric: str,
        criterion: str,
        levels: tuple[int, int] | None,
        viewer: str,
    ) -> list[Listed]:
        """Return the decided reviews of a table of agreement, or of its one cell with these two levels."""
        history = self._follower.read(items=True)
        shown = self._shown_to(viewer, history)
        labels = [
            label
            for label in carry_over(self._store, self._labels.read())
            if label.criterion == criterion
            and label.review_id in shown
            and (label.source != "desk" if side == "imported" else label.is_independent)
            and self._name_rubric(label.rubric) == rubric
        ]
        pairs = _pair_people(labels) if side == "people" else self._pair_judge(labels)
        names = ("first", "second") if side == "people" else ("judge", "person")
        return [
            _list(history, label.review_id, label.at, f"{names[0]} {one}, {names[1]} {other}")
            for label, one, other in pairs
            if levels in (None, (one, other))
        ]

    def audited(self, viewer: str) -> list[Listed]:
        """Return the decided audits that were assessed."""
        history = self._follower.read(items=True)
        shown = self._shown_to(viewer, history)
        return [
            _list(history, place.review_id, done.at, "audit")
            for place, done in history.committed.items()
            if place.review_id in shown
            and history.items[place.review_id].review.kind == "audit"
            and place.slot == 0
        ]

    def _shown_to(self, viewer: str, history: History) -> set[str]:
        """Return the decided reviews that `viewer` is not about to assess."""
        at_it = {
            place.review_id
            for place, claim in history.held.items()
            if claim.actor == viewer and place not in history.committed
        }
        return (self._store.desk.list_decided_ids() & history.items.keys()) - at_it

    def _pair_judge(self, labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
        labels = [label for label in labels if label.level is not None]
        drafts = {
            (draft.grading_id, draft.criterion): draft.level
            for draft in self._store.list_draft_levels(sorted({label.grading_id for label in labels}))
            if draft.level is not None and not draft.source.startswith("check:")
        }
        for label in labels:
            drafted = drafts.get((label.grading_id, label.criterion))
            if drafted is not None and label.level is not None:
                yield label, drafted, label.level

    def _name_rubric(self, sha256: str) -> str:
        if sha256 not in self._rubrics:
            document = self._store.find_document(sha256)
            known = Rubric.model_validate_json(document.text) if document else None
            self._rubrics[sha256] = f"{known.id} {known.version}" if known else sha256[:12]
        return self._rubrics[sha256]


def _list_day(
    history: History, happenings: Iterable[Happening[Committed] | Happening[Finished]], day: date
) -> list[Listed]:
    return [
        _list(history, done.place.review_id, done.at, "")
        for done in happenings
        if done.at.astimezone(UTC).date() == day
    ]


def _list(history: History, review_id: str, at: datetime, words: str) -> Listed:
    item = history.items.get(review_id)
    return Listed(review_id, item.task_id if item else "", at, words)


def _pair_people(labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
    for first, second in pair_up(labels):
        if first.level is not None and second.level is not None:
            yield second, first.level, second.level


def _name_age(age: timedelta) -> str:
    return next(name for name, limit in AGES if age < limit)


def _say(level: int | None) -> str:
    return "cannot judge" if level is None else str(level)
