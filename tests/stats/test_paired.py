"""Two judges on the same items: exact p-values, and what counts as no worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stats.paired import compare_errors, estimate_difference, mcnemar_p_value


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    # Two-sided tails of a fair coin: 2 * (1 + 8 + 28) / 256, 2 / 64, and no toss at all.
    [(2, 6, 74 / 256), (0, 6, 2 / 64), (5, 5, 1.0), (0, 0, 1.0)],
)
def test_mcnemar_is_a_fair_coin(only_first: int, only_second: int, p_value: float) -> None:
    assert mcnemar_p_value(only_first, only_second) == pytest.approx(p_value)
    assert mcnemar_p_value(only_second, only_first) == pytest.approx(p_value)


def test_a_difference_and_its_counts_by_hand() -> None:
    old = [True] * 10 + [False] * 90
    new = [True] * 6 + [False] * 4 + [True] * 10 + [False] * 80
    found = compare_errors(old, new, list(range(100)), margin=0.05)
    assert (found.only_old, found.only_new) == (4, 10)
    assert found.difference.value == pytest.approx(0.06)
    # Differences have variance 0.14 - 0.06^2: the normal interval is 0.06 +- 1.96 * 0.0369, and the skew of
    # rare errors moves both ends up a little.
    assert found.difference.interval is not None
    assert found.difference.interval.low == pytest.approx(-0.012, abs=0.02)
    assert found.difference.interval.high == pytest.approx(0.132, abs=0.02)
    assert found.verdict == "not_shown"
    assert "not below the margin 0.05" in found.reason


def test_equal_judges_are_shown_to_be_no_worse_only_by_enough_items() -> None:
    # Without one difference, 1 - 0.025^(1/n) stays open: 0.1684 at 20 items, 0.0362 at 100.
    few = compare_errors([True] * 20, [True] * 20, list(range(20)), margin=0.05)
    assert few.verdict == "not_shown"
    assert few.difference.interval is not None
    assert few.difference.interval.high == pytest.approx(0.1684, abs=1e-4)
    many = compare_errors([False] * 100, [False] * 100, list(range(100)), margin=0.05)
    assert many.verdict == "non_inferior"
    assert many.p_value == 1.0


def test_items_of_one_task_count_as_one_draw() -> None:
    old, new = [False] * 100, [True] * 10 + [False] * 90
    apart = estimate_difference(old, new, list(range(100)))
    together = estimate_difference(old, new, [place // 10 for place in range(100)])
    assert apart.interval is not None
    assert together.interval is not None
    assert together.interval.high > apart.interval.high


def test_tasks_that_are_alike_by_chance_leave_the_interval_wide() -> None:
    # One of ten items in each of three tasks: variance 0.1 * 0.9 * 30 / 29 over 30 items, and Student's
    # t(2) of 97.5 %, 4.303, by the printed table.
    reach = 4.303 * (0.1 * 0.9 / 29) ** 0.5
    for sign in (1, -1):
        before, after = [False] * 30, ([True] + [False] * 9) * 3
        pair = (before, after) if sign > 0 else (after, before)
        found = compare_errors(*pair, [place // 10 for place in range(30)], margin=0.11)
        assert found.verdict == "not_shown"
        assert found.difference.interval is not None
        assert found.difference.interval.low == pytest.approx(sign * 0.1 - reach, abs=1e-4)
        assert found.difference.interval.high == pytest.approx(sign * 0.1 + reach, abs=1e-4)


def test_that_every_item_differs_leaves_open_what_none_would() -> None:
    # 1 - 0.025^(1/20) is 0.1684, as where none of 20 differs.
    found = estimate_difference([False] * 20, [True] * 20, list(range(20)))
    assert found.interval is not None
    assert found.interval.low == pytest.approx(1 - 0.1684, abs=1e-4)
    assert found.interval.high == 1


@pytest.mark.parametrize("n", [0, 1, 19])
def test_too_few_items_show_nothing(n: int) -> None:
    found = compare_errors([False] * n, [False] * n, list(range(n)), margin=0.1)
    assert (found.verdict, found.difference.value) == ("not_shown", None)
    assert found.reason == f"too few: {n} of at least 20"


def test_one_cluster_says_nothing_about_others() -> None:
    found = compare_errors([True] * 50, [False] * 50, ["task"] * 50, margin=0.1)
    assert (found.verdict, found.reason) == ("not_shown", "one cluster alone says nothing about others")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError):
        estimate_difference([0.0], [0.0, 1.0], ["t"])
    with pytest.raises(ValueError):
        estimate_difference([2.0], [0.0], ["t"])
    with pytest.raises(ValueError):
        compare_errors([True], [True], ["t"], margin=0.0)
    with pytest.raises(ValueError):
        mcnemar_p_value(-1, 2)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 8)), min_size=20, max_size=60))
def test_an_interval_holds_its_value_and_turns_round_with_the_judges(
    items: list[tuple[bool, bool, int]],
) -> None:
    old, new, clusters = ([item[place] for item in items] for place in range(3))
    found, turned = (estimate_difference(a, b, clusters) for a, b in ((old, new), (new, old)))
    assert found.value == pytest.approx(-turned.value if turned.value is not None else None)
    if found.interval is not None and found.value is not None:
        assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1


def test_a_judge_that_is_worse_by_the_margin_rarely_passes() -> None:
    generator = np.random.default_rng(3)
    passed = 0
    for _ in range(100):
        # 24 tasks of unequal size; the new judge is wrong where the old one is, and on 5 % of all besides.
        tasks = np.repeat(np.arange(24), generator.integers(2, 20, 24)).tolist()
        chance = generator.random(len(tasks))
        old, new = (chance < 0.1).tolist(), (chance < 0.15).tolist()
        passed += compare_errors(old, new, tasks, margin=0.05).verdict == "non_inferior"
    # The upper end of 95 % misses 1 time in 40: Binomial(100, 0.025) exceeds 9 with probability 0.0002.
    assert passed <= 9
