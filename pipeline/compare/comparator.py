"""Compare one output with its float64 reference.

Every decision is written as ``value <= limit``: a NaN anywhere in the arithmetic makes it false, so that
what cannot be measured fails. The opposite form, ``value > limit`` means failure, would let it pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.types import Numerics, OutputError, TensorSpec

__all__ = ["Comparison", "compare_output"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing one output came to.

    Attributes:
        passed: Whether it is within the task's tolerance.
        message: One line; for a failure what differs, where, and by how much.
        error: The distances, or None when shape or dtype already differ.
    """

    passed: bool
    message: str
    error: OutputError | None = None


def compare_output(
    spec: TensorSpec, got: np.ndarray, expected64: np.ndarray, numerics: Numerics
) -> Comparison:
    """Compare `got` with the float64 reference `expected64` of the same shape.

    Shape and dtype must be exact, and NaNs and infinities must stand where the reference, rounded to the
    output's dtype, has them. Over the finite elements three distances are held to their limits:

    - ``||got - expected|| / ||expected||`` over the whole output;
    - the same over each row (the last axis). A row of zeros has no relative error of its own: it is measured
      against the root mean square of all row norms;
    - ``|got - expected| / (|expected| + rms(expected))`` of each element.

    Integer and boolean outputs must be equal.

    Args:
        spec: Name and dtype of the output.
        got: Any shape and dtype.
        expected64: Float64 of the shape that the task asks for.
        numerics: The limits.
    """
    dtype = DTYPES[spec.dtype]
    if got.shape != expected64.shape:
        shapes = f"has shape {list(got.shape)}, expected {list(expected64.shape)}"
        return Comparison(False, f"output '{spec.name}' {shapes}")
    if got.dtype != dtype.storage:
        return Comparison(False, f"output '{spec.name}' has dtype {got.dtype}, expected {spec.dtype}")

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected64.astype(dtype.storage).astype(np.float64)
        values = got.astype(np.float64)
    reference, finite_values = expected64, values
    if not (np.isfinite(rounded).all() and np.isfinite(values).all()):
        kinds = _kinds(rounded)
        differing_kind = _kinds(values) != kinds
        if differing_kind.any():
            return _explain_kinds(spec, got, expected64, differing_kind)
        finite = kinds == _FINITE
        reference, rounded, finite_values = (
            np.where(finite, array, 0.0) for array in (reference, rounded, values)
        )

    errors = np.abs(finite_values - reference)
    size = _norms(reference.reshape(1, -1))
    elementwise = _ratio(errors, np.abs(reference) + size[0] / np.sqrt(reference.size))
    rows = _rows(reference)
    row_norms = _norms(rows)
    row_errors = _ratio(_norms(_rows(errors)), np.where(row_norms > 0, row_norms, _rms(row_norms)))
    limits = numerics if dtype.is_float else _exact(numerics)

    rel_l2 = float(_ratio(_norms(errors.reshape(1, -1)), size)[0])
    rounding = np.asarray(rounded - reference)
    worst_row = int(np.argmax(row_errors))
    worst_elementwise = float(elementwise.max())
    elementwise_passes = worst_elementwise <= limits.elementwise
    row_passes = float(row_errors[worst_row]) <= limits.row_rel_l2
    if elementwise_passes and not row_passes:
        flat = worst_row * rows.shape[1] + int(np.argmax(_rows(errors)[worst_row]))
    else:
        flat = int(np.argmax(elementwise))
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape))
    error = OutputError(
        output=spec.name,
        rel_l2=rel_l2,
        worst_row_rel_l2=float(row_errors[worst_row]),
        worst_elementwise=worst_elementwise,
        worst_index=index,
        got=_printed(got[index]),
        expected=_printed(expected64[index]),
        rounding_rel_l2=float(_ratio(_norms(rounding.reshape(1, -1)), size)[0]),
    )
    passed = rel_l2 <= limits.rel_l2 and row_passes and elementwise_passes
    message = _explain(error, limits, passed, elementwise)
    if not passed and not values.any() and reference.any():
        message += "; every element is zero: look for a result that never reaches the output"
    return Comparison(passed, message, error)


