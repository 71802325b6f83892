"""When a call is repeated, and after how long. Nothing else in the grader repeats a request.

Importing this module imports tenacity.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from pipeline.judge.calls.clock import Clock, Deadline
from pipeline.judge.providers.provider import ProviderError

__all__ = ["repeat_calls"]

#: Back-off before the second attempt, doubled before each further one up to the cap. Both SDKs start at
#: half a second; theirs ends at 8 s, too eager for an overload that lasts minutes, which a nightly run
#: outwaits.
_FIRST_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 30.0
#: A wait is drawn from the upper half of its span, and this share on top of what a provider asks for: calls
#: that failed together must not come back together, and none may come back early.
_SPREAD: Final = 0.25
#: Attempts that the provider may have charged for all the same, such as time-outs, before it is given up: a
#: server that spoils every answer must not be paid until the deadline.
_PAID_ATTEMPTS: Final = 3
#: Seconds that nobody is waited for who has never answered in this run and cannot be reached: the address is
#: more likely wrong than everybody out at once.
_STRANGER_SECONDS: Final = 30.0
#: An attempt with less time than this left would be cut off, and might be paid for nothing.
_LEAST_SECONDS: Final = 1.0


def repeat_calls(
    deadline: Deadline,
    longest_wait: float,
    clock: Clock,
    random: Random,
    *,
    has_answered: Callable[[], bool] = lambda: True,
) -> AsyncRetrying:
    """Return what repeats a call while its error says that this may help and `deadline` leaves time.

    A provider that asks to wait more than `longest_wait` seconds is not asked again, and neither is one that
    may have charged three times for nothing. One that is out of reach and of whom `has_answered` knows no
    answer is waited for half a minute. The last error is raised as it came.
    """
    paid = 0

    def may_help(error: BaseException) -> bool:
        nonlocal paid
        if not isinstance(error, ProviderError) or not error.retryable:
            return False
        paid += error.maybe_charged
        if paid >= _PAID_ATTEMPTS:
            return False
        if error.fault.code == "unreachable" and deadline.elapsed > _STRANGER_SECONDS and not has_answered():
            return False
        return error.retry_after is None or error.retry_after <= longest_wait

    def choose_wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after if isinstance(error, ProviderError) else None
        if asked is not None:
            return max(0.0, asked) * (1 + _SPREAD * random.random())
        span = min(_MOST_SECONDS, _FIRST_SECONDS * 2.0 ** min(state.attempt_number - 1, 16))
        return span * (0.5 + 0.5 * random.random())

    def is_too_late(state: RetryCallState) -> bool:
        return state.upcoming_sleep + _LEAST_SECONDS > deadline.rest

    return AsyncRetrying(
        retry=retry_if_exception(may_help),
        wait=choose_wait,
        stop=is_too_late,
        sleep=clock.sleep,
        reraise=True,
    )
