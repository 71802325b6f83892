"""Certifying: which drafts of a scope may stand alone under a policy, tested on labels that nothing else saw.

Everything that a test needs is fixed before its labels are looked at: thresholds come from drafts that do not
certify, and whether there are labels enough is counted, not tried. So only a test that can succeed takes one
of the policy's looks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.routing import promises
from pipeline.routing.fitting import Fitted, probabilities_of
from pipeline.routing.observations import Observations, Unit
from pipeline.routing.splits import SHARES, Look, Splits, hash_labels
from pipeline.routing.threshold_tests import CHAINS, Finding, Sample, find_thresholds, wrong_of
from pipeline.routing.thresholds import Basis, Covered, can_stand, find_covered, set_apart, set_together
from pipeline.stats.agreement import MINIMUM
from pipeline.stats.clustered import effective_clusters, fewest_clusters
from pipeline.stats.label_budget import Outlook, labels_needed, labels_to_certify, outlook
from pipeline.stats.selective import starts_of
from pipeline.types import GRADE, Certificate, RoutingPolicy, hash_text

__all__ = ["Tested", "certify_policy"]

_Array = NDArray[np.float64]

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
    covered: Covered
    codes: Mapping[str, str]
    """By submission, what copies of its code share."""
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


class _Plan(NamedTuple):
    """What is to be done about a criterion."""

    basis: Basis
    sample: Sample | None
    refusal: str
    """Why nothing is tested; empty where something is."""


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
    covered = find_covered(fitted, policy)
    within = covered.select(certifying)
    bases = [set_apart(fitted, others, covered, criterion) for criterion in criteria]
    labels = [label for unit in certifying for label in unit.labels]
    calibrator = fitted.calibrator.content_hash() if fitted.calibrator is not None else ""
    # Thresholds belong to a test: to try others on the same labels is another look.
    parts = (*map(str, sorted(covered.tasks)), *sorted(covered.authors), *(basis.grid for basis in bases))
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
        codes=splits.group_copies(unit.submission_id for unit in within),
        labels=hash_labels(labels),
        tests=max(1, len(criteria)),
        look=look,
        by=by,
        at=at or datetime.now(UTC),
    )
    plans = [_plan(case, basis) for basis in bases]
    if policy.by == "criteria" and policy.mode == "selective":
        plans = _plan_together(case, plans, others)
    if any(plan.sample for plan in plans):
        splits.use(labels, "certify", observations.scope, test=test, share=case.share)
        # Somebody else may have taken a look since it was placed.
        case = replace(case, look=splits.place_look(labels, observations.scope, test=test))
        if case.level == 0:
            plans = [_Plan(plan.basis, None, _say_no_look(case)) for plan in plans]
    return _test(case, plans)


def _plan_together(case: _Case, plans: Sequence[_Plan], others: Sequence[Unit]) -> list[_Plan]:
    """Return the plans for criteria all of which a grade needs, so that they are tested on what may stand.

    Where one is refused, grades with a level of it never stand and are in no other's test.
    """
    found = {plan.basis.criterion: plan for plan in plans}
    while True:
        hopeful = [name for name, plan in found.items() if plan.sample is not None]
        if not hopeful:
            return list(found.values())
        whole = replace(case, certifying=can_stand(case.certifying, hopeful))
        refused = [name for name in found if name not in hopeful]
        for basis in set_together(case.fitted, others, case.covered, hopeful):
            plan = _plan(whole, basis)
            if plan.sample is None and refused:
                plan = plan._replace(refusal=promises.say_refusal(promises.say_blocked(refused)))
            found[basis.criterion] = plan
        if all(found[name].sample is not None for name in hopeful):
            return list(found.values())


def _plan(case: _Case, basis: Basis) -> _Plan:
    """Return the items to test, or why nothing is tested; what labels say of drafts is not looked at."""
    found = _find_sample(case, basis)
    return _Plan(basis, None, found) if isinstance(found, str) else _Plan(basis, found, "")


def _find_sample(case: _Case, basis: Basis) -> Sample | str:
    criterion, policy = basis.criterion, case.policy
    known = [unit for unit in case.certifying if criterion in unit.wrong and criterion in unit.features]
    differ, pairs = _compare_experts(case.observations, criterion)
    if differ is not None and differ > policy.alpha:
        return promises.say_refusal(promises.say_experts(differ, pairs, policy.alpha))
    if case.level == 0:
        return _say_no_look(case)
    if not basis.grid:
        drafted = any(criterion in unit.features for unit in case.observations.units)
        curves = case.fitted.calibrator.curves if case.fitted.calibrator is not None else ()
        if not drafted:
            why = "the judge drafted none"
        elif not case.covered.tasks and any(curve.criterion == criterion for curve in curves):
            why = promises.say_uncovered(policy.fewest_per_task)
        else:
            why = case.fitted.reasons.get(criterion, "no other draft is left to set thresholds by")
        return promises.say_refusal(f"there are no probabilities to go by, {why}")
    share = case.level / len(starts_of(len(basis.grid), CHAINS))
    drawn = _draw(case.splits, known)
    if policy.mode == "expected":
        fewest = max(MINIMUM, math.ceil(1 / policy.alpha) - 1)
    else:
        fewest = max(MINIMUM, labels_to_certify(policy.alpha, share))
    if len(drawn) >= fewest:
        codes = [case.codes[unit.submission_id] for unit in drawn]
        copied = Counter(codes)
        if len(copied) == len(drawn) or policy.mode == "expected":
            return Sample(drawn, "random", None)
        worth, least = effective_clusters(list(copied.values())), fewest_clusters(policy.alpha, share)
        if worth < least:
            return promises.say_refusal(promises.say_copies(len(drawn), len(copied), worth, least))
        return Sample(drawn, "random", codes)
    help_ = _budget(case, basis, len(drawn))
    sizes = list(Counter(unit.task for unit in known).values())
    if policy.mode == "expected" or len(drawn) == len(known) or len(known) < MINIMUM:
        return promises.say_refusal(promises.say_too_few(len(drawn), fewest, case.uncovered), help_)
    effective, tasks = effective_clusters(sizes), fewest_clusters(policy.alpha, share)
    if effective < tasks:
        return promises.say_refusal(promises.say_tasks(len(sizes), effective, tasks), help_)
    return Sample(known, "clusters", [unit.task for unit in known])


def _say_no_look(case: _Case) -> str:
    taken, allowed = case.look.number - 1, len(case.policy.looks)
    return promises.say_refusal(
        promises.say_looks(taken, allowed) if taken >= allowed else promises.say_spent()
    )


def _draw(splits: Splits, units: Sequence[Unit]) -> list[Unit]:
    """Return those that chance drew from the stream, all with the same probability."""
    kept = {label.submission_id for label in splits.thin(one for unit in units for one in unit.labels).labels}
    return [unit for unit in units if unit.submission_id in kept]


def _test(case: _Case, plans: Sequence[_Plan]) -> list[Tested]:
    """Return what the tests come to; where criteria stand together, one chain walks for all of them."""
    together = case.policy.by == "criteria" and case.policy.mode == "selective"
    planned = [(plan.basis, plan.sample) for plan in plans if plan.sample is not None]
    groups = [planned] if together else [[one] for one in planned]
    calibrator = case.fitted.calibrator
    found = {
        basis.criterion: finding
        for group in groups
        if group and calibrator is not None
        for (basis, _), finding in zip(
            group, find_thresholds(case.policy, calibrator, group, level=case.level), strict=True
        )
    }
    return [
        _conclude(case, plan.basis, plan.sample, found[plan.basis.criterion])
        if plan.sample is not None
        else Tested(_refuse(case, plan.basis, plan.refusal))
        for plan in plans
    ]


def _conclude(case: _Case, basis: Basis, sample: Sample, found: Finding) -> Tested:
    assert case.fitted.calibrator is not None
    wrong = wrong_of(basis, sample)
    if found.score is None:
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
            coverage=basis.coverage(found.score),
            groups=len(set(sample.groups)) if sample.groups is not None else None,
            copies=sample.sampling == "random",
            constructed=_is_constructed(case),
        )
    sure = probabilities_of(case.fitted.calibrator, sample.units, basis.criterion)
    return Tested(_issue(case, basis, sample, found, reason), sure, wrong, _look_ahead(case, basis, sample))


def _look_ahead(case: _Case, basis: Basis, sample: Sample) -> tuple[Outlook, ...]:
    policy, following = case.policy, case.look.number
    if sample.groups is not None or policy.mode != "selective" or following >= len(policy.looks):
        return ()
    assert case.fitted.calibrator is not None
    found = outlook(
        basis.score(case.fitted.calibrator, sample.units),
        wrong_of(basis, sample),
        basis.stream,
        basis.grid,
        alpha=policy.alpha,
        level=policy.delta * policy.looks[following] / case.tests,
        chains=CHAINS,
    )
    return tuple(replace(one, coverage=basis.share * one.coverage) for one in found)


def _refuse(case: _Case, basis: Basis, why: str) -> Certificate:
    """Return a refusal where nothing was tested."""
    nothing = Finding(None, None, 0, 0, None, 0)
    return _issue(case, basis, Sample((), "random", None), nothing, why).model_copy(update={"level": 0.0})


def _issue(case: _Case, basis: Basis, sample: Sample, found: Finding, reason: str) -> Certificate:
    differ, pairs = _compare_experts(case.observations, basis.criterion)
    calibrator = case.fitted.calibrator
    covered = case.covered if sample.units else Covered()
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
        grid=basis.thresholds,
        chains=found.chains,
        threshold=threshold,
        accepted=found.accepted,
        errors=found.errors,
        bound=found.bound,
        n=len(sample.units),
        coverage=basis.coverage(found.score) if found.score is not None else None,
        sampling=sample.sampling,
        tasks=tuple(sorted({task for task, _ in covered.tasks})),
        task_versions=tuple(sorted({version for _, version in covered.tasks})),
        authors=tuple(sorted(covered.authors)),
        labels=case.labels,
        constructed=_is_constructed(case),
        experts_differ=differ,
        experts_pairs=pairs,
        issued_at=case.at,
        issued_by=case.by,
        reason=reason,
    )


def _budget(case: _Case, basis: Basis, n: int) -> str:
    """Return how many more labels would help, as far as the calibrator can tell; empty where nobody can say.

    Of each threshold the expected risk is the mean of 1 - probability over the stream; the one that takes
    fewest labels to certify with probability 0.8 counts.
    """
    policy = case.policy
    if not basis.grid or policy.mode != "selective" or case.level == 0:
        return ""
    share = case.level / len(starts_of(len(basis.grid), CHAINS))
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