_FINITE, _NAN, _POSITIVE, _NEGATIVE = range(4)


def _kinds(values: np.ndarray) -> np.ndarray:
    conditions = [np.isnan(values), np.isposinf(values), np.isneginf(values)]
    return np.select(conditions, [_NAN, _POSITIVE, _NEGATIVE], _FINITE)


def _explain_kinds(
    spec: TensorSpec, got: np.ndarray, expected64: np.ndarray, differing: np.ndarray
) -> Comparison:
    index = tuple(int(i) for i in np.argwhere(differing)[0])
    error = OutputError(
        output=spec.name,
        rel_l2=np.inf,
        worst_row_rel_l2=np.inf,
        worst_elementwise=np.inf,
        worst_index=index,
        got=_printed(got[index]),
        expected=_printed(expected64[index]),
    )
    message = (
        f"output '{spec.name}' differs at {list(index)}: got {error.got}, expected {error.expected}; "
        f"NaN or infinity disagree in {_extent(differing)}"
    )
    return Comparison(False, message, error)


def _explain(error: OutputError, limits: Numerics, passed: bool, elementwise: np.ndarray) -> str:
    measures = (
        ("rel-L2", error.rel_l2, limits.rel_l2),
        ("worst row rel-L2", error.worst_row_rel_l2, limits.row_rel_l2),
        ("worst element-wise error", error.worst_elementwise, limits.elementwise),
    )
    if passed:
        distances = ", ".join(f"{name} {value:.3g} (limit {limit:g})" for name, value, limit in measures)
        return f"output '{error.output}' agrees: {distances}"
    distances = ", ".join(
        f"{name} {value:.3g} {'is within' if value <= limit else 'exceeds'} {limit:g}"
        for name, value, limit in measures
    )
    beyond = ~(elementwise <= limits.elementwise)
    where = f"; beyond the element-wise limit: {_extent(beyond)}" if beyond.any() else ""
    return (
        f"output '{error.output}' differs at {list(error.worst_index)}: got {error.got}, "
        f"expected {error.expected}; {distances}{where}"
    )


def _extent(marked: np.ndarray) -> str:
    """Return how many elements are marked, and the smallest box around them: a wrong tail shows at once."""
    box = ", ".join(f"{int(axis.min())}:{int(axis.max()) + 1}" for axis in np.nonzero(marked))
    return f"{int(marked.sum())} of {marked.size} elements, in [{box}]"


def _exact(numerics: Numerics) -> Numerics:
    return numerics.model_copy(update={"rel_l2": 0.0, "row_rel_l2": 0.0, "elementwise": 0.0})


def _rows(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)


def _norms(rows: np.ndarray) -> np.ndarray:
    """Return the L2 norm of each row, scaled by its largest element so that squares cannot overflow."""
    scale = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    safe = np.where(scale > 0, scale, 1.0)
    squares = rows / safe[:, None]
    np.square(squares, out=squares)
    norms: np.ndarray = safe * np.sqrt(squares.sum(axis=1)) * (scale > 0)
    return norms


def _rms(values: np.ndarray) -> float:
    return float(_norms(values.reshape(1, -1))[0] / np.sqrt(values.size))


def _ratio(errors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return errors / sizes, where no error at all is 0 and an error against nothing is infinite."""
    if (sizes > 0).all():
        quotient: np.ndarray = errors / sizes
        return quotient
    ratio = np.full(errors.shape, np.inf)
    np.divide(errors, sizes, out=ratio, where=sizes > 0)
    return np.where(errors == 0, 0.0, ratio)


def _printed(value: np.generic) -> str:
    return f"{float(value):.9g}"
