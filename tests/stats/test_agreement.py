"""Agreement against published tables, reference implementations and cases that leave nothing to compare."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stats.agreement import (
    MISSING,
    Weights,
    adjacent_agreement,
    cohen_kappa,
    compare_pairs,
    confusion_matrix,
    exact_agreement,
    gwet_ac,
    gwet_ac_of_raters,
    krippendorff_alpha,
    mean_absolute_error,
    mean_difference,
)
from pipeline.stats.bootstrap import bootstrap_interval
from pipeline.stats.kappa_family import (
    brennan_prediger,
    cohen_standard_error,
    gwet_standard_error,
    scott_pi,
)

Table = list[list[int]]

#: Tables with Cohen's kappa, Gwet's AC1 and alpha as irrCAC 0.4.4 computes them.
GOLDEN = [
    ([[118, 5], [2, 0]], -0.02339, 0.94078, -0.02469),
    ([[45, 15], [25, 15]], 0.13043, 0.26606, 0.12527),
    ([[25, 35], [5, 35]], 0.25926, 0.20792, 0.19596),
    ([[40, 9], [6, 45]], 0.69952, 0.70075, 0.70075),
    ([[80, 10], [5, 5]], 0.31818, 0.808, 0.31771),
    ([[20, 5], [10, 15]], 0.4, 0.40594, 0.4),
    ([[44, 5, 1], [7, 20, 3], [9, 5, 6]], 0.49153, 0.57597, 0.48974),
]

_ = MISSING
#: Krippendorff's example of four coders and twelve units, levels 1 to 5 as categories 0 to 4.
CODERS = np.array(
    [
        [0, 1, 2, 2, 1, 0, 3, 0, 1, _, _, _],
        [0, 1, 2, 2, 1, 1, 3, 0, 1, 4, _, 2],
        [_, 2, 2, 2, 1, 2, 3, 1, 1, 4, 0, _],
        [0, 1, 2, 2, 1, 3, 3, 0, 1, 4, 0, _],
    ]
).T


def ratings_of(table: Table) -> tuple[list[int], list[int]]:
    """Return ratings that `table` counts."""
    pairs = [
        (row, column)
        for row, column in itertools.product(range(len(table)), repeat=2)
        for _ in range(table[row][column])
    ]
    return [row for row, _ in pairs], [column for _, column in pairs]


@pytest.mark.parametrize(("table", "kappa", "ac1", "alpha"), GOLDEN)
def test_two_raters_agree_with_the_reference_implementation(
    table: Table, kappa: float, ac1: float, alpha: float
) -> None:
    assert cohen_kappa(table).value == pytest.approx(kappa, abs=5e-6)
    assert gwet_ac(table).value == pytest.approx(ac1, abs=5e-6)
    ratings = np.array(ratings_of(table)).T
    assert krippendorff_alpha(ratings, len(table), "nominal").value == pytest.approx(alpha, abs=5e-6)


@pytest.mark.parametrize(
    ("weights", "kappa", "ac2"), [("linear", 0.47368, 0.60976), ("quadratic", 0.45455, 0.63855)]
)
def test_weighted_measures_agree_with_the_reference_implementation(
    weights: Weights, kappa: float, ac2: float
) -> None:
    table = [[44, 5, 1], [7, 20, 3], [9, 5, 6]]
    assert cohen_kappa(table, weights).value == pytest.approx(kappa, abs=5e-6)
    assert gwet_ac(table, weights).value == pytest.approx(ac2, abs=5e-6)


#: Scott's pi and Brennan and Prediger's coefficient of the tables of GOLDEN, as irrCAC 0.4.4 prints them.
OTHERS = [
    (-0.02881, 0.888),
    (0.12088, 0.2),
    (0.19192, 0.2),
    (0.69925, 0.7),
    (0.31429, 0.7),
    (0.39394, 0.4),
    (0.48718, 0.55),
]

#: Standard errors of kappa and AC1 of the same tables.
ERRORS = [
    (0.01229, 0.02296),
    (0.09866, 0.1034),
    (0.07716, 0.09902),
    (0.07139, 0.07135),
    (0.13346, 0.05213),
    (0.127, 0.13015),
    (0.07213, 0.06788),
]


@pytest.mark.parametrize(("case", "others"), list(zip(GOLDEN, OTHERS, strict=True)))
def test_scotts_and_brennan_and_predigers_coefficients_agree_with_it_too(
    case: tuple[Table, float, float, float], others: tuple[float, float]
) -> None:
    assert scott_pi(case[0]).value == pytest.approx(others[0], abs=5e-6)
    # It prints the first to three decimals.
    assert brennan_prediger(case[0]).value == pytest.approx(others[1], abs=5e-4)


@pytest.mark.parametrize(("case", "errors"), list(zip(GOLDEN, ERRORS, strict=True)))
def test_standard_errors_agree_with_it(
    case: tuple[Table, float, float, float], errors: tuple[float, float]
) -> None:
    assert cohen_standard_error(case[0]).value == pytest.approx(errors[0], abs=5e-6)
    assert gwet_standard_error(case[0]).value == pytest.approx(errors[1], abs=5e-6)


@pytest.mark.parametrize(
    ("weights", "kappa", "ac2", "pi"),
    [("linear", 0.07698, 0.07176, 0.46667), ("quadratic", 0.09398, 0.08135, 0.44444)],
)
def test_weighted_errors_and_scotts_pi_agree_with_it(
    weights: Weights, kappa: float, ac2: float, pi: float
) -> None:
    table = GOLDEN[-1][0]
    assert cohen_standard_error(table, weights).value == pytest.approx(kappa, abs=5e-6)
    assert gwet_standard_error(table, weights).value == pytest.approx(ac2, abs=5e-6)
    assert scott_pi(table, weights).value == pytest.approx(pi, abs=5e-6)
    assert brennan_prediger(table, weights).value == pytest.approx(0.55)


def test_alpha_with_the_interval_metric_is_quadratically_weighted() -> None:
    ratings = np.array(ratings_of(GOLDEN[-1][0])).T
    assert krippendorff_alpha(ratings, 3, "interval").value == pytest.approx(0.44722, abs=5e-6)


def test_a_coefficient_that_does_not_exist_has_no_error() -> None:
    assert cohen_standard_error([[30, 0], [0, 0]]).value is None
    assert cohen_standard_error([[0, 0], [0, 0]]).reason == "nothing to compare"
    assert gwet_standard_error([[30, 0], [0, 0]]).value == 0.0
    assert brennan_prediger([[0, 0], [0, 0]]).value is None
    assert scott_pi([[0, 0], [0, 0]]).n == 0


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)]
)
def test_alpha_of_four_coders_with_gaps_is_krippendorffs_own(metric: str, alpha: float) -> None:
    found = krippendorff_alpha(CODERS, 5, metric)  # type: ignore[arg-type]
    assert found.value == pytest.approx(alpha, abs=5e-7)
    assert found.n == 11  # The twelfth unit was rated once.


@pytest.mark.parametrize(
    ("weights", "value"), [("identity", 0.77544), ("linear", 0.85874), ("quadratic", 0.914)]
)
def test_gwets_coefficient_of_four_coders_with_gaps(weights: Weights, value: float) -> None:
    assert gwet_ac_of_raters(CODERS, 5, weights).value == pytest.approx(value, abs=5e-6)


def test_rates_bias_and_error_by_hand() -> None:
    # Ten pairs: 3 equal, 4 one above, 1 one below, 2 two above.
    table = [[1, 1, 0], [4, 1, 0], [2, 0, 1]]
    assert exact_agreement(table).value == pytest.approx(0.3)
    assert adjacent_agreement(table).value == pytest.approx(0.8)
    assert mean_difference(table).value == pytest.approx((4 - 1 + 2 * 2) / 10)
    assert mean_absolute_error(table).value == pytest.approx((4 + 1 + 2 * 2) / 10)


def test_a_confusion_matrix_counts_pairs_and_leaves_gaps_out() -> None:
    assert confusion_matrix([0, 2, 2, MISSING], [0, 1, 1, 2], 3).tolist() == [[1, 0, 0], [0, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize("measure", [exact_agreement, mean_difference, cohen_kappa, gwet_ac])
def test_nothing_to_compare_is_a_reason_and_no_number(measure) -> None:  # type: ignore[no-untyped-def]
    found = measure([[0, 0], [0, 0]])
    assert (found.value, found.n, found.reason) == (None, 0, "nothing to compare")


def test_one_category_leaves_chance_corrected_measures_undefined() -> None:
    table = [[30, 0], [0, 0]]
    assert cohen_kappa(table).value is None
    assert "one category" in cohen_kappa(table).reason
    alpha = krippendorff_alpha([[1, 1]] * 30, 3)
    assert (alpha.value, alpha.n) == (None, 30)
    assert exact_agreement(table).value == 1.0
    assert gwet_ac(table).value == 1.0


def test_what_nobody_rated_twice_has_no_coefficient() -> None:
    single = [[0, MISSING], [MISSING, 1]]
    assert krippendorff_alpha(single, 2).reason == "nothing was rated twice"
    assert gwet_ac_of_raters(single, 2).reason == "nothing was rated twice"


@pytest.mark.parametrize("ratings", [[0, 3], [-2, 0], [0.5, 1.0]])
def test_what_is_no_category_is_refused(ratings: list[float]) -> None:
    with pytest.raises(ValueError):
        confusion_matrix(ratings, [0, 1], 3)


def test_unequal_numbers_of_ratings_are_refused() -> None:
    with pytest.raises(ValueError):
        confusion_matrix([0, 1], [0], 2)
    with pytest.raises(ValueError):
        compare_pairs([0, 1], [0, 1], ["s"], 2)


def test_below_twenty_pairs_there_is_the_table_and_no_number() -> None:
    found = compare_pairs([1] * 19, [1, 0] * 9 + [1], list(range(19)), 2)
    assert (found.n, found.table) == (19, ((0, 0), (9, 10)))
    assert (found.exact.value, found.exact.reason) == (None, "too few: 19 of at least 20")
    assert found.kappa.reason == found.exact.reason


def test_a_comparison_agrees_with_its_parts_and_its_intervals_hold_the_value() -> None:
    table = [[44, 5, 1], [7, 20, 3], [9, 5, 6]]
    first, second = ratings_of(table)
    found = compare_pairs(first, second, list(range(100)), 3)
    assert found.table == tuple(map(tuple, table))
    assert (found.n, found.clusters) == (100, 100)
    assert found.kappa.value == pytest.approx(0.45455, abs=5e-6)
    assert found.ac2.value == pytest.approx(0.63855, abs=5e-6)
    for estimate in (found.exact, found.adjacent, found.difference, found.kappa, found.ac2, found.alpha):
        assert estimate.value is not None
        assert estimate.interval is not None
        assert estimate.interval.low < estimate.value < estimate.interval.high
    # 0.7 of 100: the normal interval is 0.70 -+ 0.09.
    assert found.exact.interval is not None
    assert found.exact.interval.low == pytest.approx(0.61, abs=0.02)
    assert found.exact.interval.high == pytest.approx(0.79, abs=0.02)


def test_ratings_of_one_cluster_count_as_one_draw() -> None:
    first, second = ratings_of([[50, 20], [10, 20]])
    # Ten equal copies of each thing hold no more information than one.
    alone = compare_pairs(first, second, list(range(100)), 2)
    copied = compare_pairs(first * 10, second * 10, list(range(100)) * 10, 2)
    assert copied.n == 1000
    assert copied.clusters == 100
    assert copied.kappa.interval == alone.kappa.interval
    apart = compare_pairs(first * 10, second * 10, list(range(1000)), 2)
    assert alone.kappa.interval is not None
    assert apart.kappa.interval is not None
    assert apart.kappa.interval.high - apart.kappa.interval.low < (
        alone.kappa.interval.high - alone.kappa.interval.low
    )


def test_one_cluster_has_no_interval() -> None:
    found = compare_pairs([0, 1] * 10, [0, 1] * 10, ["s"] * 20, 2)
    assert found.exact.value == 1.0
    assert found.exact.interval is None


def test_an_interval_follows_from_the_seed() -> None:
    first, second = ratings_of([[44, 5, 1], [7, 20, 3], [9, 5, 6]])

    def interval(seed: int) -> object:
        return compare_pairs(first, second, list(range(100)), 3, seed=seed).alpha.interval

    assert interval(3) == interval(3)
    assert interval(3) != interval(4)


def test_a_measure_that_most_draws_lack_has_no_interval() -> None:
    # Only one cluster in two hundred holds anything: most draws are without it.
    clusters = np.zeros((200, 2, 2))
    clusters[0, 0, 0] = 1

    def share(sums: np.ndarray) -> np.ndarray:
        total = sums.sum(axis=(1, 2))
        return np.where(total > 0, 1.0, np.nan)

    assert bootstrap_interval(clusters, share) is None


tables = st.integers(2, 5).flatmap(
    lambda q: st.lists(st.lists(st.integers(0, 30), min_size=q, max_size=q), min_size=q, max_size=q)
)


@given(tables)
def test_no_measure_is_ever_nan_and_each_has_a_value_or_a_reason(table: Table) -> None:
    for found in (
        exact_agreement(table),
        adjacent_agreement(table),
        mean_difference(table),
        mean_absolute_error(table),
        cohen_kappa(table, "quadratic"),
        gwet_ac(table, "linear"),
        krippendorff_alpha(np.array(ratings_of(table), dtype=np.int64).T, len(table)),
    ):
        assert (found.value is None) == bool(found.reason)
        assert found.value is None or math.isfinite(found.value)


@given(tables)
def test_two_raters_are_a_special_case_of_many(table: Table) -> None:
    pair = gwet_ac(table, "quadratic")
    many = gwet_ac_of_raters(np.array(ratings_of(table), dtype=np.int64).T, len(table), "quadratic")
    assert (pair.value, pair.n) == (pytest.approx(many.value), many.n)


@given(tables)
def test_the_order_of_the_raters_turns_the_bias_round_and_nothing_else(table: Table) -> None:
    turned = np.array(table).T
    assert cohen_kappa(turned).value == pytest.approx(cohen_kappa(table).value)
    assert exact_agreement(turned).value == pytest.approx(exact_agreement(table).value)
    bias = mean_difference(table).value
    assert mean_difference(turned).value == (None if bias is None else pytest.approx(-bias))
