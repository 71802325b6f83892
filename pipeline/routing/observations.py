"""Observations: what a judge drafted in one scope, and what experts said of it, one submission each.

The population is what a policy may accept on a draft: what a hard rule settles, such as a gate that facts
closed, never asks for a certificate and is left out, as is what a judge failed at. Gradings of one submission
that differ in what follows a draft alone are one observation, or labels would count twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import GraderError
from pipeline.judge.features import read_features
from pipeline.review.chances import load_secret
from pipeline.review.labels import Label
from pipeline.review.pseudonyms import author_to_cover, pseudonym_of
from pipeline.review.rubric_succession import rubric_root
from pipeline.routing.grounds import Grounds
from pipeline.routing.hard_rules import HARD_RULES
from pipeline.routing.reference import Opinion, form_opinion, is_far, is_wrong, rank_reviewers
from pipeline.routing.splits import root_of
from pipeline.store import DraftPlace, Store
from pipeline.types import (
    GRADE,
    Fault,
    Inspection,
    Judgment,
    Loss,
    Owner,
    Purpose,
    RoutingPolicy,
    Rubric,
    Scope,
)

__all__ = ["Observations", "Unit", "observe", "read_scopes"]

_Array = NDArray[np.float64]

_NO_DRAFT: Final = "nothing was drafted"
_NO_LEVEL: Final = "the judge gave no level"


@dataclass(frozen=True, slots=True)
class Unit:
    """One submission as a judge drafted it.

    Attributes:
        submission_id: Which.
        grading_id: The earliest grading in the scope that was labelled; without one the newest.
        task: Id of the task: errors of one task are alike.
        task_version: Its content hash.
        author: Pseudonym of the author.
        levels: The judge's own; None where it gave none. What checks settled is not among them.
        value: The draft's grade.
        passed: The draft's pass or fail.
        features: By criterion and under `GRADE`, of shape (d,), as if no label of the task were known.
        first: What the first reviewer said; None where nobody did.
        second: What another said, blind as well.
        wrong: By criterion and under `GRADE`, whether the draft is wrong beside the first reviewer; where
            either said nothing there is no entry.
        experts_differ: Likewise, whether the second reviewer is wrong beside the first.
        labels: The first reviewer's.
        constructed: Whether these are made up.
    """

    submission_id: str
    grading_id: str
    task: str
    task_version: str
    author: str
    levels: Mapping[str, int | None]
    value: float | None
    passed: bool | None
    features: Mapping[str, _Array]
    first: Opinion | None = None
    second: Opinion | None = None
    wrong: Mapping[str, bool] = field(default_factory=dict)
    experts_differ: Mapping[str, bool] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()
    constructed: bool = False


@dataclass(frozen=True, slots=True)
class Observations:
    """All that one scope drafted.

    Attributes:
        scope: Which.
        rubric: What its drafts are judged by.
        units: By submission.
        left_out: Submissions that are no part of the population, by the reason in words.
        labels_left_out: Labels that are used for nothing, by the reason in words.
        unjudged: Labels of first reviewers that say it cannot be judged; they are in no figure.
    """

    scope: Scope
    rubric: Rubric
    units: tuple[Unit, ...]
    left_out: Mapping[str, int]
    labels_left_out: Mapping[str, int]
    unjudged: int

    @property
    def labelled(self) -> list[Unit]:
        """Units that a first reviewer said something of."""
        return [unit for unit in self.units if unit.first is not None]

    @property
    def labels(self) -> list[Label]:
        """The labels of all first reviewers."""
        return [label for unit in self.units for label in unit.labels]

    @property
    def criteria(self) -> list[str]:
        """Criteria that the judge gave a level in any draft, in the rubric's order."""
        found = {name for unit in self.units for name in unit.features}
        return [criterion.id for criterion in self.rubric.criteria if criterion.id in found]

    def select(self, labels: Iterable[Label]) -> list[Unit]:
        """Return the units that `labels`, such as those of one split, are of."""
        wanted = {label.submission_id for label in labels}
        return [unit for unit in self.units if unit.submission_id in wanted]


