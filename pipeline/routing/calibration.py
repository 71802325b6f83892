"""Calibration of a store for one policy: from labels to probabilities, certificates and all that is reported.

Which labels serve for what is decided by `pipeline.routing.splits`: probabilities are fitted on one split,
tested on another and measured on a third. Agreement with people is read off those to fit and to report, since
the judge was made with neither; how far people agree with each other tells nothing of any judge and may be
read off all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, get_args

from pipeline.errors import GraderError
from pipeline.review.constructed import constructed_labels
from pipeline.review.labels import Label, read_labels
from pipeline.routing.calibration_measures import (
    compare_judge,
    compare_people,
    count_passes,
    describe_population,
    weigh_annotators,
)
from pipeline.routing.calibration_result import Findings, Savings, ScopeCalibration, SplitCount
from pipeline.routing.calibration_words import (
    say_budget,
    say_curve,
    say_forecast,
    say_savings,
    say_summary,
    say_verdict,
)
from pipeline.routing.certificates import Register
from pipeline.routing.certifying import Tested, certify_policy
from pipeline.routing.drift import watch_audits
from pipeline.routing.fitting import Fitted, fit, probabilities_of
from pipeline.routing.known_scopes import name_scope
from pipeline.routing.observations import Observations, Unit, observe, read_scopes
from pipeline.routing.response import Response, measure_response
from pipeline.routing.splits import Splits
from pipeline.routing.truth import measure_truth
from pipeline.stats.label_budget import labels_needed
from pipeline.stats.reliability import Reliability, measure_reliability
from pipeline.store import Store
from pipeline.types import (
    GRADE,
    Certificate,
    Destination,
    Fault,
    Owner,
    RoutingPolicy,
    Split,
)

__all__ = ["calibrate"]

_SPLITS: Final[tuple[Split, ...]] = get_args(Split)
_CHAINS: Final = 2
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Shares of drafts at which a dry run looks ahead.
_STEPS: Final = 20


def calibrate(
    store: Store,
    policy: RoutingPolicy,
    *,
    by: str,
    scope: str = "",
    constructed: bool = False,
    dry_run: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[ScopeCalibration, ...]:
    """Calibrate the judges of a store, and put what comes of it in force.

    Args:
        store: Where drafts and labels are, and where splits, looks and certificates are kept.
        policy: What certificates are for.
        by: Who does it, for the record.
        scope: Beginning of the hash of the scopes that are wanted; empty for every one with labels.
        constructed: Whether levels that tasks give their own solutions count where no expert said anything.
        dry_run: Leave the labels that certify alone, and put nothing in force.
        clock: For tests.

    Returns:
        One result per scope, the one that was graded in last first. Without any label the newest scope
        alone, which then says so.

    Raises:
        GraderError: ``no_drafts`` if no judge drafted anything, ``unknown_scope`` if no scope begins so,
            ``labels_used`` if labels that would certify were used otherwise.
    """
    labels = _gather_labels(store, constructed=constructed)
    scopes = [one for one in read_scopes(store) if one.content_hash().startswith(scope.lower())]
    if not scopes:
        raise _refuse(scope)
    observed = [observe(store, one, labels, policy) for one in scopes]
    wanted = observed if scope else [one for one in observed if one.labelled] or observed[:1]
    accepted = frozenset(
        line.grading_id for line in store.list_gradings() if line.destination is Destination.ACCEPT
    )
    run = _Run(store, policy, Splits(store), by, dry_run, clock(), accepted)
    return tuple(run.calibrate(one) for one in wanted)


@dataclass(frozen=True, slots=True)
class _Run:
    """What is the same for all scopes of one calibration."""

    store: Store
    policy: RoutingPolicy
    splits: Splits
    by: str
    dry_run: bool
    at: datetime
    accepted: frozenset[str]

    def calibrate(self, observed: Observations) -> ScopeCalibration:
        """Return what one scope came to, after it was put in force."""
        fitted = fit(observed, self.splits, self.policy)
        assigned = self.splits.assign(
            (label.submission_id for label in observed.labels), observed.scope.rubric
        )
        tested: Sequence[Tested] = ()
        taken_back = ""
        if not self.dry_run:
            tested, taken_back = self._certify(observed, fitted)
        findings = self._measure(observed, fitted, assigned, tested)
        population = describe_population(observed.units, self.accepted)
        labelled = observed.labelled
        is_constructed = any(unit.constructed for unit in labelled)
        raters = {unit.first.rater for unit in labelled if unit.first is not None}
        tasks = {unit.task for unit in labelled}
        return ScopeCalibration(
            scope=observed.scope,
            names=name_scope(self.store, observed.scope),
            policy=self.policy,
            constructed=is_constructed,
            dry_run=self.dry_run,
            drafts=len(observed.units),
            labelled=len(labelled),
            tasks=len(tasks),
            raters=len(raters),
            unjudged=observed.unjudged,
            left_out={**observed.left_out, **observed.labels_left_out},
            splits=_count_splits(labelled, assigned),
            calibrator=fitted.calibrator,
            findings=findings,
            truth=measure_truth(population),
            alarm=watch_audits(population.judged, self.policy.alpha, self.policy.delta),
            savings=None if taken_back else self._price(findings, labelled),
            notes=tuple(_list_notes(labelled, findings, len(raters), measure_response(self.store, observed))),
            taken_back=bool(taken_back),
            verdict=taken_back or say_verdict(findings, self.policy, dry_run=self.dry_run),
            summary=say_summary(
                findings,
                labelled=len(labelled),
                drafts=len(observed.units),
                tasks=len(tasks),
                raters=len(raters),
                constructed=is_constructed,
            ),
        )

    def _certify(self, observed: Observations, fitted: Fitted) -> tuple[list[Tested], str]:
        """Return what is in force now, and who took any of it back and why; empty if nobody did.

        What was issued before stays the same certificate, and one that was taken back stays so.
        """
        tested = certify_policy(observed, fitted, self.splits, self.policy, by=self.by, at=self.at)
        register = Register(self.store, clock=lambda: self.at)
        if tested or fitted.calibrator is not None:
            register.put(fitted.calibrator, [one.certificate for one in tested])
        kept = {_without_issue(one.certificate): one for one in reversed(register.list_all())}
        found = [kept[_without_issue(one.certificate)] for one in tested]
        reasons = (
            f"Taken back by {one.revoked_by}: {one.revoked_because}. Nothing may stand alone on it."
            for one in found
            if one.revoked_at is not None
        )
        return [
            replace(one, certificate=issued.certificate) for one, issued in zip(tested, found, strict=True)
        ], next(reasons, "")

    def _measure(
        self,
        observed: Observations,
        fitted: Fitted,
        assigned: Mapping[str, Split],
        tested: Sequence[Tested],
    ) -> tuple[Findings, ...]:
        reported = self.splits.use(
            observed.labels, "report", observed.scope, test=f"report of {self.policy.content_hash()}"
        )
        report = observed.select(reported)
        seen = [unit for unit in observed.labelled if assigned.get(unit.submission_id) in ("fit", "report")]
        certify = sum(split == "certify" for split in assigned.values())
        titles = {criterion.id: criterion.title for criterion in observed.rubric.criteria}
        by_criterion = {one.certificate.criterion: one for one in tested}
        look = self.splits.count_looks(observed.scope) + 1
        names = [GRADE, *observed.criteria]
        asked = {GRADE} if self.policy.by == "grade" else set(observed.criteria)
        findings = []
        for name in names:
            found = by_criterion.get(name)
            reliability = _measure_reliability(report, fitted, name)
            if name not in asked:
                budget = ""
            elif self.dry_run:
                budget = self._forecast(reliability, certify, look, len(asked))
            else:
                budget = self._say_budget(found)
            agreement = compare_judge(seen, name)
            findings.append(
                Findings(
                    criterion=name,
                    title=titles.get(name, "The grade"),
                    curve=say_curve(fitted.calibrator, name, fitted.reasons.get(name, "")),
                    reliability=reliability,
                    judge=agreement,
                    people=compare_people(observed.labelled, name),
                    annotators=weigh_annotators(seen, name),
                    passes=count_passes(agreement) if name == GRADE else None,
                    certificate=found.certificate if found else None,
                    outlooks=found.outlooks if found else (),
                    budget=budget,
                )
            )
        return tuple(findings)

    def _say_budget(self, found: Tested | None) -> str:
        certificate = found.certificate if found is not None else None
        present = certificate.coverage if certificate and certificate.threshold is not None else None
        outlooks = found.outlooks if found is not None else ()
        return say_budget(certificate, outlooks, present, len(self.policy.looks))

    def _forecast(self, reliability: Reliability, certify: int, look: int, tests: int) -> str:
        """Return what the labels set aside would probably certify, judged by those of the report."""
        if look > len(self.policy.looks):
            return say_forecast(certify, None, None, looks=len(self.policy.looks))
        level = self.policy.delta * self.policy.looks[look - 1] / tests / _CHAINS
        curve = reliability.curve
        last = len(curve.coverage) - 1
        places = sorted({step * last // _STEPS for step in range(_STEPS + 1)}) if last >= 0 else []
        needs = {
            curve.coverage[place]: needed
            for place in places
            if (needed := labels_needed(self.policy.alpha, level, curve.risk[place], curve.coverage[place]))
            is not None
        }
        within = max((share for share, needed in needs.items() if needed <= certify), default=None)
        return say_forecast(certify, within, min(needs.values(), default=None))

    def _price(self, findings: Sequence[Findings], labelled: Iterable[Unit]) -> Savings | None:
        issued = [one.certificate for one in findings if one.certificate is not None]
        if not issued or any(one.threshold is None for one in issued):
            return None
        share = min(one.coverage or 0.0 for one in issued)
        seconds = [
            label.seconds for unit in labelled for label in unit.labels[:1] if label.seconds is not None
        ]
        return say_savings(share, _bound_of(issued, share), self.policy, seconds)


def _without_issue(certificate: Certificate) -> str:
    """Return a hash of what a certificate says, whenever and by whomever it was issued."""
    return certificate.model_copy(update={"issued_at": _NO_TIME, "issued_by": ""}).content_hash()


def _gather_labels(store: Store, *, constructed: bool) -> list[Label]:
    """Return the labels that count; what an expert said goes before what a task's author made up."""
    labels = read_labels(store)
    if constructed:
        known = {label.submission_id for label in labels}
        labels += [label for label in constructed_labels(store) if label.submission_id not in known]
    return labels


