"""The selective certificate: golden bounds, special cases, and what it must never do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.certificates import selective as monte_carlo
from pipeline.stats.intervals import clopper_pearson_upper
from pipeline.stats.selective import (
    binomial_tail,
    certify,
    certify_cascade,
    furthest,
    grid_of,
    starts_of,
)

# facts/judging.md 4.6, one-sided.
_GOLDEN_95 = [
    (0, 30, 0.09503),
    (0, 50, 0.05816),
    (0, 59, 0.04951),
    (1, 93, 0.04999),
    (2, 124, 0.0499),
    (5, 100, 0.10225),
    (10, 200, 0.08334),
    (0, 299, 0.00997),
]
_GOLDEN_90 = [(33, 275, 0.14904), (44, 356, 0.14896), (62, 364, 0.1983), (76, 439, 0.1985)]


@pytest.mark.parametrize(
    ("errors", "n", "bound", "confidence"),
    [(*row, 0.95) for row in _GOLDEN_95] + [(*row, 0.9) for row in _GOLDEN_90],
)
def test_upper_bounds_are_the_golden_ones(errors: int, n: int, bound: float, confidence: float) -> None:
    assert clopper_pearson_upper(errors, n, confidence) == pytest.approx(bound, abs=5.1e-6)


@pytest.mark.parametrize(("errors", "n"), [(0, 0), (1, 1), (19, 19)])
def test_nothing_seen_and_all_wrong_leave_a_bound_of_one(errors: int, n: int) -> None:
    assert clopper_pearson_upper(errors, n, 0.9) == 1.0


@pytest.mark.parametrize(("errors", "n", "confidence"), [(-1, 3, 0.9), (4, 3, 0.9), (1, 3, 0.0), (1, 3, 1.0)])
def test_impossible_counts_and_confidences_are_refused(errors: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="must lie"):
        clopper_pearson_upper(errors, n, confidence)


def test_p_value_is_the_binomial_tail() -> None:
    # (1 - .1)^22 = .0985 and, with one error more, + 22 * .1 * .9^21.
    assert binomial_tail(0, 22, 0.1) == pytest.approx(0.9**22)
    assert binomial_tail(1, 22, 0.1) == pytest.approx(0.9**22 + 22 * 0.1 * 0.9**21)
    assert binomial_tail([0, 5], [0, 5], 0.1).tolist() == [1.0, 1.0]


def test_grid_accepts_the_asked_shares_of_unlabelled_items() -> None:
    assert grid_of(range(100)) == (90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0, 0.0)


def test_grid_has_tied_confidences_once_and_none_without_items() -> None:
    assert grid_of([1.0, 1.0, 1.0, 0.0]) == (1.0, 0.0)
    assert grid_of([0.4] * 7) == (0.4,)
    assert grid_of([]) == ()


def test_chains_start_at_equal_distances_and_never_twice() -> None:
    assert starts_of(10, 2) == (0, 5)
    assert starts_of(10, 1) == (0,)
    assert starts_of(1, 2) == (0,)
    assert starts_of(0, 2) == ()


def test_second_chain_certifies_where_the_most_confident_are_wrong() -> None:
    # Of 200, the most confident 20 are half wrong, the rest right: 10 errors in 100 and in 200.
    confidence = np.arange(200, 0, -1) / 200
    error = np.zeros(200)
    error[:20:2] = 1
    grid = grid_of(confidence)
    assert certify(confidence, error, grid, alpha=0.25, level=0.1, chains=1).threshold is None
    found = certify(confidence, error, grid, alpha=0.25, level=0.1, chains=2)
    assert found.threshold == grid[-1]
    assert (found.evidence.n, found.evidence.errors, found.chains) == (200, 10, 2)
    # The first chain ends at once; the second comes to all five of its thresholds.
    assert [(row.chain, row.position, row.passed) for row in found.tested] == [
        (0, 0, False),
        *((1, position, True) for position in range(5, 10)),
    ]


def test_one_chain_stops_at_its_first_failure() -> None:
    # 22 right ones suffice for alpha .1 at level .1 (.9^22 = .098), 21 do not.
    confidence = [0.9] * 22 + [0.5] * 22 + [0.1] * 400
    error = [0] * 22 + [1] * 22 + [0] * 400
    found = certify(confidence, error, (0.9, 0.5, 0.1), alpha=0.1, level=0.1, chains=1)
    assert found.threshold == 0.9
    assert [row.passed for row in found.tested] == [True, False]
    fewer = certify(confidence[1:], error[1:], (0.9, 0.5, 0.1), alpha=0.1, level=0.1, chains=1)
    assert fewer.threshold is None


@given(n=st.integers(1, 80), errors=st.integers(0, 80), alpha=st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=60, deadline=None)
def test_a_grid_of_one_point_is_the_clopper_pearson_bound(n: int, errors: int, alpha: float) -> None:
    errors = min(errors, n)
    found = certify([0.5] * n, [1] * errors + [0] * (n - errors), (0.5,), alpha=alpha, level=0.1)
    bound = clopper_pearson_upper(errors, n, 0.9)
    assert found.tested[0].evidence.bound == bound
    assert (found.threshold == 0.5) is (bound <= alpha)


@given(
    items=st.lists(st.tuples(st.sampled_from([0.2, 0.4, 0.6, 0.8]), st.booleans()), min_size=1, max_size=120),
    place=st.integers(0, 119),
)
@settings(max_examples=60, deadline=None)
def test_one_more_error_never_lowers_the_threshold(items: list[tuple[float, bool]], place: int) -> None:
    grid = (0.8, 0.6, 0.4, 0.2)
    confidence = [sure for sure, _ in items]
    error = [int(wrong) for _, wrong in items]
    before = certify(confidence, error, grid, alpha=0.3, level=0.2).threshold
    error[place % len(error)] = 1
    after = certify(confidence, error, grid, alpha=0.3, level=0.2).threshold
    assert after is None or (before is not None and after >= before)


@given(n=st.integers(0, 300), alpha=st.sampled_from([0.01, 0.05, 0.1]))
@settings(max_examples=60, deadline=None)
def test_alpha_below_what_spotless_labels_can_show_is_never_certified(n: int, alpha: float) -> None:
    confidence = np.linspace(1, 0, n)
    found = certify(confidence, np.zeros(n), grid_of(np.linspace(1, 0, 100)), alpha=alpha, level=0.1)
    # The best possible: every label right and above the threshold, at half the level.
    assert found.threshold is None or (1 - alpha) ** n <= 0.05
    assert found.evidence.bound <= alpha or found.threshold is None


@pytest.mark.parametrize("n", [0, 1, 19])
@pytest.mark.parametrize("wrong", [0, 1])
def test_few_labels_certify_nothing_and_say_so_in_numbers(n: int, wrong: int) -> None:
    found = certify([0.5] * n, [wrong] * n, (0.9, 0.5), alpha=0.1, level=0.1)
    assert found.threshold is None
    assert (found.n, found.evidence.n, found.evidence.bound) == (n, 0, 1.0)
    assert all(0 <= row.evidence.p_value <= 1 for row in found.tested)


def test_no_grid_certifies_nothing() -> None:
    assert certify([0.5] * 50, [0] * 50, (), alpha=0.1, level=0.1).threshold is None


@pytest.mark.parametrize(
    ("confidence", "error", "grid", "alpha", "message"),
    [
        ([0.5], [0, 1], (0.5,), 0.1, "a confidence and an error"),
        ([float("nan")], [0], (0.5,), 0.1, "finite"),
        ([0.5], [0.5], (0.5,), 0.1, "1 .wrong. or 0"),
        ([0.5], [0], (0.5, 0.5), 0.1, "falls"),
        ([0.5], [0], (0.5,), 1.0, "alpha"),
    ],
)
def test_input_that_cannot_be_is_refused(
    confidence: list[float], error: list[float], grid: tuple[float, ...], alpha: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        certify(confidence, error, grid, alpha=alpha, level=0.1)


def test_many_samples_at_once_end_where_one_walk_ends() -> None:
    passed = np.array([[1, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 1], [0] * 6], dtype=np.bool_)
    assert furthest(passed, 2).tolist() == [4, 5, 2, -1]
    assert furthest(passed, 1).tolist() == [0, -1, 2, -1]


def test_cascade_certifies_a_stage_on_what_none_before_accepted() -> None:
    # Stage 0 is sure of half of the items and right there; of the others it is not, and stage 1 is right.
    sure = np.tile([0.9, 0.1], 100)
    stage = np.repeat([0, 1], 100)
    wrong_early = (sure < 0.5).astype(int)
    first, second = certify_cascade(
        (sure, np.full(200, 0.7)), (wrong_early, np.zeros(200)), ((0.9,), (0.7,)), stage, alpha=0.1, level=0.1
    )
    assert (first.threshold, first.evidence.n) == (0.9, 50)
    # Of the 100 items for stage 1, stage 0 accepts 50.
    assert (second.threshold, second.evidence.n) == (0.7, 50)
    # Each stage has half the level: .9^28 = .052 is too much, .9^29 = .047 is not.
    bound = clopper_pearson_upper(0, 50, 0.95)
    assert first.evidence.bound == second.evidence.bound == bound


def test_violations_stay_within_delta_on_every_stream() -> None:
    """150 samples each: a true rate of .1 gives over 27 with probability .0009, and fails."""
    rows = monte_carlo.measure(trials=150, seed=3)
    assert [row.name for row in rows if not row.holds] == []
