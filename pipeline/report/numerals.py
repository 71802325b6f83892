"""How an overall grade is written, on a terminal and in a report."""

from __future__ import annotations

import math

__all__ = ["show_grade"]


def show_grade(value: float | None) -> str:
    """Return an overall grade in 0..1 with two decimals, or a dash where there is none.

    It is cut and not rounded, so that 0.596 never reads as the pass mark 0.60 that it misses.
    """
    # A grade has six decimals; the seventh undoes the binary error of e.g. 0.29 * 100.
    return "—" if value is None else f"{math.floor(round(value * 100, 5)) / 100:.2f}"
