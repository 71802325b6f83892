"""What a program asks of the chip: counts and the roofline bound."""

from __future__ import annotations

from pipeline.emulator.timeline.counts import Computation, Counts, count
from pipeline.emulator.timeline.precision import compute_dtypes
from pipeline.emulator.timeline.roofline import Roofline, roofline
from pipeline.emulator.timeline.sizes import MeanSizes, mean_sizes
from pipeline.emulator.timeline.storage import stored_dtypes

__all__ = [
    "Computation",
    "Counts",
    "MeanSizes",
    "Roofline",
    "compute_dtypes",
    "count",
    "mean_sizes",
    "roofline",
    "stored_dtypes",
]
