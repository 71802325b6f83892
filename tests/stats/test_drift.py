"""The alarm's evidence by hand, its false alarms in a small simulation, and tests between windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stats.drift import (
    adjust_p_values,
    compare_distributions,
    compare_histograms,
    compare_rates,
    measure_stability,
    start_alarm,
)


def test_evidence_is_the_mean_of_likelihood_ratios() -> None:
    alarm = start_alarm(0.05, 0.05).after([True, False])
    risks = [0.05**0.9, 0.05**0.8, 0.05**0.7, 0.05**0.55, 0.05**0.4]
    ratios = [risk / 0.05 * (1 - risk) / 0.95 for risk in risks]
    assert alarm.evidence == pytest.approx(sum(ratios) / 5)
    assert (alarm.n, alarm.errors, alarm.raised_at) == (2, 1, None)


def test_an_alarm_before_any_audit_is_quiet() -> None:
    assert start_alarm(0.05, 0.1).evidence == 1.0
    assert start_alarm(0.05, 0.1).after([]) == start_alarm(0.05, 0.1)


def test_only_wrong_ones_raise_it_soon_and_it_stays_raised() -> None:
    # With two errors the mixture is below 20, with three it is above: (1/5) sum of (risk / alpha)^n at
    # risk / alpha = 1.35, 1.82, 2.46, 3.85, 6.03 is 12.7 and 63.
    alarm = start_alarm(0.05, 0.05).after([True] * 3)
    assert alarm.raised_at == 3
    later = alarm.after([False] * 500)
    assert later.evidence < 1
    assert later.raised_at == 3


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 60))
def test_going_on_night_by_night_is_the_same_as_going_through_at_once(errors: list[bool], cut: int) -> None:
    start = start_alarm(0.1, 0.1)
    assert start.after(errors[:cut]).after(errors[cut:]) == start.after(errors)


def test_false_alarms_stay_below_delta_under_peeking_after_each_item() -> None:
    generator = np.random.default_rng(11)
    raised = sum(
        start_alarm(0.1, 0.1).after((generator.random(200) < 0.1).tolist()).raised_at is not None
        for _ in range(200)
    )
    # Binomial(200, 0.1) exceeds 34 with probability 0.001.
    assert raised <= 34


@pytest.mark.parametrize(("alpha", "delta"), [(0.0, 0.1), (0.1, 1.0)])
def test_a_claim_that_is_none_is_refused(alpha: float, delta: float) -> None:
    with pytest.raises(ValueError):
        start_alarm(alpha, delta)


def test_two_windows_that_are_equal_show_no_change() -> None:
    values = [place / 50 for place in range(50)]
    assert compare_distributions("confidence", values, values).p_value == pytest.approx(1.0)
    assert compare_histograms("clarity", [10, 20, 30], [10, 20, 30]).p_value == pytest.approx(1.0)
    assert compare_rates("escalated", (10, 50), (10, 50)).p_value == pytest.approx(1.0)
    assert measure_stability([10, 20, 30], [10, 20, 30]) == pytest.approx(0.0)


def test_windows_without_overlap_are_apart() -> None:
    found = compare_distributions("confidence", [0.1] * 30, [0.9] * 30)
    assert found.statistic == 1.0
    assert found.p_value is not None
    assert found.p_value < 1e-9


def test_g_by_hand() -> None:
    # Expected 25 everywhere: G = 2 (2 * 30 ln 1.2 + 2 * 20 ln 0.8) = 4.0271, P(chi2_1 > 4.0271) = 0.0448.
    found = compare_histograms("clarity", [30, 20], [20, 30])
    assert found.statistic == pytest.approx(4.0271, abs=1e-4)
    assert found.p_value == pytest.approx(0.0448, abs=1e-4)


def test_sparse_levels_join_their_neighbours() -> None:
    sparse = compare_histograms("clarity", [1, 29, 0, 20, 0], [0, 20, 0, 29, 1])
    assert sparse.statistic == compare_histograms("clarity", [30, 20], [20, 30]).statistic


def test_fishers_tea() -> None:
    # The lady tasting tea: 3 of 4 against 1 of 4 has p = 34 / 70.
    found = compare_rates("escalated", (3, 4), (1, 4), minimum=4)
    assert found.p_value == pytest.approx(34 / 70)
    assert found.statistic == pytest.approx(-0.5)


def test_too_little_has_a_reason_and_no_p_value() -> None:
    assert (
        compare_distributions("confidence", [], [0.5] * 30).reason == "too few: 0 of at least 20 in a window"
    )
    assert compare_rates("escalated", (0, 0), (0, 19)).p_value is None
    assert compare_histograms("clarity", [19, 0], [20, 0]).p_value is None
    constant = compare_histograms("clarity", [40, 0], [40, 0])
    assert (constant.p_value, constant.reason) == (None, "nearly everything lies in one category")
    assert measure_stability([0, 0], [1, 2]) is None


def test_adjusted_p_values_by_hand() -> None:
    # 0.01 * 4/1, 0.02 * 4/2, 0.03 * 4/3, 0.5 * 4/4, from the largest down never rising.
    assert adjust_p_values([0.5, 0.01, 0.03, 0.02]) == pytest.approx((0.5, 0.04, 0.04, 0.04))
    assert adjust_p_values([]) == ()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError):
        compare_distributions("confidence", [float("nan")] * 30, [0.5] * 30)
    with pytest.raises(ValueError):
        compare_rates("escalated", (3, 2), (0, 30))
    with pytest.raises(ValueError):
        measure_stability([1], [1, 2])
    with pytest.raises(ValueError):
        adjust_p_values([1.2])