def read_scopes(store: Store) -> list[Scope]:
    """Return the scopes that drafts were made in, the one that was graded in last first.

    Of scopes whose rubrics differ in words only, the one that was graded in last stands for all.
    """
    found: dict[Scope, Scope] = {}
    for place in reversed(store.drafts.list_places()):
        if place.judgment is not None:
            scope = Scope.of(place.made)
            found.setdefault(root_of(store, scope), scope)
    return list(found.values())


def observe(store: Store, scope: Scope, labels: Iterable[Label], policy: RoutingPolicy) -> Observations:
    """Return what was drafted in `scope`, with what experts said of it.

    A label counts for every draft of its submission, whichever judge's, as it was given blind: its rubric has
    to say the same and the version of the task to be the same.

    Args:
        store: Only read, but for the desk's secret.
        scope: Of the drafts.
        labels: Any; constructed ones only where these are wanted.
        policy: Says what is wrong, and which drafts no certificate would let stand.

    Raises:
        GraderError: If the rubric of `scope` is not in the store.
    """
    rubric = _load_rubric(store, scope.rubric)
    root = root_of(store, scope)
    places = store.drafts.list_places()
    given, labels_left_out = _sort_labels(store, labels, root.rubric, places)
    chosen = _choose(places, given, lambda made: root_of(store, made) == root)
    carried = _carry_chances(store, places, chosen, given)
    for key in given.keys() - {(place.submission_id, place.made.task) for place in chosen}:
        labels_left_out["nothing was drafted of the submission in this scope"] += len(given[key])
    secret = load_secret(store)
    left_out = Counter(_NO_DRAFT for place in chosen if place.judgment is None or place.inspection is None)
    units: list[Unit] = []
    for place, inspected, judged in store.drafts.read(chosen):
        inspection = Inspection.model_validate_json(inspected)
        draft = Judgment.model_validate_json(judged)
        settled = _find_rule(Grounds(inspection, rubric, draft, policy=policy))
        features = {} if settled else read_features(inspection, draft, rubric)
        if not features:
            left_out[settled or _NO_LEVEL] += 1
            continue
        reviewers = rank_reviewers(given.get((place.submission_id, place.made.task), ()))
        units.append(
            _make_unit(
                place,
                pseudonym_of(secret, author_to_cover(place.author, place.origin, place.submission_id)),
                draft,
                {name: np.array(row) for name, row in features.items()},
                [form_opinion(found, draft, inspection, rubric) for found in reviewers[:2]],
                _share_chance([[carried(label) for label in found] for found in reviewers]),
                policy.loss,
            )
        )
    units.sort(key=lambda unit: unit.submission_id)
    return Observations(
        scope=scope,
        rubric=rubric,
        units=tuple(units),
        left_out=dict(left_out),
        labels_left_out=dict(labels_left_out),
        unjudged=sum(label.state == "cannot_judge" for unit in units for label in unit.labels),
    )


def _make_unit(
    place: DraftPlace,
    author: str,
    draft: Judgment,
    features: dict[str, _Array],
    opinions: Sequence[Opinion | None],
    labels: Sequence[Label],
    loss: Loss,
) -> Unit:
    first, second = (*opinions, None, None)[:2]
    levels = {score.criterion: score.level for score in draft.scores if score.source == "judge"}
    wrong: dict[str, bool] = {}
    differ: dict[str, bool] = {}
    if first is not None:
        wrong = {
            name: is_far(level, said, loss)
            for name, level in levels.items()
            if level is not None and (said := first.levels.get(name)) is not None
        }
        if GRADE in features and first.passed is not None:
            wrong[GRADE] = is_wrong(first.levels, draft, first.passed, loss)
    if first is not None and second is not None:
        differ = _compare_experts(first, second, levels, loss)
    return Unit(
        submission_id=place.submission_id,
        grading_id=place.grading_id,
        task=place.task_id,
        task_version=place.made.task,
        author=author,
        levels=levels,
        value=draft.overall.value,
        passed=draft.overall.passed,
        features=features,
        first=first,
        second=second,
        wrong=wrong,
        experts_differ=differ,
        labels=tuple(labels),
        constructed=any(label.source == "constructed" for label in labels),
    )


