"""How good grades truly are, from the store: what people said blind, and the judge's drafts for all the rest.

The population is what a judge drafted: grades that went to people, which people label, and grades that stand
alone, of which chance draws some for audits. What facts settled by closing a gate has no draft and needs no
estimate; it is counted apart. A grade by a person is the rubric's own arithmetic over the levels of the first
reviewer, with levels that checks settled as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.review.labels import Label, read_labels
from pipeline.routing.reference import grade_by, is_wrong
from pipeline.stats.agreement import Estimate, proportion
from pipeline.stats.intervals import wilson_interval
from pipeline.stats.prediction_powered import (
    Stratum,
    estimate_powered_mean,
    estimate_stratified_mean,
    estimate_weighted_mean,
)
from pipeline.store import GradingSummary, Store
from pipeline.types import Destination, Inspection, Judgment, Loss, Purpose, Rubric

__all__ = ["Figure", "Judged", "Population", "Truth", "measure_truth", "read_population"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A grading that a judge drafted.

    Attributes:
        grading_id: Which.
        accepted: Whether its grade stands alone.
        value: The judge's number.
        passed: The judge's pass or fail.
        true_value: A person's number; None, as the three below, where nobody gave one blind.
        true_passed: A person's pass or fail.
        wrong: Whether the judge's grade is wrong beside the person's.
        labelled_at: When the person said so.
        probability: With which chance drew it for a person; None where a rule sent it there.
    """

    grading_id: str
    accepted: bool
    value: float
    passed: bool
    true_value: float | None = None
    true_passed: bool | None = None
    wrong: bool | None = None
    labelled_at: datetime | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """What estimates speak of.

    Attributes:
        judged: Gradings with a draft that has a number.
        left_out: How many others there are, by the reason in words.
        unjudged: Labelled ones whose evidence left the person without a number; they count as not labelled.
    """

    judged: tuple[Judged, ...]
    left_out: Mapping[str, int]
    unjudged: int


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate and the sentence that says it."""

    estimate: Estimate
    sentence: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of the true quality of one population.

    Attributes:
        quality: Mean grade, 0..1, of everything a judge drafted, in strata: went to people, stands alone.
        passed: Share of these that truly pass, in the same strata.
        accepted_quality: Mean grade of what stands alone, by PPI++ where all audits had the same chance.
        accepted_wrong: Share of wrong grades among what stands alone.
    """

    quality: Figure
    passed: Figure
    accepted_quality: Figure
    accepted_wrong: Figure


def read_population(store: Store, loss: Loss, batch_id: str | None = None) -> Population:
    """Return what judges drafted, in one batch or ever, with what people said of it.

    Stages are read one by one for gradings with a label, and nothing else is.
    """
    summaries = store.list_gradings(batch_id)
    drafted = {
        draft.grading_id
        for draft in store.list_draft_levels([summary.grading_id for summary in summaries])
        if draft.level is not None and not draft.source.startswith("check:")
    }
    labelled: dict[str, list[Label]] = {}
    for label in read_labels(store):
        if label.is_independent and label.purpose is Purpose.FIRST:
            labelled.setdefault(label.grading_id, []).append(label)
    rubrics: dict[str, Rubric | None] = {}
    judged, left_out, unjudged = [], Counter[str](), 0
    for summary in summaries:
        if summary.destination in (None, Destination.HOLD):
            left_out["not graded yet"] += 1
        elif summary.grading_id not in drafted:
            left_out["no level was drafted by a judge"] += 1
        else:
            found = _read(store, summary, labelled.get(summary.grading_id, []), loss, rubrics)
            if found is None:
                left_out["the draft has no overall number"] += 1
                continue
            unjudged += summary.grading_id in labelled and found.true_value is None
            judged.append(found)
    return Population(tuple(judged), dict(left_out), unjudged)


def measure_truth(population: Population, *, confidence: float = 0.95) -> Truth:
    """Return the true mean quality, share passed and share wrong, each with an interval or a reason."""
    accepted = [one for one in population.judged if one.accepted]
    escalated = [one for one in population.judged if not one.accepted]
    audited = [one for one in accepted if _is_drawn(one)]
    waiting = sum(one.true_value is None for one in escalated)
    strata = f"{len(escalated)} went to people, {waiting} of them not labelled; {len(accepted)} stand alone"
    quality = estimate_stratified_mean(
        [_stratum(group, passes=False) for group in (escalated, accepted)], confidence=confidence
    )
    passed = estimate_stratified_mean(
        [_stratum(group, passes=True) for group in (escalated, accepted)], confidence=confidence
    )
    return Truth(
        quality=_say("the mean grade by people", quality.estimate, confidence, strata),
        passed=_say("the share that people would pass", passed.estimate, confidence, strata),
        accepted_quality=_say(
            "the mean grade by people of what stands alone",
            _accepted_mean(accepted, confidence),
            confidence,
            f"{len(audited)} of {len(accepted)} audited",
        ),
        accepted_wrong=_say(
            "the share of wrong grades among what stands alone",
            _wrong_share(audited, confidence),
            confidence,
            f"{len(audited)} of {len(accepted)} audited",
        ),
    )


