"""What a calibration says in words: the verdict, the paragraph, the budget and the price."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from pipeline.routing.calibration_result import NOT_EVIDENCE, Findings, Savings
from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.label_budget import Outlook
from pipeline.types import Calibrator, Certificate, RoutingPolicy

__all__ = ["say_budget", "say_curve", "say_forecast", "say_savings", "say_summary", "say_verdict"]

_HUNDRED: Final = 100
#: A chance below which nobody should count on it, and one above which it goes without saying.
_SLIM: Final = 0.05
_SURE: Final = 0.995


def say_verdict(findings: Sequence[Findings], policy: RoutingPolicy, *, dry_run: bool) -> str:
    """Return what may stand alone, in one line."""
    issued = [one.certificate for one in findings if one.certificate is not None]
    if not issued:
        if dry_run:
            return "Dry run: nothing was tested, and nothing is in force."
        return "Nothing may stand alone: the policy certifies criteria, and this judge gave no level of any."
    refused = [one for one in findings if one.certificate is not None and one.certified is None]
    if policy.by == "grade":
        return issued[0].reason
    if not refused:
        least = min(issued, key=lambda one: one.coverage or 0.0)
        return (
            f"Every one of {len(issued)} criteria is certified; a grade stands alone where all its levels"
            f" do. The least covered: {least.reason}"
        )
    names = ", ".join(one.title for one in refused)
    first = refused[0].certificate
    assert first is not None
    return (
        f"Not certified: {names} ({len(refused)} of {len(issued)} criteria); grades with a level of these"
        f" go to people. {first.reason}"
    )


def say_summary(
    findings: Sequence[Findings],
    *,
    labelled: int,
    drafts: int,
    tasks: int,
    raters: int,
    constructed: bool,
) -> str:
    """Return what a reader has to know beside the verdict, in one plain paragraph."""
    parts = [f"All of it rests on {NOT_EVIDENCE}."] if constructed else []
    parts.append(
        f"Of {_count(drafts, 'draft')} {_count(labelled, 'is', 'are')} labelled, for {_count(tasks, 'task')}"
        f" and first by {_count(raters, 'person', 'people')}."
    )
    if findings:
        grade = findings[0]
        parts += [_say_certificate(grade.certificate), _say_confidence(grade), _say_agreement(grade)]
    return " ".join(part for part in parts if part)


def say_budget(
    certificate: Certificate | None, outlooks: Sequence[Outlook], present: float | None, looks: int
) -> str:
    """Return what more labels would buy, or why that cannot be said.

    Args:
        certificate: What was found; None where nothing was tested.
        outlooks: What so many more labels would buy at the next look.
        present: Share of drafts that may stand alone now.
        looks: How many the policy has in all.
    """
    if certificate is None:
        return ""
    if certificate.look - (certificate.level == 0) >= looks:
        return f"More labels would buy nothing under this policy: all {_count(looks, 'look')} are used."
    if not outlooks:
        return "It cannot be said what more labels would buy: there is nothing to go by yet."
    best = max(outlooks, key=lambda one: one.coverage)
    gain = best.coverage - (present or 0.0)
    if best.chance < _SLIM:
        return (
            f"Even {best.more} more labels would hardly certify anything: as it looks, too many of these"
            " are wrong."
        )
    if present and gain < 0.01:
        return f"{best.more} more labels would hardly change what may stand alone now."
    words = (
        f"If they turn out like those tested, {best.more} more labels to certify (about a third of all labels"
        f" go there) would let {_percent(best.coverage)} stand alone on average"
    )
    if best.chance > _SURE:
        return f"{words}."
    return f"{words}, and anything at all with a chance of {_percent(best.chance)}."


def say_curve(calibrator: Calibrator | None, criterion: str, reason: str) -> str:
    """Return how probabilities of a criterion are made, or why there are none."""
    curve = (
        next((one for one in calibrator.curves if one.criterion == criterion), None) if calibrator else None
    )
    if curve is None:
        return f"No probabilities: {reason or 'no label was given'}"
    flat = f"; every draft is as likely: {reason}" if reason else ""
    names = {"isotonic": "isotonic regression", "platt": "Platt's sigmoid"}
    return f"Probabilities by logistic regression and {names[curve.method]}, fitted on {curve.n} labels{flat}"


def say_forecast(certify: int, share: float | None, needed: int | None, *, looks: int = 0) -> str:
    """Return what the labels that are set aside would probably certify.

    Args:
        certify: How many there are.
        share: Of drafts that they would let stand with a chance of 80 %; None if none.
        needed: Fewest that would do for anything; None if no number would.
        looks: How many the policy had, where none is left; 0 otherwise.
    """
    if looks:
        return f"All {_count(looks, 'look')} of this policy are used: nothing more can be certified under it."
    set_aside = (
        f"{_count(certify, 'labelled submission is', 'labelled submissions are')} set aside to certify"
    )
    if share is not None:
        return f"{set_aside}: enough, as it looks, to let about {_percent(share)} of drafts stand alone."
    if needed is not None:
        return f"{set_aside}; it takes about {needed}, as it looks, to certify anything."
    return f"{set_aside}; how many it takes cannot be said: too many are wrong, or too few labels to report."


def say_savings(share: float, bound: float, policy: RoutingPolicy, seconds: Sequence[float]) -> Savings:
    """Return what accepted grades save and wrong ones cost, per 100 drafts.

    Args:
        share: Of drafts that may stand alone.
        bound: Upper bound of the share of wrong ones among these.
        policy: Knows what an expert hour and a wrong grade cost.
        seconds: Active time of each assessment that is known.
    """
    accepted = _HUNDRED * share
    wrong = accepted * bound
    cost = wrong * policy.costs.wrong_grade
    minutes = statistics.median(seconds) / 60 if len(seconds) >= MINIMUM else None
    saved = accepted * minutes / 60 * policy.costs.expert_hour if minutes is not None else None
    currency = policy.costs.currency
    if minutes is None or saved is None:
        first = (
            f"Of 100 drafts about {accepted:.0f} stand alone. How much time that saves nobody can say: the"
            f" time of {len(seconds)} assessments is known, at least {MINIMUM} are needed."
        )
    else:
        first = (
            f"Of 100 drafts about {accepted:.0f} stand alone, which saves {accepted * minutes / 60:.1f}"
            f" expert hours or {saved:,.0f} {currency} (median of {len(seconds)} assessments:"
            f" {minutes:.1f} minutes each)."
        )
    second = f"At most {wrong:.1f} of these are wrong, which costs at most {cost:,.0f} {currency}"
    if policy.mode == "selective":
        return Savings(
            accepted,
            len(seconds),
            minutes,
            saved,
            wrong,
            cost,
            f"{first} {second}, with confidence {_percent(1 - policy.delta)}.",
        )
    return Savings(accepted, len(seconds), minutes, saved, wrong, cost, f"{first} {second}, on average.")


def _say_certificate(certificate: Certificate | None) -> str:
    if certificate is None or certificate.threshold is None:
        return ""
    how = (
        "a random sample of the stream"
        if certificate.sampling == "random"
        else "no random sample, so that errors are counted by task"
    )
    return (
        f"The certificate rests on {certificate.n} labelled drafts, {how}: {certificate.accepted} lie at or"
        f" above the threshold, {certificate.errors} of them wrong."
    )


def _say_confidence(grade: Findings) -> str:
    measured = grade.reliability
    if measured.calibration_error.value is None:
        return f"What the probabilities are worth cannot be said: {measured.calibration_error.reason}."
    points, span = 100 * measured.calibration_error.value, _span(measured.calibration_error)
    words = (
        f"On {measured.n} labels that nothing was made with, probabilities are"
        f" {_count(round(points), 'point')} off on average{span}"
    )
    if measured.auroc.value is None:
        return f"{words}."
    return f"{words}, and tell right from wrong with an AUROC of {measured.auroc.value:.2f}."


def _say_agreement(grade: Findings) -> str:
    judge, people = grade.judge.exact, grade.people.exact
    if judge.value is None:
        return f"How far the judge agrees with people cannot be said: {judge.reason}."
    words = f"The judge gives the same pass or fail as people in {_percent(judge.value)} of {judge.n} cases"
    if people.value is None:
        return f"{words}; how far people agree among themselves is not known ({people.reason})."
    return f"{words}; two people do in {_percent(people.value)} of {people.n}."


def _span(estimate: Estimate) -> str:
    if estimate.interval is None:
        return ""
    return f" ({100 * estimate.interval.low:.0f} to {100 * estimate.interval.high:.0f})"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
