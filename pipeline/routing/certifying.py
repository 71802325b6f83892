"""Certifying: which drafts of a scope may stand alone under a policy, tested on labels that nothing else saw.

Everything that a test needs is fixed before its labels are looked at: thresholds come from drafts that do not
certify, and whether there are labels enough is counted, not tried. So only a test that can succeed takes one
of the policy's looks.

Which tasks and authors are covered is fixed before as well, by labels of the fit split. Were it the labels
that certify, the rare ones among those covered would be there more often than in the stream, and what is
tested would not be what stands alone: where rare authors are the better ones, that promises too much.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.routing import promises
from pipeline.routing.fitting import Fitted, probabilities_of
from pipeline.routing.observations import Observations, Unit
from pipeline.routing.splits import SHARES, Look, Splits, hash_labels
from pipeline.stats.agreement import MINIMUM
from pipeline.stats.clustered import certify_by_cluster, effective_clusters, fewest_clusters
from pipeline.stats.conformal import control_joint_risk
from pipeline.stats.label_budget import Outlook, labels_needed, labels_to_certify, outlook
from pipeline.stats.selective import certify, grid_of, starts_of
from pipeline.types import GRADE, Certificate, RoutingPolicy, hash_text

__all__ = ["Tested", "certify_policy"]

_Array = NDArray[np.float64]

_CHAINS: Final = 2
#: A risk so near to alpha takes thousands of labels to tell from it: nobody would ask for them.
_NEAR: Final = 0.9


@dataclass(frozen=True, slots=True)
class Tested:
    """A certificate, or a refusal, with what it rests on.

    Attributes:
        certificate: What may stand alone, or why nothing may.
        probabilities: Of shape (n,): of the items that were tested; empty where nothing was.
        wrong: Of shape (n,): whether each is wrong.
        outlooks: What 50, 100 and 200 more labels that certify would buy at the policy's next look; empty
            where nobody can say.
    """

    certificate: Certificate
    probabilities: _Array = field(default_factory=lambda: np.empty(0))
    wrong: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    outlooks: tuple[Outlook, ...] = ()


@dataclass(frozen=True, slots=True)
class _Case:
    """What is asked: the same for all criteria of a policy."""

    observations: Observations
    fitted: Fitted
    splits: Splits
    policy: RoutingPolicy
    certifying: Sequence[Unit]
    """Those that are covered."""
    uncovered: int
    """How many others of the certify split are labelled."""
    covered: _Covered
    labels: str
    tests: int
    """How many share the level of a look."""
    look: Look
    by: str
    at: datetime

    @property
    def share(self) -> float:
        """The share of delta that this look has: what the policy gives it and earlier looks left."""
        given = self.policy.looks[self.look.number - 1 : self.look.number]
        return max(0.0, min(*given, 1 - self.look.spent)) if given else 0.0

    @property
    def level(self) -> float:
        """The level of one test."""
        return self.policy.delta * self.share / self.tests


class _Covered(NamedTuple):
    """Whose drafts may stand alone at all."""

    tasks: frozenset[str]
    authors: frozenset[str]

    def select(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are covered."""
        return [unit for unit in units if unit.task in self.tasks and unit.author in self.authors]


class _Basis(NamedTuple):
    """What is known of a criterion without any label that certifies."""

    criterion: str
    stream: _Array
    """Probabilities of drafts that are covered and do not certify."""
    share: float
    """Share of these among all drafts that do not certify."""
    grid: tuple[float, ...]

    def coverage(self, threshold: float) -> float:
        """Return the share of all drafts that stand alone."""
        return self.share * float((self.stream >= threshold).mean())


class _Sample(NamedTuple):
    """The items that a test rests on."""

    units: Sequence[Unit]
    sampling: Literal["random", "clusters"]


class _Finding(NamedTuple):
    """What a test found."""

    threshold: float | None
    accepted: int
    errors: int
    bound: float | None
    chains: int