def _read(
    store: Store,
    summary: GradingSummary,
    labels: list[Label],
    loss: Loss,
    rubrics: dict[str, Rubric | None],
) -> Judged | None:
    accepted = summary.destination is Destination.ACCEPT
    # The summary of what a person graded shows the person's grade, not the draft's.
    if not labels and (accepted or summary.state != "graded"):
        return _judge(summary.grading_id, accepted, summary.overall, summary.passed)
    keys = store.list_stages(summary.grading_id)
    records = {stage: store.find_stage(stage, keys[stage]) for stage in ("inspect", "judge") if stage in keys}
    inspected, judgment = records.get("inspect"), records.get("judge")
    if inspected is None or judgment is None:
        return None
    draft = Judgment.model_validate_json(judgment.output)
    own = _judge(summary.grading_id, accepted, draft.overall.value, draft.overall.passed)
    if own is None or not labels:
        return own
    sha256 = labels[0].rubric
    if sha256 not in rubrics:
        document = store.find_document(sha256)
        rubrics[sha256] = Rubric.model_validate_json(document.text) if document else None
    rubric = rubrics[sha256]
    if rubric is None:
        return own
    levels = {label.criterion: label.level for label in labels}
    inspection = Inspection.model_validate_json(inspected.output)
    truth = grade_by(levels, draft, inspection, rubric)
    if truth.value is None or truth.passed is None:
        return own
    return Judged(
        grading_id=own.grading_id,
        accepted=accepted,
        value=own.value,
        passed=own.passed,
        true_value=truth.value,
        true_passed=truth.passed,
        wrong=is_wrong(levels, draft, truth.passed, loss),
        labelled_at=labels[0].at,
        probability=labels[0].probability,
    )


def _judge(grading_id: str, accepted: bool, value: float | None, passed: bool | None) -> Judged | None:
    if value is None or passed is None:
        return None
    return Judged(grading_id, accepted, value, passed)


def _is_drawn(one: Judged) -> bool:
    return one.true_value is not None and bool(one.probability)


def _stratum(group: Iterable[Judged], *, passes: bool) -> Stratum:
    """Return a stratum; among grades that stand alone a label that chance did not draw is not used."""
    used: list[Judged] = []
    others: list[Judged] = []
    for one in group:
        counts = _is_drawn(one) if one.accepted else one.true_value is not None
        (used if counts else others).append(one)
    chances = [one.probability or 1.0 for one in used]
    return Stratum(
        labels=[float((one.true_passed if passes else one.true_value) or 0.0) for one in used],
        predictions=[float(one.passed if passes else one.value) for one in used],
        unlabelled=[float(one.passed if passes else one.value) for one in others],
        probabilities=chances if used and used[0].accepted and len(set(chances)) > 1 else None,
    )


def _accepted_mean(accepted: list[Judged], confidence: float) -> Estimate:
    stratum = _stratum(accepted, passes=False)
    if stratum.probabilities is not None:
        return estimate_stratified_mean([stratum], confidence=confidence).estimate
    return estimate_powered_mean(
        stratum.labels, stratum.predictions, stratum.unlabelled, confidence=confidence
    ).estimate


def _wrong_share(audited: list[Judged], confidence: float) -> Estimate:
    wrong = [bool(one.wrong) for one in audited]
    chances = [one.probability or 1.0 for one in audited]
    if len(set(chances)) <= 1:
        share = proportion(sum(wrong), len(wrong))
        return replace(share, interval=wilson_interval(sum(wrong), len(wrong), confidence))
    return estimate_weighted_mean(wrong, chances, confidence=confidence).estimate


def _say(what: str, estimate: Estimate, confidence: float, basis: str) -> Figure:
    if estimate.value is None:
        return Figure(estimate, f"Nobody can say {what} yet: {estimate.reason} ({basis}).")
    span = ""
    if estimate.interval is not None:
        low, high = estimate.interval.low, estimate.interval.high
        span = f", with {100 * confidence:g} % confidence {low:.3f} to {high:.3f}"
    return Figure(estimate, f"{what[0].upper()}{what[1:]} is {estimate.value:.3f}{span} ({basis}).")
