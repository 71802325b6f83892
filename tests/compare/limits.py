"""Limits set by hand, for tests of what is held to them."""

from __future__ import annotations

import numpy as np

from pipeline.compare.comparator import Comparison, compare_output
from pipeline.compare.tolerance import Limits
from pipeline.types import TensorSpec


def hold(expected: object, rel_l2: float = 1e-5, row: float = 1e-5, elementwise: float = 1e-5) -> Limits:
    """Return limits; that of an element is a share of its magnitude and the root mean square together."""
    values = np.asarray(expected, dtype=np.float64)
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    largest = finite.max(initial=0.0) or 1.0
    rms = largest * np.sqrt(np.square(finite / largest).sum() / max(values.size, 1))
    rows = values.size // values.shape[-1] if values.ndim else 1
    return Limits(rel_l2, np.full(rows, row), elementwise * (finite + rms), ("by hand",))


def compare(
    got: np.ndarray, expected: object, limits: Limits | None = None, dtype: str = "float32"
) -> Comparison:
    """Compare an output called ``out`` with what was expected."""
    values = np.asarray(expected, dtype=np.float64)
    spec = TensorSpec(name="out", shape=("R", "C"), dtype=dtype)
    return compare_output(spec, got, values, limits or hold(values))