def certify_policy(
    observations: Observations,
    fitted: Fitted,
    splits: Splits,
    policy: RoutingPolicy,
    *,
    by: str = "",
    at: datetime | None = None,
) -> list[Tested]:
    """Return a certificate, or a refusal, for each thing that has to be certified before a grade may stand.

    With ``by = "grade"`` in the policy that is the grade as a whole, else every criterion that the judge gave
    a level anywhere in the scope; where it gave none, every one that it was asked about.

    Args:
        observations: All of the scope; only labels of the certify split are used, and that is kept.
        fitted: What gives drafts their probabilities.
        splits: Of the store.
        policy: Asks for it.
        by: Who asks.
        at: When; by default now.

    Raises:
        GraderError: ``labels_used`` if a label that would certify was used to choose or to fit.
    """
    judged = [criterion.id for criterion in observations.rubric.criteria if criterion.source == "judge"]
    criteria = [GRADE] if policy.by == "grade" else observations.criteria or judged
    labelled = observations.labelled
    assigned = splits.assign((unit.submission_id for unit in labelled), observations.scope.rubric)
    certifying = [unit for unit in labelled if assigned[unit.submission_id] == "certify"]
    held_back = {unit.submission_id for unit in certifying}
    others = [unit for unit in observations.units if unit.submission_id not in held_back]
    covered = _find_covered(fitted, policy)
    within = covered.select(certifying)
    bases = [_set_grid(fitted, others, covered, criterion) for criterion in criteria]
    labels = [label for unit in certifying for label in unit.labels]
    calibrator = fitted.calibrator.content_hash() if fitted.calibrator is not None else ""
    # Thresholds belong to a test: to try others on the same labels is another look.
    parts = (*sorted(covered.tasks), *sorted(covered.authors), *(basis.grid for basis in bases))
    test = hash_text(policy.content_hash(), calibrator, *parts)
    look = splits.place_look(labels, observations.scope, test=test)
    case = _Case(
        observations=observations,
        fitted=fitted,
        splits=splits,
        policy=policy,
        certifying=within,
        uncovered=len(certifying) - len(within),
        covered=covered,
        labels=hash_labels(labels),
        tests=max(1, len(criteria)),
        look=look,
        by=by,
        at=at or datetime.now(UTC),
    )
    plans = [(basis, _plan(case, basis)) for basis in bases]
    if any(isinstance(plan, _Sample) for _, plan in plans):
        splits.use(labels, "certify", observations.scope, test=test, share=case.share)
        # Somebody else may have taken a look since it was placed.
        case = replace(case, look=splits.place_look(labels, observations.scope, test=test))
        if case.level == 0:
            return [Tested(_refuse(case, basis, _say_no_look(case))) for basis, _ in plans]
    return [
        _test(case, basis, plan) if isinstance(plan, _Sample) else Tested(_refuse(case, basis, plan))
        for basis, plan in plans
    ]


def _find_covered(fitted: Fitted, policy: RoutingPolicy) -> _Covered:
    tasks = Counter(unit.task for unit in fitted.units)
    return _Covered(
        frozenset(task for task, n in tasks.items() if n >= policy.fewest_per_task),
        frozenset(unit.author for unit in fitted.units),
    )


def _set_grid(fitted: Fitted, others: Sequence[Unit], covered: _Covered, criterion: str) -> _Basis:
    drafted = [unit for unit in others if criterion in unit.features]
    if fitted.calibrator is None or not drafted:
        return _Basis(criterion, np.empty(0), 0.0, ())
    found = probabilities_of(fitted.calibrator, covered.select(drafted), criterion)
    stream = found[np.isfinite(found)]
    return _Basis(criterion, stream, len(stream) / len(drafted), grid_of(stream))


