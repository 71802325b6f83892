"""Labels: what people said blind, one row per criterion. Statistics use nothing else."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from pipeline.review.board import PlaceId
from pipeline.review.chances import load_secret
from pipeline.review.history import REVIEWS, Follower, Happening, History
from pipeline.store import DeskItem, Store
from pipeline.types import Answer, Committed, Frozen, Purpose, hash_text

__all__ = [
    "FileLabel",
    "ImportedAssessment",
    "Label",
    "Labels",
    "Source",
    "keep_file_labels",
    "keep_imported",
    "read_labels",
]

#: Where a label was given. ``constructed`` ones were given nowhere: a task's author wrote them with its
#: solutions, they are in no store and in no export.
Source = Literal["desk", "label_studio", "argilla", "file", "constructed"]

_KIND: Final = "imported_assessment"
_FILE_KIND: Final = "file_label"


class Label(Frozen):
    """What one person said blind about one criterion of one submission."""

    review_id: str
    """Empty where no person was asked about it here."""
    slot: int | None
    """None where it was given outside the desk."""
    grading_id: str
    """Empty, as task and submission are, where the grading was lost."""
    submission_id: str
    task_id: str
    rubric: str
    """Content hash of the rubric it was given under."""
    criterion: str
    state: Literal["judged", "cannot_judge"]
    level: int | None
    """None where it cannot be judged from the evidence, which is no level and in no mean."""
    reason: str
    rater: str
    source: Source
    purpose: Purpose | None
    """None where it was given outside the desk."""
    sampling: Literal["route", "audit"]
    """``audit``: chance chose the submission among grades that stand alone."""
    probability: float | None
    """With which chance chose this place; None where a rule asked for it."""
    calibration: float | None = Field(default=None, gt=0, le=1)
    """With which chance drew the submission from all that judges drafted, whatever its route; None where it
    is no such sample. It is the only probability that certificates rest on."""
    seconds: float | None
    """Active seconds of the whole assessment, all criteria together."""
    at: datetime

    @property
    def is_independent(self) -> bool:
        """Whether it is a person's own view of a submission of the stream.

        What others said is known to an adjudicator, a gold item's levels to whoever planted it, and a norming
        session is talked about.
        """
        return self.source == "desk" and self.purpose in REVIEWS


class ImportedAssessment(Frozen):
    """What somebody said blind in another program; what a person said last of a review counts."""

    review_id: str
    rater: str = Field(min_length=1, max_length=200)
    source: Source
    answers: dict[str, Answer]
    rubric: str
    """Content hash of the rubric that they were asked by."""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    at: datetime
    imported_by: str
    imported_at: datetime


class FileLabel(Frozen):
    """A label from a file, with where it came from; it is for good, as one that was given at the desk is."""

    grading_id: str
    submission_id: str
    task_id: str
    review_id: str = ""
    """The review that the file named; empty where it named none."""
    rubric: str
    """Content hash of the rubric it was given under, which need not be the grading's."""
    criterion: str
    answer: Answer
    rater: str = Field(min_length=1, max_length=200)
    sampling: Literal["route", "audit"] = "route"
    probability: float | None = Field(default=None, gt=0, le=1)
    """With which chance drew the submission, as the file says."""
    note: str = ""
    at: datetime
    file: str
    """SHA-256 of the file."""
    imported_by: str
    imported_at: datetime

    @property
    def key(self) -> str:
        """Of its record: what one person said of one criterion of a grading under one rubric."""
        return hash_text(self.grading_id, self.rubric, self.criterion, self.rater)


class Labels:
    """The labels of one store.

    Keep one per desk, it reads every event once; any number of threads may use it.
    """

    def __init__(self, store: Store, follower: Follower | None = None) -> None:
        """Read from `store`, whose events `follower` follows."""
        self._store = store
        self._follower = follower or Follower(store)
        self._secret = ""
        self._lock = threading.Lock()
        self._known: dict[PlaceId, tuple[Label, ...]] = {}

    def read(self) -> list[Label]:
        """Return every label: the desk's in the order of commits, then imported ones, then those of files."""
        history = self._follower.read()
        with self._lock:
            for place, done in history.committed.items():
                if place not in self._known and place.review_id in history.items:
                    self._known[place] = _read(done, history)
            found = [
                label
                for place, done in history.committed.items()
                for label in (self._known.get(place) or _read(done, history))
            ]
        imported = self._store.desk.list_records(_KIND, ImportedAssessment)
        found += [label for assessment in imported for label in _read_imported(assessment, history)]
        return found + [_read_file(kept) for kept in self._store.desk.list_records(_FILE_KIND, FileLabel)]

    def hide_rater(self, label: Label) -> Label:
        """Return `label` with a pseudonym for the rater, the same for all labels of one person at one source.

        It is made with the desk's secret: without that, nobody who knows all names can work out who is who.
        """
        if not self._secret:
            self._secret = load_secret(self._store)
        name = "rater-" + hash_text(self._secret, "rater", label.source, label.rater)[:8]
        return label.model_copy(update={"rater": name})