def _compare_experts(
    first: Opinion, second: Opinion, drafted: Mapping[str, int | None], loss: Loss
) -> dict[str, bool]:
    """Return where the second reviewer would be wrong in the judge's place."""
    differ = {
        name: is_far(level, other, loss)
        for name, level in first.levels.items()
        if level is not None and (other := second.levels.get(name)) is not None
    }
    if first.passed is not None and second.passed is not None:
        flips = loss.flips and first.passed != second.passed
        differ[GRADE] = flips or any(far for name, far in differ.items() if drafted.get(name) is not None)
    return differ


def _sort_labels(
    store: Store, labels: Iterable[Label], rubric: str, places: Iterable[DraftPlace]
) -> tuple[dict[tuple[str, str], list[Label]], Counter[str]]:
    """Return labels under `rubric` by submission and version of its task, and why others are not there."""
    tasks = {place.grading_id: (place.submission_id, place.made.task) for place in places}
    given: dict[tuple[str, str], list[Label]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for label in labels:
        if tasks.get(label.grading_id, ("", ""))[0] != label.submission_id or not label.submission_id:
            left_out["the submission is not in the store"] += 1
        elif rubric_root(store, label.rubric) != rubric:
            left_out["given under another rubric, or a version of it that means something else"] += 1
        elif label.source == "desk" and not label.is_independent:
            left_out["not somebody's own view: adjudications, gold items, norming"] += 1
        else:
            given[tasks[label.grading_id]].append(label)
    return given, left_out


def _choose(
    places: Iterable[DraftPlace],
    given: Mapping[tuple[str, str], Sequence[Label]],
    belongs: Callable[[Scope], bool],
) -> list[DraftPlace]:
    """Return of each submission in the scope the grading that stands for it; `places` are oldest first."""
    named = {label.grading_id for found in given.values() for label in found}
    known: dict[Scope, bool] = {}
    chosen: dict[str, DraftPlace] = {}
    for place in places:
        scope = Scope.of(place.made)
        if scope not in known:
            known[scope] = belongs(scope)
        earlier = chosen.get(place.submission_id)
        if known[scope] and (earlier is None or earlier.grading_id not in named):
            chosen[place.submission_id] = place
    return list(chosen.values())


def _carry_chances(
    store: Store,
    places: Iterable[DraftPlace],
    chosen: Iterable[DraftPlace],
    given: Mapping[tuple[str, str], Sequence[Label]],
) -> Callable[[Label], Label]:
    """Return what takes a label's chance away where it says nothing of this scope's stream.

    What was drawn among other drafts is a sample of these where all of these were among the others.
    """
    scopes = {place.grading_id: root_of(store, Scope.of(place.made)) for place in places}
    members: dict[Scope, set[str]] = defaultdict(set)
    for place in places:
        members[scopes[place.grading_id]].add(place.submission_id)
    stream = {place.submission_id for place in chosen}
    covers = {scope: stream <= found for scope, found in members.items()}

    def carry(label: Label) -> Label:
        if label.calibration is None or covers[scopes[label.grading_id]]:
            return label
        return label.model_copy(update={"calibration": None})

    return carry


def _share_chance(reviewers: Sequence[Sequence[Label]]) -> list[Label]:
    """Return the first reviewer's labels, with the chance that drew the submission, whoever's labels say so.

    Else what chance drew would fall out of the sample where somebody else had labelled it before, as people
    do with what looks wrong: what is left would be too good.
    """
    if not reviewers:
        return []
    said = {
        label.calibration for found in reviewers for label in found if label.purpose is not Purpose.SECOND
    }
    chance = next(iter(said - {None})) if len(said) == 2 and None in said else None
    if chance is None:
        return list(reviewers[0])
    return [label.model_copy(update={"calibration": chance}) for label in reviewers[0]]


def _find_rule(grounds: Grounds) -> str:
    """Return what the hard rule says that settles a grading; empty where none does."""
    rule = next((rule for rule in HARD_RULES if rule(grounds) is not None), None)
    said = (rule.__doc__ or rule.__name__).strip().rstrip(".") if rule is not None else ""
    return said[:1].lower() + said[1:]


def _load_rubric(store: Store, sha256: str) -> Rubric:
    document = store.find_document(sha256)
    if document is None:
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="unknown_rubric",
                message=f"the rubric {sha256[:12]} is not in the store",
                remedy="grade with it first",
            )
        )
    return Rubric.model_validate_json(document.text)
