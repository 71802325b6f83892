"""May a judge stand in for a person? Small tables worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.stats.agreement import MISSING
from pipeline.stats.alternative_annotator import compare_with_annotators, reject_dependent


def test_wins_and_p_values_by_hand() -> None:
    # Three people agree on all forty items; the judge differs on eight of them. Left out, each person is
    # always with the others: d = 1 on eight items, 0 (both right) on 32.
    people = np.full((40, 3), 2)
    judge = np.array([0] * 8 + [2] * 32)
    found = compare_with_annotators(judge, people, epsilon=0.4)
    assert found.advantage.value == pytest.approx(32 / 40)
    # t = (0.2 - 0.4) / (0.40510 / sqrt(40)) = -3.1225 with 39 degrees of freedom: p = 0.0017, below
    # 3 * 0.05 / (3 * 1.8333) = 0.0273.
    assert found.p_values == pytest.approx((0.0017,) * 3, abs=1e-4)
    assert (found.winning_rate.value, found.winning_rate.n, found.passes) == (1.0, 3, True)
    assert found.warning == ""
    # At epsilon 0.2 the mean is just that: p = 0.5.
    strict = compare_with_annotators(judge, people, epsilon=0.2)
    assert strict.p_values == pytest.approx((0.5,) * 3)
    assert (strict.winning_rate.value, strict.passes) == (0.0, False)


def test_a_person_apart_is_the_one_the_judge_replaces() -> None:
    # The third is always apart. Left out, the judge agrees with both others and wins everywhere; beside the
    # first and second all agree with one of two: ties, which count for both.
    people = np.column_stack([np.full(30, 2), np.full(30, 2), np.full(30, 0)])
    found = compare_with_annotators(np.full(30, 2), people)
    assert found.p_values == (0.0, 0.0, 0.0)
    assert (found.advantage.value, found.winning_rate.value) == (1.0, 1.0)


def test_distance_tells_near_from_far_where_equality_does_not() -> None:
    people = np.column_stack([np.full(30, 4), np.full(30, 4), np.full(30, 1)])
    near = np.full(30, 3)
    # Against the third: neither equals the others, a tie; yet the judge is one away and the third three.
    assert compare_with_annotators(near, people).p_values[2] == 0.0
    assert compare_with_annotators(near, people).p_values[0] == 1.0
    # Against the first: others at 4 and 1, root mean squares sqrt(2.5) for the judge, sqrt(4.5) for 4.
    assert compare_with_annotators(near, people, alignment="distance").p_values == (0.0, 0.0, 0.0)


def test_two_people_work_with_a_warning() -> None:
    found = compare_with_annotators([1] * 30, [[1, 1]] * 30)
    assert found.passes is True
    assert "one person's habits alone" in found.warning


def test_one_expert_beside_others_is_the_reference() -> None:
    expert = np.full(30, 3)
    people = np.column_stack([np.full(30, 0), np.full(30, 3)])
    found = compare_with_annotators(np.full(30, 0), people, expert=expert)
    # As far off as the first, and always beaten by the second.
    assert found.p_values == (0.0, 1.0)
    assert (found.winning_rate.value, found.advantage.value) == (0.5, 0.5)
    assert "one expert" in found.warning


def test_who_has_too_few_items_is_left_out_and_said() -> None:
    people = np.full((40, 3), 1)
    people[29:, 2] = MISSING
    found = compare_with_annotators([1] * 40, people)
    assert found.p_values == (0.0, 0.0, None)
    assert found.winning_rate.n == 2
    assert "1 annotators with fewer than 30 items" in found.warning


@pytest.mark.parametrize(
    "people", [np.zeros((29, 3)), np.zeros((0, 3)), np.zeros((40, 1)), np.zeros((40, 0))]
)
def test_nobody_to_compare_with_has_a_reason(people: np.ndarray) -> None:
    found = compare_with_annotators(np.zeros(len(people)), people)
    assert (found.passes, found.winning_rate.value) == (None, None)
    assert "too few" in found.winning_rate.reason


def test_benjamini_and_yekutieli_by_hand() -> None:
    # m = 4, 1 + 1/2 + 1/3 + 1/4 = 2.0833: bounds 0.006, 0.012, 0.018, 0.024.
    assert reject_dependent([0.020, 0.005, 0.5, 0.011], 0.05) == (False, True, False, True)
    # The third bound holds, so the second, above its own, is rejected with it.
    assert reject_dependent([0.017, 0.005, 0.5, 0.015], 0.05) == (True, True, False, True)
    assert reject_dependent([], 0.05) == ()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError):
        compare_with_annotators([1, 2], [[1, 1]])
    with pytest.raises(ValueError):
        compare_with_annotators([1], [[1, 1]], expert=[1, 2])