def _plan(case: _Case, basis: _Basis) -> _Sample | str:
    """Return the items to test, or why nothing is tested; what labels say of drafts is not looked at."""
    criterion, policy = basis.criterion, case.policy
    known = [unit for unit in case.certifying if criterion in unit.wrong and criterion in unit.features]
    differ, pairs = _compare_experts(case.observations, criterion)
    if differ is not None and differ > policy.alpha:
        return promises.say_refusal(promises.say_experts(differ, pairs, policy.alpha))
    if case.level == 0:
        return _say_no_look(case)
    if not basis.grid:
        drafted = any(criterion in unit.features for unit in case.observations.units)
        if not drafted:
            why = "the judge drafted none"
        elif case.fitted.calibrator is not None and not case.covered.tasks:
            why = promises.say_uncovered(policy.fewest_per_task)
        else:
            why = case.fitted.reasons.get(criterion, "no other draft is left to set thresholds by")
        return promises.say_refusal(f"there are no probabilities to go by, {why}")
    share = case.level / len(starts_of(len(basis.grid), _CHAINS))
    drawn = _draw(case.splits, known)
    if policy.mode == "expected":
        fewest = max(MINIMUM, math.ceil(1 / policy.alpha) - 1)
    else:
        fewest = max(MINIMUM, labels_to_certify(policy.alpha, share))
    if len(drawn) >= fewest:
        return _Sample(drawn, "random")
    help_ = _budget(case, basis, len(drawn))
    sizes = list(Counter(unit.task for unit in known).values())
    if policy.mode == "expected" or len(drawn) == len(known) or len(known) < MINIMUM:
        return promises.say_refusal(promises.say_too_few(len(drawn), fewest, case.uncovered), help_)
    effective, tasks = effective_clusters(sizes), fewest_clusters(policy.alpha, share)
    if effective < tasks:
        return promises.say_refusal(promises.say_tasks(len(sizes), effective, tasks), help_)
    return _Sample(known, "clusters")


def _say_no_look(case: _Case) -> str:
    taken, allowed = case.look.number - 1, len(case.policy.looks)
    return promises.say_refusal(
        promises.say_looks(taken, allowed) if taken >= allowed else promises.say_spent()
    )


def _draw(splits: Splits, units: Sequence[Unit]) -> list[Unit]:
    """Return those that chance drew from the stream, all with the same probability."""
    kept = {label.submission_id for label in splits.thin(one for unit in units for one in unit.labels).labels}
    return [unit for unit in units if unit.submission_id in kept]


def _test(case: _Case, basis: _Basis, sample: _Sample) -> Tested:
    assert case.fitted.calibrator is not None
    sure = probabilities_of(case.fitted.calibrator, sample.units, basis.criterion)
    wrong = np.array([unit.wrong[basis.criterion] for unit in sample.units], dtype=np.bool_)
    found = _find_threshold(case, basis, sample, sure, wrong)
    outlooks: tuple[Outlook, ...] = ()
    if sample.sampling == "random" and case.policy.mode == "selective" and case.look.number < len(case.policy.looks):
        outlooks = tuple(
            replace(one, coverage=basis.share * one.coverage)
            for one in outlook(
                sure,
                wrong,
                basis.stream,
                basis.grid,
                alpha=case.policy.alpha,
                level=case.policy.delta * case.policy.looks[case.look.number] / case.tests,
                chains=_CHAINS,
            )
        )
    if found.threshold is None:
        n = len(sample.units) if sample.sampling == "random" else len(_draw(case.splits, sample.units))
        why = (
            f"no threshold passed the test on {len(wrong)} labels, {int(wrong.sum())} of them of wrong drafts"
        )
        reason = promises.say_refusal(why, _budget(case, basis, n))
    else:
        reason = promises.say_promise(
            basis.criterion,
            mode=case.policy.mode,
            alpha=case.policy.alpha,
            delta=case.policy.delta,
            coverage=basis.coverage(found.threshold),
            tasks=len({unit.task for unit in sample.units}) if sample.sampling == "clusters" else None,
            constructed=_is_constructed(case),
        )
    return Tested(_issue(case, basis, sample, found, reason), sure, wrong, outlooks)


