"""A token bucket: how much may pass per minute."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["TokenBucket"]

#: Share of the capacity that may be missing: sleeping exactly as long as needed leaves a rounding error.
_SLACK = 1e-9


class TokenBucket:
    """Holds up to one minute's worth, is full at the start, and fills steadily.

    Providers keep their limits in the same way, so a burst of a full minute is theirs to allow. In any span
    of t seconds no more passes than the capacity plus t times the rate, save one request that is larger
    than the bucket: it waits until the bucket is full, takes more than is there, and the rest wait for the
    debt.
    """

    def __init__(self, per_minute: float, now: Callable[[], float]) -> None:
        """Hold `per_minute` units, at least one, by the clock `now` (seconds).

        Raises:
            ValueError: If nothing would ever pass.
        """
        if not per_minute > 0:
            raise ValueError(f"a limit of {per_minute} per minute lets nothing pass")
        self._rate = per_minute / 60
        self._capacity = max(1.0, per_minute)
        self._level = self._capacity
        self._now = now
        self._filled_at = now()

    def seconds_until(self, amount: float) -> float:
        """Return how long to wait before `amount` may pass; 0 if it may now."""
        self._fill()
        missing = min(amount, self._capacity) - self._level
        return missing / self._rate if missing > self._capacity * _SLACK else 0.0

    def take(self, amount: float) -> None:
        """Let `amount` pass, whether it is there or not."""
        self._fill()
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used; a negative amount is what was used beyond what was taken."""
        self._fill()
        self._level = min(self._capacity, self._level + amount)

    def _fill(self) -> None:
        now = self._now()
        self._level = min(self._capacity, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now