def _measure_reliability(report: Sequence[Unit], fitted: Fitted, criterion: str) -> Reliability:
    """Return what probabilities are worth on units that nothing was made with."""
    calibrator = fitted.calibrator
    known = calibrator is not None and any(curve.criterion == criterion for curve in calibrator.curves)
    units = [unit for unit in report if known and criterion in unit.wrong and criterion in unit.features]
    if calibrator is None:
        return measure_reliability([], [])
    sure = probabilities_of(calibrator, units, criterion)
    return measure_reliability(
        sure, [not unit.wrong[criterion] for unit in units], [unit.task for unit in units]
    )


def _count_splits(labelled: Sequence[Unit], assigned: Mapping[str, Split]) -> dict[Split, SplitCount]:
    return {
        split: SplitCount(
            submissions=sum(assigned.get(unit.submission_id) == split for unit in labelled),
            labels=sum(len(unit.labels) for unit in labelled if assigned.get(unit.submission_id) == split),
        )
        for split in _SPLITS
    }


def _list_notes(
    labelled: Sequence[Unit], findings: Sequence[Findings], raters: int, response: Response
) -> Iterable[str]:
    if not labelled:
        yield (
            "No label counts for these drafts: let people review at the desk, or import a table with"
            " nki-grader labels import FILE --format expert."
        )
    elif raters == 1 and not all(unit.constructed for unit in labelled):
        yield "One person gave all labels, so that person's habits count as the truth."
    if response.waiting:
        yield (
            f"{response.waiting} of {response.drawn} submissions that chance drew have no answer yet. If"
            " people leave out what is hard no test can tell: have all answered before you trust a"
            " certificate."
        )
    made_up = sum(unit.constructed for unit in labelled)
    if 0 < made_up < len(labelled):
        yield f"{made_up} of {len(labelled)} labelled drafts have constructed labels alone."
    for one in findings:
        table = one.judge.table
        given = [level for level in range(len(table)) if any(row[level] for row in table)]
        if one.judge.exact.value is not None and len(given) == 1:
            what = ("fail", "pass")[given[0]] if one.is_grade else f"level {given[0]}"
            yield f"{one.title}: people gave {what} every time, so a judge cannot show that it tells apart."


def _bound_of(issued: Sequence[Certificate], share: float) -> float:
    """Return an upper bound of wrong ones among accepted grades: of several criteria any may be wrong."""
    if issued[0].mode == "expected":
        # Its bound is of all drafts.
        bounds = sum(one.bound if one.bound is not None else one.alpha for one in issued)
        return min(1.0, bounds / share) if share else 1.0
    return min(1.0, sum(one.bound if one.bound is not None else 1.0 for one in issued))


def _refuse(scope: str) -> GraderError:
    if scope:
        code, message = "unknown_scope", f"no scope's hash begins with {scope[:64]!r}"
        remedy = "nki-grader judge list shows all of them"
    else:
        code, message = "no_drafts", "no judge has drafted anything in this database yet"
        remedy = "grade submissions with it first"
    return GraderError(Fault(owner=Owner.ENVIRONMENT, code=code, message=message, remedy=remedy))
