"""How much passes per minute."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.calls.buckets import TokenBucket


class Watch:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_full_minute_passes_at_once_and_then_one_share_per_second() -> None:
    watch = Watch()
    bucket = TokenBucket(120, watch)
    assert bucket.seconds_until(120) == 0
    bucket.take(120)
    # 120 a minute are 2 a second.
    assert bucket.seconds_until(1) == 0.5
    watch.seconds = 3
    assert bucket.seconds_until(6) == 0
    assert bucket.seconds_until(10) == 2


def test_it_never_holds_more_than_a_minute() -> None:
    watch = Watch()
    bucket = TokenBucket(60, watch)
    watch.seconds = 3600
    bucket.take(60)
    assert bucket.seconds_until(1) == 1


def test_what_is_larger_than_the_bucket_waits_until_it_is_full_and_leaves_a_debt() -> None:
    watch = Watch()
    bucket = TokenBucket(60, watch)
    bucket.take(10)
    assert bucket.seconds_until(90) == 10
    watch.seconds = 10
    assert bucket.seconds_until(90) == 0
    bucket.take(90)
    # 30 are owed: the next unit comes after 31 seconds.
    assert bucket.seconds_until(1) == 31


def test_what_was_not_used_comes_back_and_what_was_used_beyond_is_owed() -> None:
    watch = Watch()
    bucket = TokenBucket(60, watch)
    bucket.take(60)
    bucket.give_back(20)
    assert bucket.seconds_until(20) == 0
    bucket.give_back(-30)
    assert bucket.seconds_until(1) == 11
    bucket.give_back(1000)
    bucket.take(60)
    assert bucket.seconds_until(1) == 1


def test_less_than_one_a_minute_still_lets_one_pass() -> None:
    watch = Watch()
    bucket = TokenBucket(0.5, watch)
    assert bucket.seconds_until(1) == 0
    bucket.take(1)
    assert bucket.seconds_until(1) == 120


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_limit_that_lets_nothing_pass_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="lets nothing pass"):
        TokenBucket(rate, Watch())


@given(
    rate=st.integers(1, 600),
    wants=st.lists(st.tuples(st.floats(0, 100), st.integers(1, 600)), min_size=1, max_size=40),
)
def test_whoever_waits_as_told_keeps_the_rate_in_every_span(
    rate: int, wants: list[tuple[float, int]]
) -> None:
    watch = Watch()
    bucket = TokenBucket(rate, watch)
    passed: list[tuple[float, int]] = []
    for pause, amount in wants:
        watch.seconds += pause
        waited = 0
        while (wait := bucket.seconds_until(amount)) > 0:
            watch.seconds += wait
            waited += 1
            assert waited <= 2, "a wait that was kept in full was not enough"
        bucket.take(amount)
        passed.append((watch.seconds, amount))
    for first, (start, _) in enumerate(passed):
        for last in range(first, len(passed)):
            span = passed[last][0] - start
            total = sum(amount for _, amount in passed[first : last + 1])
            # The last one may be larger than the bucket.
            beyond = max(0, passed[last][1] - rate)
            assert total <= rate + beyond + span * rate / 60 + 1e-6 * (rate + span)
