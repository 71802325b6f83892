"""Splits of labels: what a label may be used for, and a record of what it was used for.

A judge, a prompt or a calibrator that was picked on some labels looks better on them than it is: a
certificate that rests on the same ones promises too much. So every submission is given to one split once,
for all versions of a rubric, and every use is kept: what was used to choose or to fit never certifies. How
often a scope was tested is counted too, because what is tested until it passes proves nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, get_args

from pipeline.errors import GraderError
from pipeline.review.chances import chance_of, load_secret
from pipeline.review.labels import Label
from pipeline.review.rubric_succession import rubric_root
from pipeline.store import Store
from pipeline.types import Fault, Frozen, Owner, Purpose, Rubric, Scope, Split, hash_text

__all__ = ["SHARES", "Assignment", "LabelUse", "Look", "Splits", "Thinned", "hash_labels", "root_of"]

#: Of submissions; choosing takes little, and the report's are looked at by nobody else.
SHARES: Final[Mapping[Split, float]] = {"choose": 0.10, "fit": 0.40, "certify": 0.35, "report": 0.15}

_SPLITS: Final[tuple[Split, ...]] = get_args(Split)
_ASSIGNMENTS: Final = "label_split"
_USES: Final = "label_use"


class Assignment(Frozen):
    """To which split a submission belongs, for good."""

    family: str
    """Id of the rubric, whatever its version."""
    submission_id: str
    split: Split
    at: datetime


class LabelUse(Frozen):
    """That labels were used."""

    scope: str
    """Content hash of the scope they were used for, with the oldest rubric that says the same."""
    family: str
    split: Split
    """What for."""
    labels: str
    """Content hash of the labels."""
    count: int
    submissions: tuple[str, ...]
    at: datetime
    under: Scope | None = None
    """The scope itself: which others mean the same can change. None where an earlier release kept the use."""
    test: str = ""
    """Content hash of what was tested."""
    share: float = 0.0
    """Share of delta that it took."""

    @property
    def order(self) -> tuple[datetime, str]:
        """Where it comes among others; no two are at one place."""
        return (self.at, self.content_hash())


class Look(NamedTuple):
    """Where a test stands among all of its scope."""

    number: int
    """Counted from 1."""
    spent: float
    """Share of delta that earlier ones took, under whichever policies."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """A random sample in which everything had the same probability.

    Attributes:
        labels: The labels of what is left.
        probability: With which each grading is among them; None where nothing is.
        thinned: Gradings that a hash took out, to make the others equal.
        unknown: Gradings of which no single probability is known: they are no random sample.
    """

    labels: list[Label]
    probability: float | None
    thinned: int
    unknown: int


class Splits:
    """The splits of one store.

    Args:
        store: Where assignments and uses are kept.
        shares: Of each split among submissions that are assigned from now on; those that are known stay.
        clock: For tests.

    Raises:
        ValueError: If the shares are not four of at least 0 that sum to 1.
    """

    def __init__(
        self,
        store: Store,
        shares: Mapping[Split, float] = SHARES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if (
            set(shares) != set(_SPLITS)
            or min(shares.values()) < 0
            or not math.isclose(sum(shares.values()), 1)
        ):
            raise ValueError(f"{dict(shares)} are no shares of {', '.join(_SPLITS)} that sum to 1")
        self._store = store
        self._clock = clock
        self._secret = load_secret(store)
        self._bounds = list(itertools.accumulate(shares[split] for split in _SPLITS))

    def assign(self, submission_ids: Iterable[str], rubric: str) -> dict[str, Split]:
        """Return to which split each submission belongs; new ones are assigned and kept first.

        The same code handed in twice, such as alone and within a model's response, is in one split.

        Args:
            submission_ids: Of submissions in the store.
            rubric: Content hash of any version of the rubric.

        Raises:
            GraderError: If the rubric or a submission is not in the store.
        """
        family = self._family_of(rubric)
        known = {
            assignment.submission_id: assignment.split
            for assignment in self._store.desk.list_records(_ASSIGNMENTS, Assignment)
            if assignment.family == family
        }
        wanted = sorted(set(submission_ids))
        new = [name for name in wanted if name not in known]
        drawn = self._draw(family, new)
        for name in new:
            known[name] = drawn[name]
            kept = Assignment(family=family, submission_id=name, split=known[name], at=self._clock())
            self._store.desk.save_record(_ASSIGNMENTS, hash_text(family, name), kept, wait=False)
        if new:
            self._store.flush()
        return {name: known[name] for name in wanted}

    def use(
        self, labels: Sequence[Label], split: Split, scope: Scope, *, test: str = "", share: float = 0.0
    ) -> list[Label]:
        """Return those of `labels` that may be used for `split` under `scope`, and keep that they were.

        Labels given under another rubric, and those whose submission was lost, are left out. A rubric that
        differs in words only, by a change that a lead signed, is no other.

        Args:
            labels: Any labels.
            split: What they are for.
            scope: The drafts that a prompt, calibrator or certificate is for.
            test: Content hash of what is tested on them, where it is the same whenever it is repeated:
                the very same test again is no second look.
            share: Share of delta that it takes.

        Raises:
            GraderError: ``labels_used`` if `split` is certify and any of them was used to choose or to fit,
                under any scope with this rubric; ``wrong_labels`` if one is said to be of a submission that
                its grading is not of.
        """
        root = root_of(self._store, scope)
        same = {
            sha256: rubric_root(self._store, sha256) == root.rubric
            for sha256 in {label.rubric for label in labels}
        }
        ours = [label for label in labels if same[label.rubric] and label.submission_id]
        self._check_origin(ours)
        assigned = self.assign((label.submission_id for label in ours), scope.rubric)
        usable = [label for label in ours if assigned[label.submission_id] == split]
        family = self._family_of(scope.rubric)
        submissions = sorted({label.submission_id for label in usable})
        uses = self._list_uses()
        if split == "certify":
            self._refuse_used(submissions, family, uses)
        sha256 = root.content_hash()
        if usable:
            at = self._clock()
            use = LabelUse(
                scope=sha256,
                family=family,
                split=split,
                labels=hash_labels(usable),
                count=len(usable),
                submissions=tuple(submissions),
                at=at,
                under=scope,
                test=test,
                share=share,
            )
            key = _key(sha256, split, use.labels, test or f"use {len(uses) + 1} at {at.isoformat()}")
            # The first time stays: a repeated test is the look that it was.
            if self._store.desk.find_record(_USES, key, LabelUse) is None:
                self._store.desk.vouch(_USES, key, use)
        return usable

    def mark_used(self, labels: Iterable[Label], split: Split, scope: Scope) -> None:
        """Keep that labels were used outside of their split, such as all of them to compare two prompts.

        Raises:
            GraderError: If the rubric of `scope` is not in the store.
        """
        used = list(labels)
        use = LabelUse(
            scope=root_of(self._store, scope).content_hash(),
            family=self._family_of(scope.rubric),
            split=split,
            labels=hash_labels(used),
            count=len(used),
            submissions=tuple(sorted({label.submission_id for label in used})),
            at=self._clock(),
            under=scope,
        )
        self._store.desk.vouch(_USES, use.content_hash(), use)

    def count_looks(self, scope: Scope) -> int:
        """Return how many times labels were used to certify under `scope`."""
        return len(self._list_looks(root_of(self._store, scope)))

    def place_look(self, labels: Iterable[Label], scope: Scope, *, test: str) -> Look:
        """Return which look under `scope` it is to test the same on the same labels.

        One that was taken before keeps its place; nothing is looked at here.
        """
        root = root_of(self._store, scope)
        key = _key(root.content_hash(), "certify", hash_labels(labels), test)
        known = self._store.desk.find_record(_USES, key, LabelUse)
        earlier = [use for use in self._list_looks(root) if known is None or use.order < known.order]
        return Look(len(earlier) + 1, math.fsum(use.share for use in earlier))

    def group_copies(self, submission_ids: Iterable[str]) -> dict[str, str]:
        """Return, by submission, what all copies of its code share: as they do their split."""
        return {
            submission.id: hash_text(submission.task_id, submission.code or submission.id)
            for submission in self._store.drafts.read_submissions(submission_ids)
        }

    def thin(self, labels: Iterable[Label]) -> Thinned:
        """Return a sample of equal probability: what was drawn with more is kept with smallest / its own.

        A hash of the desk's secret decides, the same way every time. A grading that chance did not draw from
        the whole stream is no sample of it, nor is one whose labels say different probabilities.
        """
        by_grading: dict[str, list[Label]] = defaultdict(list)
        for label in labels:
            by_grading[label.grading_id].append(label)
        drawn = {name: _probability_of(group) for name, group in by_grading.items() if name}
        known = {name: probability for name, probability in drawn.items() if probability is not None}
        smallest = min(known.values(), default=None)
        kept = [
            name
            for name, probability in known.items()
            if smallest is not None and chance_of(self._secret, "thin", name) < smallest / probability
        ]
        return Thinned(
            labels=[label for name in kept for label in by_grading[name]],
            probability=smallest,
            thinned=len(known) - len(kept),
            unknown=len(by_grading) - len(known),
        )

    def _draw(self, family: str, submission_ids: Sequence[str]) -> dict[str, Split]:
        found = {
            # What was refused at the door has no code, and is like nothing else.
            submission.id: chance_of(
                self._secret, _ASSIGNMENTS, family, submission.task_id, submission.code or submission.id
            )
            for submission in self._store.drafts.read_submissions(submission_ids)
        }
        lost = next((name for name in submission_ids if name not in found), None)
        if lost is not None:
            raise _refuse(
                "wrong_labels", f"labels are of submission {lost}, which is not here", "import them here"
            )
        return {name: self._place(drawn) for name, drawn in found.items()}

    def _place(self, drawn: float) -> Split:
        """Return the split in whose share a number of 0..1 falls."""
        return next(
            (split for split, bound in zip(_SPLITS, self._bounds, strict=True) if drawn < bound), _SPLITS[-1]
        )

    def _family_of(self, rubric: str) -> str:
        document = self._store.find_document(rubric)
        if document is None or document.kind != "rubric":
            raise _refuse(
                "unknown_rubric", f"the rubric {rubric[:12]} is not in the store", "grade with it first"
            )
        return Rubric.model_validate_json(document.text).id

    def _check_origin(self, labels: Iterable[Label]) -> None:
        of = {line.grading_id: line.submission_id for line in self._store.list_gradings()}
        for label in labels:
            if of.get(label.grading_id) != label.submission_id:
                raise _refuse(
                    "wrong_labels",
                    f"a label says that grading {label.grading_id} is of submission {label.submission_id},"
                    " the store does not",
                    "use labels as the store gives them",
                )

    def _refuse_used(self, submissions: Iterable[str], family: str, uses: Iterable[LabelUse]) -> None:
        spent: set[str] = set()
        for use in uses:
            if use.family == family and use.split in ("choose", "fit"):
                spent.update(use.submissions)
        again = [name for name in submissions if name in spent]
        if again:
            raise _refuse(
                "labels_used",
                f"labels of {len(again)} submissions, such as {again[0]}, were used to choose or to fit"
                f" a judge of {family} and cannot certify one",
                "certify on labels of submissions that nothing was chosen or fitted on",
            )

    def _list_looks(self, root: Scope) -> list[LabelUse]:
        sha256 = root.content_hash()
        return [
            use
            for use in self._list_uses()
            if use.split == "certify"
            # A scope that means the same since a lead signed it was tested under its own name.
            and (use.scope == sha256 or (use.under is not None and root_of(self._store, use.under) == root))
        ]

    def _list_uses(self) -> list[LabelUse]:
        return self._store.desk.list_records(_USES, LabelUse)


def root_of(store: Store, scope: Scope) -> Scope:
    """Return the scope that stands for `scope` and all whose rubrics differ from its own in words only."""
    return scope.model_copy(update={"rubric": rubric_root(store, scope.rubric)})


def hash_labels(labels: Iterable[Label]) -> str:
    """Return a hash of what labels say, whatever their order."""
    return hash_text(*sorted(label.content_hash() for label in labels))


def _probability_of(group: Sequence[Label]) -> float | None:
    """Return with which chance a grading came into the sample, or None where that is not known."""
    # Second places are drawn among reviews: that chance says nothing of how the submission was drawn.
    said = {label.calibration for label in group if label.purpose in (None, Purpose.FIRST)} - {None}
    (only,) = said if len(said) == 1 else (None,)
    return only


def _key(scope: str, split: Split, labels: str, test: str) -> str:
    return hash_text(scope, split, labels, test)


def _refuse(code: str, message: str, remedy: str) -> GraderError:
    return GraderError(Fault(owner=Owner.ENVIRONMENT, code=code, message=message, remedy=remedy))
