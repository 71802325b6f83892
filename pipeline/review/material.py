"""What a review is judged by: its rubric, what checks established, the judge's draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from pipeline.judge.scoring import score_checks
from pipeline.review.errors import DeskError
from pipeline.review.rubric_succession import rubric_root
from pipeline.store import Store
from pipeline.store.records import DeskItem
from pipeline.types import (
    Answer,
    CheckReport,
    Family,
    FeedbackItem,
    Frozen,
    Inspection,
    Judgment,
    Rubric,
    Score,
    Task,
)

__all__ = ["Material", "Settled"]

Model = TypeVar("Model", bound=Frozen)

#: Reviews whose facts are kept at hand.
_AT_HAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Settled:
    """What checks say of one submission.

    Attributes:
        rubric: What it is judged by.
        scores: Levels that checks settled.
        reports: What the checks say.
        line_count: Lines of the code.
    """

    rubric: Rubric
    scores: tuple[Score, ...]
    reports: tuple[CheckReport, ...]
    line_count: int

    @property
    def asked(self) -> tuple[str, ...]:
        """Criteria that a person levels."""
        settled = {score.criterion for score in self.scores}
        return tuple(criterion.id for criterion in self.rubric.criteria if criterion.id not in settled)

    @property
    def answers(self) -> dict[str, Answer]:
        """Levels that checks settled, as answers."""
        return {
            score.criterion: Answer(level=score.level, reason=score.reason[:2000]) for score in self.scores
        }

    @property
    def checks(self) -> frozenset[str]:
        """Checks that somebody can object to."""
        named = (criterion.check for criterion in self.rubric.criteria)
        return frozenset({report.check for report in self.reports} | {name for name in named if name})


class Material:
    """Reads it from the store; what many reviews share is parsed once. Any number of threads may use it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[str, Frozen | None] = {}
        self._settled: dict[tuple[str, str], Settled] = {}
        self._families: dict[str, Family | None] = {}

    def rubric(self, item: DeskItem) -> Rubric:
        """Return the rubric of a review.

        Raises:
            DeskError: ``unknown`` if it is not in the store any more.
        """
        rubric = self._document(item.rubric, Rubric)
        if rubric is None:
            raise DeskError(
                "unknown",
                "the rubric of this review is not in the store",
                "restore the store from a snapshot",
            )
        return rubric

    def means_the_same(self, rubric: str, other: str) -> bool:
        """Whether two content hashes are of one rubric, or of two that a lead signed to differ in words."""
        return rubric == other or rubric_root(self._store, rubric) == rubric_root(self._store, other)

    def settled(self, item: DeskItem) -> Settled:
        """Return what checks settled."""
        # A review that nobody has begun may get the words of a newer version.
        key = item.review.id, item.rubric
        known = self._settled.get(key)
        if known is None:
            known = self._settle(item)
            _remember(self._settled, key, known)
        return known

    def feedback(self, item: DeskItem) -> tuple[FeedbackItem, ...]:
        """Return the feedback as the judge drafted it."""
        draft = self._stage(item, "judge", Judgment)
        return draft.feedback if draft else ()

    def quote(self, item: DeskItem, first: int, last: int) -> str:
        """Return lines of the code, 1-based and inclusive."""
        return "\n".join(self._code(item).split("\n")[first - 1 : last])

    def is_within(self, task_id: str, skills: tuple[str, ...]) -> bool:
        """Whether a task is among `skills`: ids or families of tasks, or all where empty."""
        return not skills or task_id in skills or self._families.get(task_id) in skills

    def learn_family(self, item: DeskItem) -> None:
        """Find out of which family the task of a review is, so that `is_within` need not ask the store."""
        if item.task_id not in self._families:
            grading = self._read(lambda: self._store.load_grading(item.review.grading_id))
            task = self._document(grading.fingerprint.task, Task) if grading else None
            self._families[item.task_id] = task.family if task else None

    def _settle(self, item: DeskItem) -> Settled:
        rubric = self.rubric(item)
        inspection = self._stage(item, "inspect", Inspection)
        reports = inspection.reports if inspection else ()
        facts = inspection.facts if inspection else ()
        scores = tuple(score for score in score_checks(rubric, reports, facts) if score.level is not None)
        code = self._code(item).removesuffix("\n")
        return Settled(rubric, scores, reports, code.count("\n") + 1 if code else 0)

    def _code(self, item: DeskItem) -> str:
        submission = self._read(lambda: self._store.load_submission(item.submission_id))
        return submission.code if submission else ""

    def _stage(self, item: DeskItem, stage: str, kind: type[Model]) -> Model | None:
        key = self._store.list_stages(item.review.grading_id).get(stage)
        record = self._store.find_stage(stage, key) if key is not None else None
        return kind.model_validate_json(record.output) if record else None

    def _document(self, sha256: str, kind: type[Model]) -> Model | None:
        if sha256 not in self._documents:
            document = self._store.find_document(sha256)
            self._documents[sha256] = kind.model_validate_json(document.text) if document else None
        found = self._documents[sha256]
        return found if isinstance(found, kind) else None

    def _read(self, load: Callable[[], Model]) -> Model | None:
        try:
            return load()
        except KeyError:
            return None


def _remember(known: dict[tuple[str, str], Settled], key: tuple[str, str], settled: Settled) -> None:
    while len(known) >= _AT_HAND:
        known.pop(next(iter(known)), None)
    known[key] = settled
