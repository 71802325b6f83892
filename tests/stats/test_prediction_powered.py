"""Means from labels and predictions: ppi-python's printed intervals, and cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stats.prediction_powered import (
    Stratum,
    correct_prevalence,
    estimate_powered_mean,
    estimate_stratified_mean,
    estimate_weighted_mean,
)

LABELS = [int(digit) for digit in "10110111011011101101"]
PREDICTIONS = [int(digit) for digit in "10111110011011111101"]
UNLABELLED = [1] * 150 + [0] * 50


@pytest.mark.parametrize(
    ("weight", "low", "high"),
    [
        (0.0, 0.49916346, 0.90083654),
        (1.0, 0.52130437, 0.87869563),
        # Tuned, as ppi-python prints it, and by the closed form.
        (None, 0.53942404, 0.86057596),
        (None, 0.53942498, 0.86057502),
    ],
)
def test_intervals_agree_with_the_authors_implementation(
    weight: float | None, low: float, high: float
) -> None:
    found = estimate_powered_mean(LABELS, PREDICTIONS, UNLABELLED, weight=weight, quantile="normal")
    assert found.estimate.value == pytest.approx(0.7)
    assert found.estimate.interval is not None
    assert found.estimate.interval.low == pytest.approx(low, abs=1e-5)
    assert found.estimate.interval.high == pytest.approx(high, abs=1e-5)
    if weight is None:
        assert found.weight == pytest.approx(0.606061, abs=1e-6)


def test_few_labels_take_students_quantile() -> None:
    normal = estimate_powered_mean(LABELS, PREDICTIONS, UNLABELLED, quantile="normal")
    student = estimate_powered_mean(LABELS, PREDICTIONS, UNLABELLED)
    assert normal.estimate.interval is not None
    assert student.estimate.interval is not None
    # t(0.975, 19) = 2.0930 against 1.9600.
    widened = (student.estimate.interval.high - 0.7) / (normal.estimate.interval.high - 0.7)
    assert widened == pytest.approx(2.0930 / 1.9600, abs=1e-4)


def test_rogan_and_gladen_correct_a_share() -> None:
    assert correct_prevalence(LABELS, PREDICTIONS, UNLABELLED).value == pytest.approx(0.7)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    found = correct_prevalence([0, 1] * 20, [1, 1] * 20, [1, 0] * 20)
    assert found.value is None
    assert "no better than chance" in found.reason


def test_a_constant_judge_leaves_the_mean_of_the_labels() -> None:
    found = estimate_powered_mean(LABELS, [1] * 20, [1] * 200)
    assert found.weight == 0.0
    assert found.estimate.value == pytest.approx(0.7)


def test_a_stratum_with_audits_by_hand() -> None:
    # 40 escalated, mean 0.5. 160 accepted that the judge calls 1, of which 40 audited, 10 of them wrong:
    # 0.2 * 0.5 + 0.8 * (1 - 0.25) = 0.7.
    strata = [
        Stratum([1.0, 0.0] * 20, [1.0] * 40, []),
        Stratum([0.0] * 10 + [1.0] * 30, [1.0] * 40, [1.0] * 120),
    ]
    finite = estimate_stratified_mean(strata)
    assert finite.estimate.value == pytest.approx(0.7)
    assert finite.estimate.n == 80
    # s^2 of ten -1 and thirty 0: 40/39 * 0.25 * 0.75; times 0.8^2 (1 - 40/160) / 40.
    variance = 0.8**2 * (1 - 40 / 160) * (40 / 39 * 0.1875) / 40
    assert finite.standard_error == pytest.approx(math.sqrt(variance))
    # The population's own spread, 0.7 * 0.3, over its 200 items comes on top.
    super_population = estimate_stratified_mean(strata, population="super")
    assert super_population.standard_error == pytest.approx(math.sqrt(variance + 0.21 / 200))


def test_a_population_that_is_labelled_throughout_leaves_nothing_open() -> None:
    found = estimate_stratified_mean([Stratum([1.0, 0.0] * 20, [0.5] * 40, [])])
    assert found.estimate.value == pytest.approx(0.5)
    assert found.estimate.interval is not None
    assert (found.estimate.interval.low, found.estimate.interval.high) == (0.5, 0.5)


def test_too_few_audits_make_no_number_however_many_escalations_are_labelled() -> None:
    found = estimate_stratified_mean(
        [Stratum([1.0] * 500, [1.0] * 500, []), Stratum([1.0] * 19, [1.0] * 19, [1.0] * 100)]
    )
    assert found.estimate.value is None
    assert found.estimate.reason == "too few: 19 of at least 20"


def test_audits_without_an_error_still_leave_some_room() -> None:
    found = estimate_stratified_mean([Stratum([1.0] * 50, [1.0] * 50, [1.0] * 950)])
    assert found.estimate.interval is not None
    # 0.025^(1/50) = 0.92888: a share of 7.1 % wrong would show none in fifty one time in forty.
    assert found.estimate.interval.low == pytest.approx(0.92888, abs=1e-5)
    assert found.estimate.interval.high == 1.0


def test_unequal_probabilities_weigh_by_their_inverse() -> None:
    # Of 40 right ones half were drawn, of 160 wrong ones an eighth.
    values, chances = [1.0] * 20 + [0.0] * 20, [0.5] * 20 + [0.125] * 20
    for size in (200, None):
        assert estimate_weighted_mean(values, chances, size=size).estimate.value == pytest.approx(0.2)
    known = estimate_weighted_mean(values, chances, size=200)
    assert known.standard_error == pytest.approx(math.sqrt(20 * 0.5 * 4) / 200)
    stratum = Stratum([0.0] * 40, values, [0.2] * 160, probabilities=chances)
    # Mean prediction (20 + 32) / 200, mean of label minus prediction -0.2.
    assert estimate_stratified_mean([stratum]).estimate.value == pytest.approx(0.26 - 0.2)


@pytest.mark.parametrize("n", [0, 1, 19])
def test_too_few_labels_are_said_and_nothing_fails(n: int) -> None:
    reason = f"too few: {n} of at least 20"
    labels = [1.0] * n
    assert estimate_powered_mean(labels, labels, [1.0] * 50).estimate.reason == reason
    assert estimate_weighted_mean(labels, [0.5] * n).estimate.reason == reason
    assert correct_prevalence(labels, labels, [1.0] * 50).reason == reason
    assert estimate_stratified_mean([Stratum(labels, labels, [1.0] * 50)]).estimate.reason == reason


def test_an_empty_population_has_no_mean() -> None:
    assert estimate_stratified_mean([]).estimate.reason == "there is nothing to estimate"
    assert estimate_stratified_mean([Stratum([], [], [])]).estimate.value is None


@pytest.mark.parametrize("values", [[1.5] * 20, [float("nan")] * 20, [0.5] * 21])
def test_what_does_not_fit_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError):
        estimate_powered_mean(values, [0.5] * 20, [])
    with pytest.raises(ValueError):
        estimate_weighted_mean([0.5] * 20, [0.0] * 20)


def test_a_biased_judge_leaves_the_stratified_estimate_without_bias() -> None:
    generator = np.random.default_rng(5)
    found, size, audited = [], 400, 40
    for _ in range(400):
        truth = (generator.random(size) < 0.6).astype(float)
        lenient = np.maximum(truth, generator.random(size) < 0.5).astype(float)
        drawn = generator.permutation(size)
        inside, outside = drawn[:audited], drawn[audited:]
        parts = (values.tolist() for values in (truth[inside], lenient[inside], lenient[outside]))
        estimate = estimate_stratified_mean([Stratum(*parts)])
        assert estimate.estimate.value is not None
        found.append(estimate.estimate.value - truth.mean())
    # Label minus prediction has variance 0.4 * 0.5 * (1 - 0.2) = 0.16: the mean of 400 errors has standard
    # error sqrt(0.9 * 0.16 / 40 / 400) = 0.003; the judge itself is off by 0.2.
    assert abs(np.mean(found)) < 4 * 0.003


shares = st.lists(st.floats(0, 1), min_size=20, max_size=40)


@given(shares, st.integers(0, 30), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_interval_is_ever_nan_and_each_holds_its_value(
    labels: list[float], more: int, judged: float
) -> None:
    for found in (
        estimate_powered_mean(labels, [judged] * len(labels), [judged] * more),
        estimate_stratified_mean([Stratum(labels, labels[::-1], [judged] * more)], population="super"),
        estimate_weighted_mean(labels, [0.3] * len(labels)),
    ):
        assert found.estimate.value is not None
        assert found.estimate.interval is not None
        low, high = found.estimate.interval.low, found.estimate.interval.high
        assert 0 <= low <= found.estimate.value <= high <= 1
