"""Tests of thresholds on labels that certify: how low a line may be drawn, for one criterion or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.routing.observations import Unit
from pipeline.routing.thresholds import Basis
from pipeline.stats.clustered import weigh_clusters
from pipeline.stats.conformal import control_joint_risk
from pipeline.stats.selective import Evidence, starts_of, walk, weigh_items
from pipeline.types import Calibrator, RoutingPolicy

__all__ = ["CHAINS", "Finding", "Sample", "find_thresholds", "wrong_of"]

CHAINS: Final = 2


class Sample(NamedTuple):
    """The items that a test rests on."""

    units: Sequence[Unit]
    sampling: Literal["random", "clusters"]
    groups: Sequence[str] | None
    """Of each item what others are alike with it by: its task where nobody drew it by chance, else its code
    where that was handed in several times; None where each speaks for itself."""


class Finding(NamedTuple):
    """What a test found."""

    score: float | None
    """The place in the grid; None where nothing was certified."""
    threshold: float | None
    """The probability there."""
    accepted: int
    errors: int
    bound: float | None
    chains: int


def find_thresholds(
    policy: RoutingPolicy, calibrator: Calibrator, group: Sequence[tuple[Basis, Sample]], *, level: float
) -> list[Finding]:
    """Return the lowest thresholds at which all of a group of criteria, which stand together, pass.

    Of a step of the grid the least convincing criterion decides, so that each of them is within alpha.

    Args:
        policy: Its mode and alpha count; in mode ``expected`` criteria do not stand together.
        calibrator: Gives probabilities.
        group: Criteria with one grid, and the items of each.
        level: Of the test.
    """
    grid, alpha = group[0][0].grid, policy.alpha
    scores = [basis.score(calibrator, sample.units) for basis, sample in group]
    wrongs = [wrong_of(basis, sample) for basis, sample in group]
    if policy.mode == "expected":
        controlled = control_joint_risk(scores[0], wrongs[0], grid, alpha=alpha)
        bound = controlled.risk if controlled.threshold is not None else None
        return [
            Finding(
                controlled.threshold, controlled.threshold, controlled.accepted, controlled.errors, bound, 1
            )
        ]
    share = level / len(starts_of(len(grid), CHAINS))

    def weigh(position: int) -> list[Evidence]:
        return [
            _weigh(sample, score >= grid[position], wrong, alpha, share)
            for (_, sample), score, wrong in zip(group, scores, wrongs, strict=True)
        ]

    certified = walk(
        grid,
        lambda position: max(weigh(position), key=lambda evidence: evidence.p_value),
        level=level,
        chains=CHAINS,
        n=max(map(len, scores)),
    )
    if certified.threshold is None:
        return [Finding(None, None, 0, 0, None, certified.chains)] * len(group)
    place = grid.index(certified.threshold)
    return [
        Finding(
            certified.threshold,
            basis.thresholds[place],
            evidence.n,
            evidence.errors,
            evidence.bound,
            certified.chains,
        )
        for (basis, _), evidence in zip(group, weigh(place), strict=True)
    ]


def _weigh(
    sample: Sample, accepted: NDArray[np.bool_], wrong: NDArray[np.bool_], alpha: float, level: float
) -> Evidence:
    """Return what the accepted items of a sample say, each for itself or by group."""
    each = weigh_items(int(wrong[accepted].sum()), int(accepted.sum()), alpha=alpha, level=level)
    if sample.groups is None:
        return each
    numbers = {name: number for number, name in enumerate(sorted(set(sample.groups)))}
    members = np.array([numbers[name] for name in sample.groups], dtype=np.int64)
    sizes = np.bincount(members[accepted], minlength=len(numbers))
    errors = np.bincount(members[accepted & wrong], minlength=len(numbers))
    grouped = weigh_clusters(errors, sizes, alpha=alpha, level=level)
    # Where hardly any are alike, the test by groups is only about as strict as it should be.
    return max(grouped, each, key=lambda evidence: evidence.p_value)


def wrong_of(basis: Basis, sample: Sample) -> NDArray[np.bool_]:
    """Return, of shape (units,), whether each item is wrong."""
    return np.array([unit.wrong[basis.criterion] for unit in sample.units], dtype=np.bool_)