def read_labels(store: Store) -> list[Label]:
    """Return every label in `store`: the desk's in the order of commits, then imported ones."""
    return Labels(store).read()


def keep_imported(store: Store, assessments: list[ImportedAssessment]) -> None:
    """Keep assessments made in another program; on return they are committed, all of them.

    What is known already stays as it is, and so does what the same person said later.
    """
    for assessment in assessments:
        key = hash_text(assessment.source, assessment.review_id, assessment.rater)
        known = store.desk.find_record(_KIND, key, ImportedAssessment)
        if known is None or not (known.at > assessment.at or _is_same(known, assessment)):
            store.desk.save_record(_KIND, key, assessment, wait=False)
    store.flush()


def keep_file_labels(store: Store, labels: list[FileLabel]) -> None:
    """Keep labels that came from a file; on return they are committed, all of them."""
    for label in labels:
        store.desk.save_record(_FILE_KIND, label.key, label, wait=False)
    store.flush()


def _is_same(known: ImportedAssessment, again: ImportedAssessment) -> bool:
    # Where a file holds no times, that of its import stands for them.
    timeless = again.at == again.imported_at
    return (known.answers, known.rubric, known.seconds) == (again.answers, again.rubric, again.seconds) and (
        timeless or known.at == again.at
    )


def _read(done: Happening[Committed], history: History) -> tuple[Label, ...]:
    place, item = done.place, history.items.get(done.place.review_id)
    drawn = item.review.probability if item else None
    opened = history.opened.get(place)
    return tuple(
        _make_label(
            place.review_id,
            item,
            criterion,
            answer,
            slot=place.slot,
            rater=done.actor,
            source="desk",
            purpose=history.purpose_of(place),
            probability=opened.what.probability if opened else drawn,
            rubric=done.what.rubric,
            seconds=done.what.seconds,
            at=done.at,
        )
        for criterion, answer in done.what.assessment.answers.items()
    )


def _read_imported(assessment: ImportedAssessment, history: History) -> tuple[Label, ...]:
    item = history.items.get(assessment.review_id)
    return tuple(
        _make_label(
            assessment.review_id,
            item,
            criterion,
            answer,
            slot=None,
            rater=assessment.rater,
            source=assessment.source,
            purpose=None,
            probability=item.review.probability if item else None,
            rubric=assessment.rubric,
            seconds=assessment.seconds,
            at=assessment.at,
        )
        for criterion, answer in assessment.answers.items()
    )


def _read_file(kept: FileLabel) -> Label:
    return Label(
        review_id=kept.review_id,
        slot=None,
        grading_id=kept.grading_id,
        submission_id=kept.submission_id,
        task_id=kept.task_id,
        rubric=kept.rubric,
        criterion=kept.criterion,
        state="cannot_judge" if kept.answer.level is None else "judged",
        level=kept.answer.level,
        reason=kept.answer.reason,
        rater=kept.rater,
        source="file",
        purpose=None,
        sampling=kept.sampling,
        probability=kept.probability,
        # An audit is drawn among grades that stand alone.
        calibration=kept.probability if kept.sampling == "route" else None,
        seconds=None,
        at=kept.at,
    )


def _make_label(
    review_id: str, item: DeskItem | None, criterion: str, answer: Answer, **given: object
) -> Label:
    return Label.model_validate(
        {
            "review_id": review_id,
            "grading_id": item.review.grading_id if item else "",
            "submission_id": item.submission_id if item else "",
            "task_id": item.task_id if item else "",
            "sampling": item.review.kind if item else "route",
            "calibration": item.review.calibration if item else None,
            "criterion": criterion,
            "state": "cannot_judge" if answer.level is None else "judged",
            "level": answer.level,
            "reason": answer.reason,
            **given,
        }
    )
