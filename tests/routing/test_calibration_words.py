"""Sentences of a calibration: what is saved, what more labels would buy, and what a dry run expects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.routing.calibration_measures import count_passes
from pipeline.routing.calibration_result import Findings
from pipeline.routing.calibration_words import say_budget, say_forecast, say_savings, say_verdict
from pipeline.stats.agreement import compare_pairs
from pipeline.stats.label_budget import Outlook
from pipeline.types import Certificate
from tests.report.calibrated import POLICY, PROMISE, REFUSAL, calibration, certificate


def test_savings_and_costs_by_hand() -> None:
    found = say_savings(0.6, 0.05, POLICY, [600.0] * 30)
    # 60 of 100 drafts at 10 minutes are 10 hours at 120; 5 % of them are 3 wrong grades at 60.
    assert (found.accepted, found.minutes, found.saved, found.wrong, found.cost) == pytest.approx(
        (60, 10, 1200, 3, 180)
    )
    assert (
        "saves 10.0 expert hours or 1,200 USD (median of 30 assessments: 10.0 minutes each)" in found.sentence
    )
    assert (
        "At most 3.0 of these are wrong, which costs at most 180 USD, with confidence 90 %." in found.sentence
    )


def test_time_of_fewer_than_twenty_assessments_is_no_number() -> None:
    found = say_savings(0.6, 0.05, POLICY, [600.0] * 19)
    assert (found.minutes, found.saved) == (None, None)
    assert "19 assessments is known, at least 20 are needed" in found.sentence


@pytest.mark.parametrize(
    ("outlooks", "present", "words"),
    [
        (
            (Outlook(50, 0.1, 0.3), Outlook(200, 0.5, 0.8)),
            None,
            "let 50 % stand alone on average, and anything",
        ),
        ((Outlook(200, 0.01, 0.02),), None, "Even 200 more labels would hardly certify anything"),
        ((Outlook(200, 0.625, 1.0),), 0.62, "would hardly change what may stand alone now"),
        ((), None, "there is nothing to go by yet"),
    ],
    ids=["some", "none", "no gain", "unknown"],
)
def test_what_more_labels_would_buy(outlooks: tuple[Outlook, ...], present: float | None, words: str) -> None:
    refused = certificate(threshold=0.8 if present else None)
    assert words in say_budget(refused, outlooks, present, 3)


def test_after_the_last_look_more_labels_buy_nothing() -> None:
    last = certificate(threshold=None).model_copy(update={"look": 3})
    assert "all 3 looks are used" in say_budget(last, (Outlook(200, 0.5, 0.8),), None, 3)
    # Nothing was tested at the third, so that it is left.
    untested = last.model_copy(update={"level": 0.0})
    assert "let 50 % stand alone" in say_budget(untested, (Outlook(200, 0.5, 0.8),), None, 3)


def test_a_dry_run_says_whether_what_is_set_aside_would_do() -> None:
    assert "enough, as it looks, to let about 62 %" in say_forecast(210, 0.62, 150)
    assert "it takes about 150" in say_forecast(20, None, 150)
    assert "cannot be said" in say_forecast(20, None, None)
    assert "All 3 looks of this policy are used" in say_forecast(20, None, None, looks=3)


def test_a_judge_without_levels_of_its_own_has_nothing_to_certify_by_criterion() -> None:
    policy = POLICY.model_copy(update={"by": "criteria"})
    assert "this judge gave no level of any" in say_verdict((), policy, dry_run=False)


def test_one_refused_criterion_is_named_in_the_verdict() -> None:
    policy = POLICY.model_copy(update={"by": "criteria"})
    grade, judgement = calibration().findings
    by_name = {"clarity": certificate(threshold=0.8), "judgement": certificate(threshold=None)}
    findings = [
        *(_with(judgement, title, issued) for title, issued in by_name.items()),
        _with(grade, "The grade", None),
    ]
    verdict = say_verdict(findings, policy, dry_run=False)
    assert verdict.startswith("Not certified: judgement (1 of 2 criteria)")
    assert REFUSAL in verdict
    assert say_verdict(findings[:1], policy, dry_run=False).endswith(PROMISE)
    assert "Dry run" in say_verdict(findings[2:], policy, dry_run=True)


def test_sensitivity_and_specificity_by_hand() -> None:
    # People pass 30, of which the judge passes 24, and fail 20, of which it fails 15.
    judge = [1] * 24 + [0] * 6 + [0] * 15 + [1] * 5
    people = [1] * 30 + [0] * 20
    found = count_passes(compare_pairs(judge, people, range(50), 2))
    assert (found.sensitivity.value, found.sensitivity.n) == (0.8, 30)
    assert (found.specificity.value, found.specificity.n) == (0.75, 20)


def test_agreement_without_exception_still_has_an_interval() -> None:
    found = compare_pairs([3] * 40, [3] * 40, [number % 10 for number in range(40)], 5)
    assert found.exact.value == 1.0
    assert found.exact.interval is not None
    # Wilson's of 10 clusters in 10: 10 / (10 + 1.96^2).
    assert found.exact.interval.low == pytest.approx(0.7225, abs=1e-4)


def _with(findings: Findings, title: str, issued: Certificate | None) -> Findings:
    return replace(findings, title=title, certificate=issued)