def _find_threshold(
    case: _Case, basis: _Basis, sample: _Sample, sure: _Array, wrong: NDArray[np.bool_]
) -> _Finding:
    alpha, level = case.policy.alpha, case.level
    if case.policy.mode == "expected":
        controlled = control_joint_risk(sure, wrong, basis.grid, alpha=alpha)
        bound = controlled.risk if controlled.threshold is not None else None
        return _Finding(controlled.threshold, controlled.accepted, controlled.errors, bound, 1)
    if sample.sampling == "random":
        certified = certify(sure, wrong, basis.grid, alpha=alpha, level=level, chains=_CHAINS)
    else:
        tasks = [unit.task for unit in sample.units]
        certified = certify_by_cluster(
            sure, wrong, tasks, basis.grid, alpha=alpha, level=level, chains=_CHAINS
        )
    evidence = certified.evidence
    bound = evidence.bound if certified.threshold is not None else None
    return _Finding(certified.threshold, evidence.n, evidence.errors, bound, certified.chains)


def _refuse(case: _Case, basis: _Basis, why: str) -> Certificate:
    """Return a refusal where nothing was tested."""
    nothing = _Finding(None, 0, 0, None, 0)
    return _issue(case, basis, _Sample((), "random"), nothing, why).model_copy(update={"level": 0.0})


def _issue(case: _Case, basis: _Basis, sample: _Sample, found: _Finding, reason: str) -> Certificate:
    differ, pairs = _compare_experts(case.observations, basis.criterion)
    calibrator = case.fitted.calibrator
    covered = case.covered if sample.units else _Covered(frozenset(), frozenset())
    threshold = found.threshold
    return Certificate(
        scope=case.observations.scope,
        calibrator=calibrator.content_hash() if calibrator is not None else "",
        policy=case.policy.content_hash(),
        criterion=basis.criterion,
        loss=case.policy.loss,
        mode=case.policy.mode,
        alpha=case.policy.alpha,
        delta=case.policy.delta,
        level=case.level,
        look=case.look.number,
        grid=basis.grid,
        chains=found.chains,
        threshold=threshold,
        accepted=found.accepted,
        errors=found.errors,
        bound=found.bound,
        n=len(sample.units),
        coverage=basis.coverage(threshold) if threshold is not None else None,
        sampling=sample.sampling,
        tasks=tuple(sorted(covered.tasks)),
        authors=tuple(sorted(covered.authors)),
        labels=case.labels,
        constructed=_is_constructed(case),
        experts_differ=differ,
        experts_pairs=pairs,
        issued_at=case.at,
        issued_by=case.by,
        reason=reason,
    )


def _budget(case: _Case, basis: _Basis, n: int) -> str:
    """Return how many more labels would help, as far as the calibrator can tell; empty where nobody can say.

    Of each threshold the expected risk is the mean of 1 - probability over the stream; the one that takes
    fewest labels to certify with probability 0.8 counts.
    """
    policy = case.policy
    if not basis.grid or policy.mode != "selective" or case.level == 0:
        return ""
    share = case.level / len(starts_of(len(basis.grid), _CHAINS))
    needed = []
    for threshold in basis.grid:
        above = basis.stream[basis.stream >= threshold]
        risk = float((1 - above).mean())
        if risk < _NEAR * policy.alpha:
            needed.append(labels_needed(policy.alpha, share, risk, len(above) / len(basis.stream)))
    fewest = min((found for found in needed if found is not None), default=None)
    if fewest is None:
        return promises.say_hopeless(policy.alpha)
    # Of all that is labelled only what is covered and in the certify split certifies.
    each = SHARES["certify"] * basis.share
    return promises.say_budget(math.ceil((fewest - n) / each)) if fewest > n else ""


def _compare_experts(observations: Observations, criterion: str) -> tuple[float | None, int]:
    """Return how often two experts differ, and over how many submissions; None where these are too few."""
    differ = [
        unit.experts_differ[criterion] for unit in observations.units if criterion in unit.experts_differ
    ]
    return (sum(differ) / len(differ) if len(differ) >= MINIMUM else None, len(differ))


def _is_constructed(case: _Case) -> bool:
    # Whatever came of a calibration that took them in says so, refusals as well.
    return any(unit.constructed for unit in case.observations.labelled)
