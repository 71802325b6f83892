"""How good probabilities are: cases by hand, scikit-learn's functions, too little to say anything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stats.agreement import Estimate
from pipeline.stats.intervals import Interval, wilson_interval
from pipeline.stats.reliability import Reliability, measure_reliability

#: Five things at 0.8, four of them right, and five at 0.2, one of them right: these probabilities hold.
HONEST = ([0.8] * 5 + [0.2] * 5, [1, 1, 1, 1, 0, 1, 0, 0, 0, 0])


def value_of(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


def parts_of(measured: Reliability) -> tuple[float, float, float]:
    return tuple(  # type: ignore[return-value]
        value_of(part) for part in (measured.reliability, measured.resolution, measured.uncertainty)
    )


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


def test_probabilities_that_hold_have_no_calibration_error_and_resolve() -> None:
    measured = measure_reliability(*HONEST, minimum=1)
    assert value_of(measured.calibration_error) == pytest.approx(0.0)
    # Of each five, one costs 0.64 and four cost 0.04.
    assert value_of(measured.brier) == pytest.approx(0.16)
    # Both bins lie 0.3 from the overall share, 0.5, whose variance is 0.25.
    assert parts_of(measured) == pytest.approx((0.0, 0.09, 0.25))
    assert value_of(measured.log_loss) == pytest.approx(-(0.8 * math.log(0.8) + 0.2 * math.log(0.2)))


def test_probabilities_that_promise_too_much_pay_for_it() -> None:
    measured = measure_reliability([0.9] * 10, [1] * 6 + [0] * 4, minimum=1)
    assert value_of(measured.calibration_error) == pytest.approx(0.3)
    # (6 x 0.01 + 4 x 0.81) / 10; 0.3 squared; nothing is told apart; 0.6 x 0.4.
    assert value_of(measured.brier) == pytest.approx(0.33)
    assert parts_of(measured) == pytest.approx((0.09, 0.0, 0.24))


def test_ties_count_half_in_the_area_under_the_curve() -> None:
    # Of 25 pairs 16 are in order, 8 tied and 1 the wrong way round.
    assert value_of(measure_reliability(*HONEST, minimum=1).auroc) == pytest.approx(0.8)
    # (0.35 beats 0.1, 0.8 beats both: 3 of 4 pairs.)
    four = measure_reliability([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], minimum=1)
    assert value_of(four.auroc) == pytest.approx(0.75)


def test_risk_is_counted_at_every_distinct_probability() -> None:
    curve = measure_reliability(*HONEST, minimum=1).curve
    assert curve.thresholds == (0.8, 0.2)
    assert curve.coverage == (0.5, 1.0)
    assert curve.risk == pytest.approx((0.2, 0.5))


def test_tied_things_are_accepted_in_random_order_under_the_risk_curve() -> None:
    # Five at risk 0.2, then (1 + 0.8 j) / (5 + j) for j = 1..5.
    expected = (5 * 0.2 + 1.8 / 6 + 2.6 / 7 + 3.4 / 8 + 4.2 / 9 + 5 / 10) / 10
    assert value_of(measure_reliability(*HONEST, minimum=1).aurc) == pytest.approx(expected)


def test_the_area_has_the_interval_of_a_case_worked_by_hand() -> None:
    # Shares below or above: 1 and 1/2 of the right ones, 1/2 and 1 of the wrong ones; each side's variance is
    # 2 x 0.0625 and half of it that of the mean: together 0.125. On the logit scale, around ln 3, the half
    # width is 1.95996 x 0.353553 / 0.1875 = 3.69573.
    measured = measure_reliability([0.9, 0.5, 0.7, 0.1], [1, 1, 0, 0], minimum=1)
    assert value_of(measured.auroc) == pytest.approx(0.75)
    found = interval_of(measured.auroc)
    assert (found.low, found.high) == pytest.approx((0.06933, 0.99179), abs=1e-4)


def test_it_agrees_with_scikit_learn() -> None:
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    generator = np.random.default_rng(3)
    sure = generator.uniform(0.01, 0.99, 300).round(2)
    hit = (generator.random(300) < sure**2).astype(int)
    measured = measure_reliability(sure, hit)
    assert value_of(measured.brier) == pytest.approx(brier_score_loss(hit, sure))
    assert value_of(measured.log_loss) == pytest.approx(log_loss(hit, sure))
    assert value_of(measured.auroc) == pytest.approx(roc_auc_score(hit, sure))


@given(
    st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), st.integers(0, 1)), min_size=1, max_size=60),
    st.integers(1, 12),
)
def test_the_parts_of_the_brier_score_add_up(pairs: list[tuple[float, int]], bins: int) -> None:
    sure, hit = zip(*pairs, strict=True)
    measured = measure_reliability(sure, hit, bins=bins, minimum=1)
    reliability, resolution, uncertainty = parts_of(measured)
    assert reliability - resolution + uncertainty == pytest.approx(value_of(measured.brier), abs=1e-12)


def test_bins_hold_equally_many() -> None:
    sure = np.arange(100) / 100
    assert [row.n for row in measure_reliability(sure, sure > 0.3).diagram] == [10] * 10


def test_ties_never_straddle_two_bins() -> None:
    # Eleven distinct values, one of them shared by half of all.
    sure = np.concatenate([np.full(50, 0.5), np.repeat(np.arange(10) / 20, 5)])
    rows = measure_reliability(sure, np.ones(100)).diagram
    assert sum(row.n for row in rows) == 100
    assert [row.n for row in rows if row.confidence == pytest.approx(0.5)] == [50]


def test_few_distinct_probabilities_have_a_bin_each() -> None:
    rows = measure_reliability([0.9] * 97 + [0.5] * 3, [1] * 98 + [0] * 2).diagram
    assert [(row.confidence, row.n) for row in rows] == [(pytest.approx(0.5), 3), (pytest.approx(0.9), 97)]
    assert rows[0].right == pytest.approx(1 / 3)
    assert rows[0].interval == wilson_interval(1, 3)


@pytest.mark.parametrize("n", [0, 1, 19])
def test_below_twenty_it_says_how_many_there_are_and_no_number(n: int) -> None:
    measured = measure_reliability([0.5] * n, [1] * n)
    assert (measured.n, measured.diagram, measured.curve.risk) == (n, (), ())
    assert measured.brier == Estimate(None, n, reason=f"too few: {n} of at least 20")


@pytest.mark.parametrize(("outcome", "word"), [(1, "right"), (0, "wrong")])
def test_all_alike_leaves_nothing_to_tell_apart_and_no_false_certainty(outcome: int, word: str) -> None:
    measured = measure_reliability(np.linspace(0, 1, 40), [outcome] * 40)
    assert measured.auroc == Estimate(None, 40, reason=f"everything is {word}: nothing to tell apart")
    assert measured.right.value == outcome
    assert measured.right.interval == wilson_interval(40 * outcome, 40)
    assert value_of(measured.uncertainty) == 0


def test_certain_and_wrong_costs_much_and_not_without_limit() -> None:
    measured = measure_reliability([1.0] * 20, [0] * 20)
    assert value_of(measured.log_loss) == pytest.approx(6 * math.log(10))


def test_repeating_everything_within_its_cluster_makes_nothing_surer() -> None:
    generator = np.random.default_rng(5)
    sure = generator.random(60)
    hit = (generator.random(60) < sure).astype(int)
    once = measure_reliability(sure, hit, list(range(60)))
    again = measure_reliability(np.tile(sure, 4), np.tile(hit, 4), list(range(60)) * 4)
    assert (once.clusters, again.clusters, again.n) == (60, 60, 240)
    for name in ("right", "brier", "log_loss", "calibration_error", "auroc"):
        one, other = interval_of(getattr(once, name)), interval_of(getattr(again, name))
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.002)


def test_one_cluster_has_no_interval() -> None:
    measured = measure_reliability(*HONEST, ["task"] * 10, minimum=1)
    assert measured.brier.value is not None
    assert {measured.brier.interval, measured.auroc.interval, measured.calibration_error.interval} == {None}


def test_very_many_clusters_give_the_interval_that_independence_gives() -> None:
    generator = np.random.default_rng(7)
    hit = (generator.random(20_000) < 0.8).astype(int)
    found = interval_of(measure_reliability(np.full(20_000, 0.8), hit).right)
    # 1.96 x sqrt(0.8 x 0.2 / 20,000) = 0.00554 to either side.
    assert found.high - found.low == pytest.approx(2 * 0.00554, rel=0.15)


def test_the_interval_of_the_calibration_error_reaches_down_to_none_where_there_is_none() -> None:
    generator = np.random.default_rng(11)
    sure = generator.uniform(0.5, 1, 400)
    hit = (generator.random(400) < sure).astype(int)
    measured = measure_reliability(sure, hit)
    found = interval_of(measured.calibration_error)
    assert found.low <= 0.01
    assert found.low <= value_of(measured.calibration_error) <= found.high


def test_the_order_of_things_makes_no_difference() -> None:
    sure, hit = np.array(HONEST[0]), np.array(HONEST[1])
    order = np.random.default_rng(2).permutation(10)
    one = measure_reliability(sure, hit, minimum=1)
    other = measure_reliability(sure[order], hit[order], minimum=1)
    assert value_of(other.aurc) == pytest.approx(value_of(one.aurc))
    assert other.curve.risk == pytest.approx(one.curve.risk)
    assert [row.n for row in other.diagram] == [row.n for row in one.diagram]


@pytest.mark.parametrize(
    ("sure", "hit", "message"),
    [
        ([0.5, 1.1], [0, 1], "outside 0..1"),
        ([0.5, math.nan], [0, 1], "outside 0..1"),
        ([0.5, 0.5], [0, 2], "neither 0 nor 1"),
        ([0.5], [0, 1], "one probability"),
    ],
)
def test_what_is_no_probability_or_outcome_is_refused(
    sure: list[float], hit: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measure_reliability(sure, hit)
