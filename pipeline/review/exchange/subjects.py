"""Which grading a row speaks of: it names a review, a grading, or a submission in one of several ways."""

from __future__ import annotations

import bisect
import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pipeline.errors import GraderError
from pipeline.judge.scoring import score_checks
from pipeline.library.rubrics import load_rubric
from pipeline.review.exchange.answers import Refused
from pipeline.review.rubric_succession import rubric_root
from pipeline.store import GradingSummary, Store
from pipeline.types import Inspection, Rubric

__all__ = ["Subject", "Subjects"]

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = re.compile(r"([a-z][a-z0-9_]*)[ @/](v\d+)")
#: A shorter beginning of an id is more likely a slip than a name.
_SHORTEST: Final = 6
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a label is about.

    Attributes:
        review_id: The review that was named; empty where none was.
        grading_id: The grading: that which was named, or the submission's newest under the rubric.
        submission_id: Its submission.
        task_id: Its task.
        rubric_hash: Content hash of the rubric that the row names.
        rubric: That rubric.
        is_current: Whether the grading is judged by it, or by one that means the same.
    """

    review_id: str
    grading_id: str
    submission_id: str
    task_id: str
    rubric_hash: str
    rubric: Rubric
    is_current: bool


@dataclass
class Subjects:
    """Finds them in one store; reads what it needs once, so keep it for one file."""

    store: Store
    _rubrics: dict[str, Rubric | None] = field(default_factory=dict)
    _published: dict[tuple[str, str], Rubric | None] = field(default_factory=dict)
    _judged_by: dict[str, str] = field(default_factory=dict)
    _settled: dict[str, frozenset[str]] = field(default_factory=dict)

    def find(self, *, review: str, grading: str, submission: str, rubric: str) -> Subject:
        """Return the subject of a row; of names that are empty or unknown here the others decide.

        Raises:
            Refused: If nothing that is named is known, names contradict each other, or the rubric is unknown.
        """
        review_id = _complete(review, self._review_ids)
        named = [self._reviewed[review_id]] if review_id is not None else []
        named += filter(None, (_complete(grading, self._grading_ids),))
        submissions = {self._graded[name][0] for name in named}
        if submission:
            found = self._find_submission(submission, must_exist=not named)
            submissions |= {found} if found is not None else set()
        if not submissions:
            shown = review or grading
            raise Refused(f"nothing here is called {shown[:80]!r}" if shown else "it names no submission")
        if len(submissions) > 1 or len(set(named)) > 1:
            raise Refused("what it names belongs to different submissions or gradings")
        candidates = named[:1] or self._gradings[submissions.pop()]
        chosen, sha256 = self._choose(candidates, rubric.strip())
        known = self.rubric(sha256)
        assert known is not None
        submission_id, task_id = self._graded[chosen]
        is_current = rubric_root(self.store, self._rubric_of(chosen)) == rubric_root(self.store, sha256)
        return Subject(review_id or "", chosen, submission_id, task_id, sha256, known, is_current)

    def rubric(self, sha256: str) -> Rubric | None:
        """Return the rubric with that content hash, from the store."""
        if sha256 not in self._rubrics:
            document = self.store.find_document(sha256)
            is_rubric = document is not None and document.kind == "rubric"
            self._rubrics[sha256] = (
                Rubric.model_validate_json(document.text) if document is not None and is_rubric else None
            )
        return self._rubrics[sha256]

    def is_settled(self, subject: Subject, criterion: str) -> bool:
        """Whether a check settled `criterion`, so that no person is asked."""
        if all(known.check is None for known in subject.rubric.criteria if known.id == criterion):
            return False
        key = f"{subject.grading_id} {subject.rubric_hash}"
        if key not in self._settled:
            stage = self.store.list_stages(subject.grading_id).get("inspect")
            record = self.store.find_stage("inspect", stage) if stage is not None else None
            inspection = Inspection.model_validate_json(record.output) if record is not None else None
            scores = (
                score_checks(subject.rubric, inspection.reports, inspection.facts)
                if inspection is not None
                else ()
            )
            self._settled[key] = frozenset(score.criterion for score in scores if score.level is not None)
        return criterion in self._settled[key]

    def _choose(self, candidates: list[str], named: str) -> tuple[str, str]:
        if not named:
            raise Refused("it names no rubric; write its id and version, or its hash")
        version = _VERSION.fullmatch(named)
        if version is None and not _HASH.fullmatch(named):
            raise Refused(f"{named[:80]!r} is no rubric; write its id and version, or its hash")
        for grading_id in candidates:
            sha256 = self._rubric_of(grading_id)
            judged_by = self.rubric(sha256)
            if judged_by is None:
                continue
            if sha256 == named or (version and (judged_by.id, judged_by.version) == version.groups()):
                return grading_id, sha256
        if version is None:
            sha256 = named
            if self.rubric(sha256) is None:
                raise Refused(f"no rubric with the hash {named[:12]} is in this database")
        else:
            rubric = self._load_published(*version.groups())
            if rubric is None:
                raise Refused(f"no rubric {named} was published here")
            sha256 = rubric.content_hash()
            self._rubrics[sha256] = rubric
        root = rubric_root(self.store, sha256)
        same = (name for name in candidates if rubric_root(self.store, self._rubric_of(name)) == root)
        return next(same, candidates[0]), sha256

    def _load_published(self, name: str, version: str) -> Rubric | None:
        if (name, version) not in self._published:
            try:
                self._published[name, version] = load_rubric(name, version)
            except GraderError:
                self._published[name, version] = None
        return self._published[name, version]

    def _rubric_of(self, grading_id: str) -> str:
        if grading_id not in self._judged_by:
            self._judged_by[grading_id] = self.store.load_grading(grading_id).fingerprint.rubric
        return self._judged_by[grading_id]

    def _find_submission(self, name: str, *, must_exist: bool) -> str | None:
        known = (
            self._by_code.get(name.lower(), set())
            if _HASH.fullmatch(name.lower())
            else self._by_origin.get(name, set())
        )
        if len(known) > 1:
            raise Refused(
                f"{name[:80]!r} is {len(known)} submissions; give an id: {', '.join(sorted(known)[:5])}"
            )
        if known:
            return next(iter(known))
        found = _complete(name, self._submission_ids)
        if found is None and must_exist:
            raise Refused(f"no submission here has the id, path or code {name[:80]!r}")
        return found

    @cached_property
    def _graded(self) -> dict[str, tuple[str, str]]:
        return {line.grading_id: (line.submission_id, line.task_id) for line in self._lines}

    @cached_property
    def _lines(self) -> list[GradingSummary]:
        return self.store.list_gradings()

    @cached_property
    def _gradings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for line in self._lines:
            found[line.submission_id].append(line.grading_id)
        return found

    @cached_property
    def _grading_ids(self) -> list[str]:
        return sorted(self._graded)

    @cached_property
    def _submission_ids(self) -> list[str]:
        return sorted(self._gradings)

    @cached_property
    def _reviewed(self) -> dict[str, str]:
        items = (item.review for _, item in self.store.desk.list_items())
        return {review.id: review.grading_id for review in items if review.grading_id in self._graded}

    @cached_property
    def _review_ids(self) -> list[str]:
        return sorted(self._reviewed)

    @cached_property
    def _by_origin(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for line in self._lines:
            if line.origin:
                found[line.origin].add(line.submission_id)
        return dict(found)

    @cached_property
    def _by_code(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for name in self._submission_ids:
            submission = self.store.load_submission(name)
            code = submission.code.encode()
            for handed_in in filter(None, (code, _BYTE_ORDER_MARK + code, submission.received.encode())):
                found[hashlib.sha256(handed_in).hexdigest()].add(name)
        return dict(found)


def _complete(name: str, ids: list[str]) -> str | None:
    """Return the one of sorted `ids` that is `name` or begins with it, or None."""
    if not name:
        return None
    first = bisect.bisect_left(ids, name)
    begun = [found for found in ids[first : first + 2] if found.startswith(name)]
    if not begun or begun[0] == name:
        return begun[0] if begun else None
    if len(name) < _SHORTEST:
        return None
    if len(begun) > 1:
        raise Refused(f"{name[:80]!r} is the beginning of several ids: {', '.join(begun)}, ...")
    return begun[0]
