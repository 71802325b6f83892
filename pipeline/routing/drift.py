"""Whether what earned a certificate still holds: the alarm over audits, and how two windows differ.

Nothing of this is kept: labels are, so the alarm's state follows from them whenever it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.routing.truth import Judged
from pipeline.stats.drift import (
    Alarm,
    WindowTest,
    adjust_p_values,
    compare_distributions,
    compare_histograms,
    compare_rates,
    measure_stability,
    start_alarm,
)
from pipeline.store import Store
from pipeline.types import Confidence, Destination

__all__ = ["Change", "Window", "compare_windows", "read_window", "watch_audits"]

#: Every rubric's levels lie in 0..4.
_LEVELS: Final = 5


@dataclass(frozen=True, slots=True)
class Window:
    """Gradings of one stretch of time, such as one night's batch; no labels are needed.

    Attributes:
        confidences: Of drafts that have one.
        levels: Per criterion how many drafts have level 0, 1, ... 4.
        routed: Gradings that were routed and are not held.
        escalated: Those of them that went to people.
    """

    confidences: tuple[float, ...]
    levels: Mapping[str, tuple[int, ...]]
    routed: int
    escalated: int


@dataclass(frozen=True, slots=True)
class Change:
    """One comparison of two windows.

    Attributes:
        test: What it found.
        adjusted: Benjamini and Hochberg's p-value over all comparisons; None where there is none.
        changed: Whether it is called a change.
        stability: Population stability index of a histogram, for display.
    """

    test: WindowTest
    adjusted: float | None
    changed: bool
    stability: float | None = None


def watch_audits(judged: Sequence[Judged], alpha: float, delta: float) -> Alarm:
    """Return the alarm over audits of grades that stand alone, in the order in which people labelled them.

    Only what chance drew counts: what somebody looked at for a reason is wrong more often than the rest.

    Raises:
        ValueError: If `alpha` or `delta` does not lie between 0 and 1.
    """
    audits = sorted(
        (one.labelled_at, one.grading_id, one.wrong)
        for one in judged
        if one.accepted and one.probability and one.wrong is not None and one.labelled_at is not None
    )
    return start_alarm(alpha, delta).after(wrong for _, _, wrong in audits)


def read_window(store: Store, batch_ids: Sequence[str]) -> Window:
    """Return the window that batches make up; a grading in several of them counts once."""
    summaries = {one.grading_id: one for batch in batch_ids for one in store.list_gradings(batch)}
    routes = [one.destination for one in summaries.values() if one.destination is not None]
    routed = [one for one in routes if one is not Destination.HOLD]
    counts: dict[str, Counter[int]] = {}
    for draft in store.list_draft_levels(sorted(summaries)):
        if draft.level is not None:
            counts.setdefault(draft.criterion, Counter())[draft.level] += 1
    confidences = []
    for grading_id in sorted(summaries):
        key = store.list_stages(grading_id).get("assess")
        record = store.find_stage("assess", key) if key is not None else None
        value = Confidence.model_validate_json(record.output).value if record is not None else None
        if value is not None:
            confidences.append(value)
    return Window(
        confidences=tuple(confidences),
        levels={name: tuple(count[level] for level in range(_LEVELS)) for name, count in counts.items()},
        routed=len(routed),
        escalated=sum(one is not Destination.ACCEPT for one in routed),
    )


def compare_windows(before: Window, after: Window, *, rate: float = 0.05) -> tuple[Change, ...]:
    """Return how confidence, the share that goes to people and the levels of each criterion differ.

    Args:
        before: The earlier window.
        after: The later one.
        rate: False discoveries among what is called a change, on average.
    """
    criteria = sorted(before.levels.keys() | after.levels.keys())
    nothing = (0,) * _LEVELS
    histograms = {
        name: (before.levels.get(name, nothing), after.levels.get(name, nothing)) for name in criteria
    }
    tests = [
        compare_distributions("confidence", before.confidences, after.confidences),
        compare_rates(
            "share that goes to people", (before.escalated, before.routed), (after.escalated, after.routed)
        ),
        *(compare_histograms(f"levels of {name}", *pair) for name, pair in histograms.items()),
    ]
    adjusted = iter(adjust_p_values([test.p_value for test in tests if test.p_value is not None]))
    stabilities = [None, None, *(measure_stability(*pair) for pair in histograms.values())]
    changes = []
    for test, stability in zip(tests, stabilities, strict=True):
        value = next(adjusted) if test.p_value is not None else None
        changes.append(Change(test, value, value is not None and value <= rate, stability))
    return tuple(changes)
