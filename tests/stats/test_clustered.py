"""Certificates on items that come by task."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evals.certificates import clustered as monte_carlo
from pipeline.stats.clustered import certify_by_cluster, effective_clusters, fewest_clusters, weigh_clusters
from pipeline.stats.selective import certify


def test_effective_number_of_clusters_is_kishs() -> None:
    assert effective_clusters([5, 5, 5, 5]) == 4
    # (1 + 1 + 4)^2 / (1 + 1 + 16).
    assert effective_clusters([1, 1, 4]) == 2
    assert effective_clusters([]) == 0


def test_fewest_clusters_is_the_fewest_spotless_draws_that_certify() -> None:
    # .9^29 = .0471 and .9^28 = .0523; .95^45 = .0994 and .95^44 = .1047.
    assert fewest_clusters(0.1, 0.05) == 29
    assert fewest_clusters(0.05, 0.1) == 45


def test_spotless_clusters_of_equal_size_prove_what_as_many_draws_do() -> None:
    for clusters, passes in ((28, False), (29, True)):
        evidence = weigh_clusters([0] * clusters, [1000] * clusters, alpha=0.1, level=0.05)
        assert evidence.p_value == pytest.approx(0.9**clusters)
        assert (evidence.p_value <= 0.05) is passes
        assert (evidence.bound <= 0.1) is passes


def test_two_spotless_clusters_of_four_by_hand() -> None:
    # With four wrong ones of its own: rate 4 / 12; residuals -4/3, -4/3, 8/3, whose squares sum to 96/9;
    # spread sqrt(3/2 * 96/9) / 12 = 1/3. With two degrees of freedom P(T <= t) = 1/2 + t / (2 sqrt(2 + t^2)),
    # and alpha .6 gives t = -.8.
    tail = 0.5 - 0.8 / (2 * math.sqrt(2.64))
    evidence = weigh_clusters([0, 0], [4, 4], alpha=0.6, level=0.3)
    assert evidence.p_value == pytest.approx(max(tail, 0.4**2))
    assert (evidence.n, evidence.errors, evidence.clusters) == (8, 0, 2)


@pytest.mark.parametrize(
    ("errors", "sizes"), [([], []), ([0], [50]), ([0, 0], [0, 50]), ([3, 4], [3, 4]), ([0, 0], [1, 10**6])]
)
def test_no_task_one_task_and_nothing_but_errors_certify_nothing(errors: list[int], sizes: list[int]) -> None:
    evidence = weigh_clusters(errors, sizes, alpha=0.3, level=0.1)
    assert 0.3 < evidence.bound <= 1
    assert 0.1 < evidence.p_value <= 1


def test_items_of_one_task_do_not_count_as_many() -> None:
    # 400 spotless items certify .05 as draws of their own, and not as ten tasks.
    confidence, error, tasks = [0.9] * 400, [0] * 400, [place % 10 for place in range(400)]
    assert certify(confidence, error, (0.9,), alpha=0.05, level=0.1).threshold == 0.9
    assert certify_by_cluster(confidence, error, tasks, (0.9,), alpha=0.05, level=0.1).threshold is None


def test_evenly_spread_errors_over_many_tasks_are_certified() -> None:
    generator = np.random.default_rng(5)
    tasks = np.repeat(np.arange(80), 10)
    error = (generator.random(800) < 0.02).astype(np.float64)
    found = certify_by_cluster([0.5] * 800, error, tasks.tolist(), (0.5,), alpha=0.1, level=0.1)
    assert found.threshold == 0.5
    assert (found.evidence.clusters, found.evidence.n, found.n) == (80, 800, 800)


def test_order_and_names_of_tasks_make_no_difference() -> None:
    generator = np.random.default_rng(6)
    tasks = generator.integers(0, 40, 300)
    error, confidence = (generator.random(300) < 0.05).astype(np.float64), generator.random(300)
    shuffled = generator.permutation(300)
    first = certify_by_cluster(confidence, error, tasks.tolist(), (0.5, 0.0), alpha=0.2, level=0.1)
    second = certify_by_cluster(
        confidence[shuffled],
        error[shuffled],
        [f"task {task}" for task in tasks[shuffled]],
        (0.5, 0.0),
        alpha=0.2,
        level=0.1,
    )
    assert first.threshold == second.threshold
    assert first.evidence.p_value == pytest.approx(second.evidence.p_value)


def test_an_item_without_a_task_is_refused() -> None:
    with pytest.raises(ValueError, match="cluster"):
        certify_by_cluster([0.5], [0], [], (0.5,), alpha=0.1, level=0.1)


def test_errors_counted_by_task_keep_delta_where_items_do_not() -> None:
    """Eighty samples a row: a true rate of .1 gives over 17 with probability .0008, and fails."""
    rows = monte_carlo.measure(trials=80, seed=1)
    assert [row.name for row in rows if not row.holds] == []
    whole = {
        row.name.rsplit(" ", 1)[-1]: row.hits
        for row in rows
        if "24 tasks" in row.name and "wholly" in row.name
    }
    assert whole["item"] > 17 >= whole["task"]
