"""A picture of an output's errors: how large they are in ulp, and where they lie."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pipeline.compare.tolerance import Limits
from pipeline.compare.ulps import measure_ulps
from pipeline.emulator.dtypes import DTYPES
from pipeline.types import ErrorPicture, TensorSpec

__all__ = ["picture_errors"]

#: Edges of the bins, in ulp. A correctly rounded element lies in the first; the last holds whatever is gross.
_EDGES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 4096.0, 65536.0, math.inf)
#: Cells along either side of the map, at most.
_CELLS: Final = 32


def picture_errors(
    spec: TensorSpec, got: np.ndarray, expected64: np.ndarray, limits: Limits
) -> ErrorPicture | None:
    """Return how the errors of one output are distributed, and where.

    An edge belongs to the bin below it: half an ulp is what correct rounding may cost. Where only one of the
    two values is finite, or both are special and differ, the error is infinite. Rows of the map are all axes
    but the last.

    Args:
        spec: Name and dtype of the output.
        got: What the kernel returned.
        expected64: The float64 reference.
        limits: What the output is held to.

    Returns:
        None where shape or dtype differ, and where there are no elements.
    """
    dtype = DTYPES[spec.dtype]
    got, expected64 = np.asarray(got), np.asarray(expected64)
    if got.shape != expected64.shape or got.dtype != dtype.storage or got.size == 0 or got.ndim == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected64.astype(dtype.storage).astype(np.float64)
        values = got.astype(np.float64)
    finite = np.isfinite(rounded) & np.isfinite(values)
    alike = (values == rounded) | (np.isnan(values) & np.isnan(rounded))
    special = np.where(alike, 0.0, np.inf)
    reference = np.where(finite, expected64, 0.0)
    values = np.where(finite, values, 0.0)
    ulps = np.where(finite, measure_ulps(values, reference, dtype), special)
    errors = np.abs(values - reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        usage = np.where(errors > 0, errors / limits.elementwise, 0.0)
    # A limit that is not a number allows nothing.
    usage = np.where(finite, np.where(np.isnan(usage), np.inf, usage), special)
    matrix = usage.reshape(-1, usage.shape[-1])
    return ErrorPicture(
        ulp_edges=_EDGES,
        ulp_counts=_count(ulps),
        map=tuple(tuple(float(cell) for cell in row) for row in _coarsen(matrix)),
        map_shape=(matrix.shape[0], matrix.shape[1]),
    )


def _count(ulps: np.ndarray) -> tuple[int, ...]:
    bins = np.maximum(np.searchsorted(_EDGES, ulps.ravel(), side="left") - 1, 0)
    return tuple(int(count) for count in np.bincount(bins, minlength=len(_EDGES) - 1))


def _coarsen(matrix: np.ndarray) -> np.ndarray:
    """Return the largest value in each cell of a grid over `matrix`."""
    for axis in (0, 1):
        length = matrix.shape[axis]
        cells = min(length, _CELLS)
        matrix = np.maximum.reduceat(matrix, np.arange(cells) * length // cells, axis=axis)
    return matrix
