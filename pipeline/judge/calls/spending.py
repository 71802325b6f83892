"""What a run has spent so far, and what it was spared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.types import Usage

__all__ = ["Spending"]


@dataclass(slots=True)
class Spending:
    """Calls of one run, their tokens and their cost.

    Attributes:
        remembered: Answers that were stored already and cost nothing.
        shared: Questions that waited for the answer to the same question, asked at the same time.
        answered: Calls that brought an answer.
        failed: Calls that the provider refused or never took; free.
        lost: Calls of which nobody knows what became; counted at what they may have cost.
        input_tokens: Read in full.
        cache_read_tokens: Read from the provider's cache.
        cache_write_tokens: Read and written to the provider's cache.
        output_tokens: Written, reasoning included.
        cost: Micro-dollars by the price list, lost calls included.
        unpriced: Of the calls answered or lost, those whose price is unknown: they are not in `cost`.
    """

    remembered: int = 0
    shared: int = 0
    answered: int = 0
    failed: int = 0
    lost: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    unpriced: int = 0

    @property
    def calls(self) -> int:
        """Calls that were made, each attempt counted."""
        return self.answered + self.failed + self.lost

    def add_call(
        self, outcome: Literal["answered", "failed", "lost"], usage: Usage, cost: int, *, priced: bool
    ) -> None:
        """Count one call that has ended."""
        if outcome == "answered":
            self.answered += 1
        elif outcome == "failed":
            self.failed += 1
        else:
            self.lost += 1
        self.input_tokens += usage.input_tokens
        self.cache_read_tokens += usage.cache_read_tokens
        self.cache_write_tokens += usage.cache_write_tokens
        self.output_tokens += usage.output_tokens
        self.cost += cost
        self.unpriced += int(not priced and outcome != "failed")
