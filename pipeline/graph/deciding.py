"""What is decided about drafts: how far each can be trusted, where it goes, and whether chance draws it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.errors import GraderError
from pipeline.graph.library import Library
from pipeline.graph.work import Work
from pipeline.judge.confidence import state_confidence
from pipeline.review.calibration_draw import CalibrationDraw
from pipeline.review.chances import load_secret
from pipeline.review.pseudonyms import author_to_cover, pseudonym_of
from pipeline.routing.assurance import estimate_draft, read_assurance
from pipeline.routing.certificates import Register
from pipeline.routing.grounds import Assurance
from pipeline.routing.policy import decide_route, is_settled
from pipeline.store import Store
from pipeline.types import BatchItem, Confidence, Grading, Inspection, Judgment, Route, Scope

__all__ = ["Deciding"]


class Deciding:
    """Decides by one policy and by what labels have earned, which is read once per run.

    Args:
        store: Where certificates are kept.
        library: Has the policy.
    """

    def __init__(self, store: Store, library: Library) -> None:
        self._store = store
        self._library = library
        self._assurances: dict[Scope, Assurance] = {}
        self._authors: dict[str, str] = {}
        self._draw: CalibrationDraw | None = None

    def refresh(self) -> None:
        """Take in certificates that came into force or were taken back since they were read."""
        self._assurances.clear()

    def note_sources(self, items: Sequence[BatchItem]) -> None:
        """Take in where kept submissions came from: of any other grading only a declared author is known."""
        declared = self._store.desk.list_authors({item.submission_id for item in items})
        for item in items:
            name = declared.get(item.submission_id, "")
            self._authors[item.grading_id] = author_to_cover(name, item.origin, item.submission_id)

    def assurance_of(self, scope: Scope) -> Assurance:
        """Return what is in force for drafts of `scope`."""
        if scope not in self._assurances:
            self._assurances[scope] = read_assurance(
                Register(self._store), scope, self._library.policy.content_hash(), self._family_of
            )
        return self._assurances[scope]

    def assess(self, work: Work) -> Confidence:
        """Say how far the draft of a grading can be trusted."""
        inspection, draft = work.result("inspect", Inspection), work.result("judge", Judgment)
        calibrator = self._assurance_for(work).calibrator
        probabilities = estimate_draft(calibrator, inspection, draft, work.rubric, work.task.id)
        sha256 = calibrator.content_hash() if calibrator is not None else ""
        return state_confidence(inspection, draft, probabilities, sha256)

    def decide(self, work: Work) -> Route:
        """Decide where a grading goes."""
        assurance = self._assurance_for(work)
        return decide_route(
            work.result("inspect", Inspection),
            work.rubric,
            work.recall("judge", Judgment),
            confidence=work.recall("assess", Confidence),
            policy=self._library.policy,
            assurance=assurance,
            task=work.task.id,
            task_version=work.grading.fingerprint.task,
            author=self._author_of(work.grading) if assurance.certificates else "",
        )

    def draw(self, work: Work, route: Route) -> float | None:
        """Return with which chance a grading was drawn to calibrate on; None where it was not."""
        if is_settled(route):
            return None
        if self._draw is None:
            self._draw = CalibrationDraw(self._store, self._library.policy.calibration_rate)
        return self._draw.draw(work.grading, route.destination)

    def _assurance_for(self, work: Work) -> Assurance:
        """Return what is in force for a grading: nothing where this run would make it otherwise."""
        return self.assurance_of(Scope.of(work.grading.fingerprint)) if work.current else Assurance()

    def _family_of(self, rubric: str) -> str:
        try:
            return self._library.find_rubric(rubric).id
        except GraderError:
            return ""

    def _author_of(self, grading: Grading) -> str:
        author = self._authors.get(grading.id)
        if author is None:
            declared = self._store.desk.list_authors([grading.submission_id])
            author = declared.get(grading.submission_id, grading.submission_id)
        return pseudonym_of(load_secret(self._store), author)
