"""Wilson's interval against the values that Newcombe (1998), Table I, prints for method 3."""

from __future__ import annotations

import pytest

from pipeline.stats.intervals import wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_the_published_table(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, trials)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


def test_failures_give_the_mirrored_interval() -> None:
    rare, common = wilson_interval(3, 17), wilson_interval(14, 17)
    assert common.low == pytest.approx(1 - rare.high)
    assert common.high == pytest.approx(1 - rare.low)


def test_no_trials_leave_everything_possible() -> None:
    interval = wilson_interval(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_all_successes_reach_exactly_one_and_none_exactly_zero() -> None:
    assert wilson_interval(7, 7).high == 1.0
    assert wilson_interval(0, 7).low == 0.0


def test_more_confidence_is_wider() -> None:
    narrow, wide = wilson_interval(5, 10, 0.8), wilson_interval(5, 10, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"), [(-1, 3, 0.9), (4, 3, 0.9), (1, 3, 0.0), (1, 3, 1.0)]
)
def test_impossible_counts_and_confidences_are_refused(
    successes: int, trials: int, confidence: float
) -> None:
    with pytest.raises(ValueError, match="must lie"):
        wilson_interval(successes, trials, confidence)
