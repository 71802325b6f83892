"""The alternative-annotator test: may a judge stand in for one of several people?

Each person is left out in turn. On every item either the judge or that person lies nearer to the others
(ties count for both); the judge wins against the person if it is not worse by more than epsilon, which pays
for what a person costs. It passes once it wins against half of them, false discoveries controlled.

Source: N. Calderon, R. Reichart, R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge" (2025), with
Y. Benjamini and D. Yekutieli's correction (2001), since tests that share annotators depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import MISSING, Estimate

__all__ = ["FEWEST_ITEMS", "AnnotatorTest", "compare_with_annotators", "reject_dependent"]

#: Fewer items of one annotator than this are too few for a t-test.
FEWEST_ITEMS: Final = 30
#: With fewer, who is left after leaving one out is a single person.
_FEWEST_ANNOTATORS: Final = 3

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AnnotatorTest:
    """Whether a judge may stand in for people.

    Attributes:
        winning_rate: Share of compared annotators that it wins against; `n` is how many were compared.
        advantage: Mean probability that it does as well as an annotator, or better; compares judges.
        p_values: Per annotator; None for those with too few items in common.
        passes: Whether the winning rate reaches one half; None where nobody could be compared.
        warning: What weakens the result, or nothing.
    """

    winning_rate: Estimate
    advantage: Estimate
    p_values: tuple[float | None, ...]
    passes: bool | None
    warning: str = ""


def compare_with_annotators(
    judge: ArrayLike,
    annotators: ArrayLike,
    *,
    expert: ArrayLike | None = None,
    epsilon: float = 0.2,
    alignment: Literal["equal", "distance"] = "equal",
    rate: float = 0.05,
    minimum: int = FEWEST_ITEMS,
) -> AnnotatorTest:
    """Return whether `judge` may stand in for the people of `annotators`.

    Args:
        judge: Level per item, or `MISSING`; shape (items,).
        annotators: A row per item, a column per annotator; `MISSING` where somebody gave none.
        expert: One expert's levels, shape (items,): then who lies nearer to the expert counts, and not to
            the other annotators. It is the variant for a single expert beside less skilled people.
        epsilon: 0.2 where annotators are experts, 0.15 skilled, 0.1 crowd workers.
        alignment: With the others: share of ``equal`` levels, or minus the root mean square ``distance``.
        rate: Of false discoveries.
        minimum: An annotator with fewer items in common is left out.

    Raises:
        ValueError: If shapes do not fit together.
    """
    own, people = np.asarray(judge, dtype=np.int64), np.asarray(annotators, dtype=np.int64)
    if own.ndim != 1 or people.ndim != 2 or len(own) != len(people):
        raise ValueError("the judge needs a level per item, and people a row per item")
    reference = None if expert is None else np.asarray(expert, dtype=np.int64)
    if reference is not None and reference.shape != own.shape:
        raise ValueError("the expert needs a level, or a missing one, per item")
    wins: list[tuple[_Array, _Array] | None] = []
    for place in range(people.shape[1]):
        others = np.delete(people, place, axis=1) if reference is None else reference[:, None]
        kept = (own != MISSING) & (people[:, place] != MISSING) & (others != MISSING).any(axis=1)
        if kept.sum() < minimum:
            wins.append(None)
            continue
        by_judge = _align(own[kept], others[kept], alignment)
        by_person = _align(people[kept, place], others[kept], alignment)
        wins.append(((by_judge >= by_person).astype(float), (by_person >= by_judge).astype(float)))
    compared = [pair for pair in wins if pair is not None]
    p_values = tuple(None if pair is None else _test(pair[1] - pair[0], epsilon) for pair in wins)
    if not compared:
        reason = f"too few: no annotator has {minimum} items in common with the others and the judge"
        nothing = Estimate(None, 0, reason=reason)
        return AnnotatorTest(nothing, nothing, p_values, None)
    rejected = reject_dependent([p for p in p_values if p is not None], rate)
    share = sum(rejected) / len(compared)
    return AnnotatorTest(
        winning_rate=Estimate(share, len(compared)),
        advantage=Estimate(float(np.mean([pair[0].mean() for pair in compared])), len(compared)),
        p_values=p_values,
        passes=share >= 0.5,
        warning=_warn(people.shape[1], len(compared), minimum, single=reference is not None),
    )


def reject_dependent(p_values: Sequence[float], rate: float) -> tuple[bool, ...]:
    """Return which hypotheses Benjamini and Yekutieli reject at a false discovery `rate`, in the order given.

    The largest i with p_(i) <= i rate / (m (1 + 1/2 + ... + 1/m)), and all with a smaller p-value.
    """
    m = len(p_values)
    harmonic = math.fsum(1 / i for i in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p_values[place])
    last = max(
        (i for i, place in enumerate(order, 1) if p_values[place] <= i * rate / (m * harmonic)), default=0
    )
    rejected = set(order[:last])
    return tuple(place in rejected for place in range(m))


def _align(levels: NDArray[np.int64], others: NDArray[np.int64], alignment: str) -> _Array:
    given = others != MISSING
    apart = levels[:, None] - others
    if alignment == "equal":
        shares: _Array = (given & (apart == 0)).sum(axis=1) / given.sum(axis=1)
        return shares
    squares = np.where(given, apart**2, 0).sum(axis=1)
    distances: _Array = np.sqrt(squares / given.sum(axis=1))
    return -distances


def _test(differences: _Array, epsilon: float) -> float:
    """Return the one-sided p-value of a mean at or above `epsilon`, by Student's t."""
    n, mean = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not error:
        return 0.0 if mean < epsilon else 1.0
    from scipy.special import stdtr

    return float(stdtr(n - 1, (mean - epsilon) / error))


def _warn(annotators: int, compared: int, minimum: int, *, single: bool) -> str:
    warnings = []
    if single:
        warnings.append("one expert's habits count as the truth")
    elif annotators < _FEWEST_ANNOTATORS:
        warnings.append(f"{annotators} annotators: each is compared with one person's habits alone")
    if compared < annotators:
        warnings.append(f"{annotators - compared} annotators with fewer than {minimum} items are left out")
    return "; ".join(warnings)
