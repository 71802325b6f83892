"""How many labels: the exact tables of facts/judging.md 2.4."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.stats.label_budget import (
    labels_for_power,
    labels_needed,
    labels_to_certify,
    outlook,
)
from pipeline.stats.selective import binomial_tail

_TABLE = {
    0.1: {
        0.02: (114, 194, 265, 462),
        0.05: (45, 77, 105, 184),
        0.1: (22, 38, 52, 91),
        0.15: (15, 25, 34, 60),
        0.2: (11, 18, 25, 45),
    },
    0.05: {0.02: (149, 236, 313, 523), 0.05: (59, 93, 124, 208), 0.1: (29, 46, 61, 103)},
}


@pytest.mark.parametrize(
    ("level", "alpha", "errors", "n"),
    [
        (level, alpha, errors, n)
        for level, rows in _TABLE.items()
        for alpha, row in rows.items()
        for errors, n in zip((0, 1, 2, 5), row, strict=True)
    ],
)
def test_labels_to_certify_are_the_tables(level: float, alpha: float, errors: int, n: int) -> None:
    assert labels_to_certify(alpha, level, errors) == n


@pytest.mark.parametrize(
    ("alpha", "risk", "n"),
    [
        (0.05, 0.02, 184),
        (0.05, 0.03, 446),
        (0.1, 0.05, 128),
        (0.1, 0.07, 390),
        (0.15, 0.1, 207),
        (0.2, 0.15, 264),
    ],
)
def test_labels_for_80_percent_power_are_the_tables(alpha: float, risk: float, n: int) -> None:
    found = labels_for_power(alpha, 0.1, risk)
    assert found is not None
    assert found.n == n


def test_the_first_size_of_the_table_allows_five_errors() -> None:
    found = labels_for_power(0.05, 0.1, 0.02)
    assert found is not None
    assert found.errors == 5


@given(
    alpha=st.sampled_from([0.01, 0.07, 0.3, 0.6]), level=st.sampled_from([0.02, 0.1]), k=st.integers(0, 30)
)
@settings(max_examples=60, deadline=None)
def test_one_label_fewer_does_not_certify(alpha: float, level: float, k: int) -> None:
    n = labels_to_certify(alpha, level, k)
    assert binomial_tail(k, n, alpha) <= level < binomial_tail(k, n - 1, alpha)


def test_labels_in_all_are_those_above_the_threshold_over_its_coverage() -> None:
    # 184 / .62 = 296.8.
    assert labels_needed(0.05, 0.1, 0.02, 0.62) == 297
    assert labels_needed(0.05, 0.1, 0.0, 1.0) == 45


@pytest.mark.parametrize(
    ("risk", "coverage"), [(0.05, 1.0), (0.2, 1.0), (1.0, 1.0), (0.01, 0.0), (0.0499, 1.0)]
)
def test_no_number_of_labels_does_where_the_risk_is_too_high_or_nothing_is_accepted(
    risk: float, coverage: float
) -> None:
    assert labels_needed(0.05, 0.1, risk, coverage) is None


def test_rates_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="rate"):
        labels_to_certify(0.0, 0.1)
    with pytest.raises(ValueError, match="negative"):
        labels_to_certify(0.1, 0.1, -1)
    with pytest.raises(ValueError, match="risk"):
        labels_for_power(0.1, 0.1, 1.5)
    with pytest.raises(ValueError, match="coverage"):
        labels_needed(0.1, 0.1, 0.05, 2.0)


def test_no_more_labels_leave_what_is_certified_now() -> None:
    # 40 right of 40 above .5, which half the stream is: .9^40 = .015 is within .05.
    now, *_ = outlook([0.9] * 40, [0] * 40, [0.9, 0.1], (0.9, 0.1), more=(0,), alpha=0.1, level=0.1)
    assert (now.more, now.coverage, now.chance) == (0, 1.0, 1.0)
    wrong = outlook([0.9] * 40, [1] * 40, [0.9, 0.1], (0.9, 0.1), more=(0,), alpha=0.1, level=0.1)
    assert (wrong[0].coverage, wrong[0].chance) == (0.0, 0.0)


def test_more_labels_buy_more_where_present_ones_are_right() -> None:
    steps = outlook([0.9] * 20, [0] * 20, [0.9] * 10, (0.9,), alpha=0.1, level=0.05, chains=1)
    assert [step.more for step in steps] == [50, 100, 200]
    assert 0.5 < steps[0].coverage < steps[1].coverage < steps[2].coverage <= 1


def test_more_labels_buy_nothing_where_present_ones_are_wrong_or_there_is_no_stream() -> None:
    wrong = outlook([0.9] * 100, [1, 0] * 50, [0.9] * 10, (0.9,), alpha=0.05, level=0.1)
    assert all(step.coverage == 0 for step in wrong)
    assert all(step.coverage == step.chance == 0 for step in outlook([], [], [], (), alpha=0.05, level=0.1))


def test_the_same_seed_gives_the_same_outlook_without_any_label() -> None:
    first = outlook([], [], [0.9, 0.5, 0.2], (0.9, 0.2), alpha=0.1, level=0.1, seed=4)
    assert first == outlook([], [], [0.9, 0.5, 0.2], (0.9, 0.2), alpha=0.1, level=0.1, seed=4)
    assert all(0 <= step.coverage <= step.chance <= 1 for step in first)
