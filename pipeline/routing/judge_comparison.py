"""Two judges on the same submissions: how often they differ, and whether the new one errs no more often.

A pair is one submission to one version of a task, drafted in both scopes. Flips need no labels. Errors are
told by what the first reviewer said, and only by labels of the ``choose`` split: a prompt that was picked on
labels cannot be certified on them, so what is looked at here is kept as used. Where the two rubrics differ in
more than words, each judge is held against labels under its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

from pipeline.errors import GraderError
from pipeline.review.labels import Label
from pipeline.routing.known_scopes import KnownScope
from pipeline.routing.observations import Observations, Unit, observe
from pipeline.routing.splits import Splits, root_of
from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.clustered import fewest_clusters
from pipeline.stats.paired import PairedComparison, compare_errors, estimate_share
from pipeline.store import Store
from pipeline.types import GRADE, Fault, Loss, Owner, RoutingPolicy, Scope, hash_text

__all__ = ["Flips", "JudgeComparison", "compare_judges", "labels_for_margin"]

_CONFIDENCE: Final = 0.95
_POWER: Final = 0.8
#: With fewer tasks that differ, the interval allows for what tasks that were not seen may hold.
_FEW_DIFFER: Final = 3


@dataclass(frozen=True, slots=True)
class Flips:
    """How often two judges say something else of the same submission.

    Attributes:
        criterion: Id of a criterion, or `GRADE` for the overall pass or fail.
        differ: Share of the pairs in which both say something that differ; the interval draws whole tasks.
        apart: Pairs that differ by so many levels that one of them is wrong; of `GRADE` those that differ.
        shift: Mean of the new level minus the old; above 0 the new judge is the more lenient.
        only_old: Pairs in which the old judge alone says something.
        only_new: Pairs in which the new one alone does.
    """

    criterion: str
    differ: Estimate
    apart: int
    shift: float | None
    only_old: int
    only_new: int


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """What can be said of two judges.

    Attributes:
        old: The one that there was.
        new: The one that is to replace it.
        criterion: What errors are of: a criterion, or `GRADE`.
        loss: What is one.
        pairs: Submissions that both drafted.
        tasks: Among these.
        left_out: Pairs that tell nothing of errors, by the reason in words.
        flips: Per criterion, then of pass or fail.
        errors: Of both, on labelled pairs.
        old_rate: Share of errors of the old judge; the interval draws whole tasks.
        new_rate: Of the new one.
        needed: Labelled pairs that show the margin with a chance of 0.8, if both err equally often; None
            where too little is known of how often they differ.
        tasks_needed: Tasks that it takes beside; 0 where any number will do.
        constructed: Whether any of the labels was constructed.
    """

    old: KnownScope
    new: KnownScope
    criterion: str
    loss: Loss
    pairs: int
    tasks: int
    left_out: Mapping[str, int]
    flips: tuple[Flips, ...]
    errors: PairedComparison
    old_rate: Estimate
    new_rate: Estimate
    needed: int | None
    tasks_needed: int
    constructed: bool

    @property
    def differ_in(self) -> tuple[str, ...]:
        """Which parts of the scopes are not the same, such as ``prompt``."""
        old, new = self.old.scope, self.new.scope
        return tuple(name for name in Scope.model_fields if getattr(old, name) != getattr(new, name))

    @property
    def is_shown(self) -> bool:
        """Whether the new judge is shown to err at most the margin more often."""
        return self.errors.verdict == "non_inferior"

    @property
    def is_too_little(self) -> bool:
        """Whether there are too few labelled pairs to say anything."""
        return self.errors.difference.value is None

    @property
    def sentence(self) -> str:
        """The verdict."""
        errors = self.errors
        basis = f"{errors.n} labelled pairs on {errors.clusters} tasks"
        wanted = "how many labels would do cannot be said before two drafts differ"
        if self.needed is not None:
            tasks = f" on {self.tasks_needed} tasks or more" if self.tasks_needed else ""
            wanted = f"about {self.needed} labelled pairs{tasks} would show it if both err equally often"
        if self.is_too_little:
            return f"Too few to say anything: {errors.n} labelled pairs of at least {MINIMUM}; {wanted}."
        span = errors.difference.interval
        if span is not None and span.high < 0:
            return f"Shown: the new judge errs less often, by at least {-span.high:.3f} ({basis})."
        if self.is_shown:
            return f"Shown: the new judge is no worse; {errors.reason} ({basis})."
        if span is not None and span.low >= errors.margin:
            return f"Worse: the new judge errs more often, by at least {span.low:.3f} ({basis})."
        return f"Not shown: {errors.reason} ({basis}); {wanted}."


class _Pair(NamedTuple):
    """One submission, drafted twice."""

    submission_id: str
    task_id: str
    old: Unit
    new: Unit


class _Outcome(NamedTuple):
    """Whether each of two judges was wrong about one submission."""

    task_id: str
    old: bool
    new: bool


def compare_judges(
    store: Store,
    old: KnownScope,
    new: KnownScope,
    labels: Sequence[Label],
    *,
    policy: RoutingPolicy,
    criterion: str = GRADE,
    margin: float = 0.02,
    splits: Splits | None = None,
) -> JudgeComparison:
    """Compare two judges on what both drafted, and keep which labels that used.

    Args:
        store: Where drafts are; uses of labels are kept there.
        old: The judge that there is.
        new: The one that is to replace it.
        labels: Any labels; those of a first reviewer in the ``choose`` split are used.
        policy: Says what is wrong; what its hard rules settle makes no pair.
        criterion: What errors are of: the id of a criterion, or `GRADE`.
        margin: How much more often the new judge may err and still be no worse.
        splits: Of the store; for tests.

    Raises:
        GraderError: ``invalid`` if both are the same, or no pair has a level for `criterion`; if a rubric is
            not in the store.
        ValueError: If the margin does not lie between 0 and 1.
    """
    if root_of(store, old.scope) == root_of(store, new.scope):
        raise _refuse("both are the same scope", "name two: nki-grader judge list shows them")
    sides = [observe(store, known.scope, labels, policy) for known in (old, new)]
    pairs, left_out = _pair(store, *sides)
    criteria = [name for name in sides[1].criteria if name != GRADE and name in sides[0].criteria]
    if criterion != GRADE and pairs and criterion not in criteria:
        raise _refuse(
            f"both judges scored nothing called {criterion[:64]!r}", f"choose from: {', '.join(criteria)}"
        )
    test = hash_text("judge compare", old.sha256, new.sha256, criterion, policy.loss)
    paired = {pair.submission_id for pair in pairs}
    kept = splits or Splits(store)
    used = [
        {label.submission_id for label in kept.use(_labels_of(side, paired), "choose", side.scope, test=test)}
        for side in sides
    ]
    outcomes = []
    for pair in pairs:
        outcome = _judge(pair, criterion, pair.submission_id in used[0] & used[1])
        if isinstance(outcome, str):
            left_out[outcome] += 1
        else:
            outcomes.append(outcome)
    errors = compare_errors(
        [one.old for one in outcomes],
        [one.new for one in outcomes],
        [one.task_id for one in outcomes],
        margin=margin,
        confidence=_CONFIDENCE,
    )
    needed, tasks_needed = _plan(outcomes, pairs, criterion, errors)
    return JudgeComparison(
        old=old,
        new=new,
        criterion=criterion,
        loss=policy.loss,
        pairs=len(pairs),
        tasks=len({pair.task_id for pair in pairs}),
        left_out=dict(left_out),
        flips=tuple(_count_flips(name, pairs, policy.loss) for name in (*criteria, GRADE)),
        errors=errors,
        old_rate=estimate_share([float(one.old) for one in outcomes], [one.task_id for one in outcomes]),
        new_rate=estimate_share([float(one.new) for one in outcomes], [one.task_id for one in outcomes]),
        needed=needed,
        tasks_needed=tasks_needed,
        constructed=any(
            pair.old.constructed or pair.new.constructed
            for pair in pairs
            if pair.submission_id in used[0] | used[1]
        ),
    )


def labels_for_margin(differing: float, margin: float, effect: float = 1.0) -> int:
    """Return how many pairs show non-inferiority with a chance of 0.8 where both judges err equally often.

    That is (z(0.975) + z(0.8))^2 p / margin^2 in the normal approximation, p being the share of pairs in
    which exactly one judge errs: a difference of paired errors then has mean 0 and variance p.

    Source: the approach of Y. Lu, J. A. Bean, Statistics in Medicine 14 (1995), with the interval's own
    variance.

    Args:
        differing: p, above 0.
        margin: Between 0 and 1.
        effect: How many times more pairs it takes because those of one task are alike (Kish's design effect).

    Raises:
        ValueError: If an argument lies outside its range.
    """
    if not (0 < differing <= 1 and 0 < margin < 1 and effect > 0):
        raise ValueError(f"no sample size follows from {differing}, {margin} and {effect}")
    quantiles = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2) + NormalDist().inv_cdf(_POWER)
    return max(MINIMUM, math.ceil(effect * quantiles**2 * differing / margin**2))


def _pair(store: Store, old: Observations, new: Observations) -> tuple[list[_Pair], Counter[str]]:
    """Return what both drafted, and by reason how many others both graded."""
    tasks: dict[str, str] = {}
    graded: dict[Scope, set[str]] = {}
    for place in store.drafts.list_places():
        tasks[place.grading_id] = place.made.task
        graded.setdefault(root_of(store, Scope.of(place.made)), set()).add(place.submission_id)
    both = graded[root_of(store, old.scope)] & graded[root_of(store, new.scope)]
    # A grade that checks alone make is no judge's draft.
    before, after = (
        {unit.submission_id: unit for unit in side.units if set(unit.levels.values()) - {None}}
        for side in (old, new)
    )
    left_out: Counter[str] = Counter()
    pairs = []
    for name in sorted(both):
        if name not in before or name not in after:
            left_out["not drafted by both: facts settle it, or a judge gave nothing"] += 1
        elif tasks[before[name].grading_id] != tasks[after[name].grading_id]:
            left_out["graded on different versions of the task"] += 1
        else:
            pairs.append(_Pair(name, before[name].task, before[name], after[name]))
    return pairs, left_out


def _labels_of(side: Observations, submissions: Collection[str]) -> list[Label]:
    return [label for label in side.labels if label.submission_id in submissions]


def _judge(pair: _Pair, criterion: str, used: bool) -> _Outcome | str:
    """Return whether both judges are wrong about a submission, or why nobody can say."""
    if pair.old.first is None or pair.new.first is None:
        return "not labelled"
    if not used:
        return "labelled, but not for choosing"
    wrong = [unit.wrong.get(criterion) for unit in (pair.old, pair.new)]
    if wrong[0] is not None and wrong[1] is not None:
        return _Outcome(pair.task_id, wrong[0], wrong[1])
    if None in _say(pair, criterion):
        return "a draft says nothing of it"
    return "the expert could not judge it, or was not asked about all of it"


def _count_flips(criterion: str, pairs: Sequence[_Pair], loss: Loss) -> Flips:
    said = [(pair.task_id, *_say(pair, criterion)) for pair in pairs]
    both = [(task, old, new) for task, old, new in said if old is not None and new is not None]
    far = 1 if criterion == GRADE else loss.apart
    return Flips(
        criterion=criterion,
        differ=estimate_share([float(old != new) for _, old, new in both], [task for task, *_ in both]),
        apart=sum(abs(new - old) >= far for _, old, new in both),
        shift=math.fsum(new - old for _, old, new in both) / len(both) if len(both) >= MINIMUM else None,
        only_old=sum(old is not None and new is None for _, old, new in said),
        only_new=sum(old is None and new is not None for _, old, new in said),
    )


def _say(pair: _Pair, criterion: str) -> tuple[int | None, int | None]:
    """Return the level that each judge gives; of `GRADE` 1 for a pass and 0 for a fail."""
    if criterion != GRADE:
        return pair.old.levels.get(criterion), pair.new.levels.get(criterion)
    old, new = pair.old.passed, pair.new.passed
    return None if old is None else int(old), None if new is None else int(new)


def _plan(
    outcomes: Sequence[_Outcome], pairs: Sequence[_Pair], criterion: str, errors: PairedComparison
) -> tuple[int | None, int]:
    """Return how many labelled pairs show the margin, and how many tasks that takes beside."""
    n, margin = len(outcomes), errors.margin
    if n < MINIMUM:
        # Two judges that say the same are both right or both wrong: no more can differ in errors.
        share = sum(_differs(pair, criterion) for pair in pairs) / max(len(pairs), 1)
        return (labels_for_margin(share, margin) if share else None), 0
    by_task: dict[str, list[int]] = {}
    for one in outcomes:
        by_task.setdefault(one.task_id, []).append(one.new - one.old)
    differing = (errors.only_old + errors.only_new) / n
    mean = (errors.only_new - errors.only_old) / n
    independent = n * (differing - mean**2)
    spread = math.fsum((sum(found) - mean * len(found)) ** 2 for found in by_task.values())
    effect = max(1.0, spread / independent) if independent > 0 else 1.0
    few = sum(map(bool, map(sum, by_task.values()))) < _FEW_DIFFER
    tasks = fewest_clusters(margin, (1 - _CONFIDENCE) / 2) if few else 0
    return labels_for_margin(differing or 1 / n, margin, effect), tasks


def _differs(pair: _Pair, criterion: str) -> bool:
    if criterion != GRADE:
        return pair.old.levels.get(criterion) != pair.new.levels.get(criterion)
    return (pair.old.levels, pair.old.passed) != (pair.new.levels, pair.new.passed)


def _refuse(message: str, remedy: str) -> GraderError:
    return GraderError(Fault(owner=Owner.ENVIRONMENT, code="invalid", message=message, remedy=remedy))
