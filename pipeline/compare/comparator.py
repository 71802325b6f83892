"""Compare one output with its float64 reference.

Every decision is written as ``value <= limit``: a NaN anywhere in the arithmetic makes it false, so that
what cannot be measured fails. The opposite form, ``value > limit`` means failure, would let it pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.compare.clusters import describe_cluster
from pipeline.compare.relations import describe_relation
from pipeline.compare.tolerance import Limits
from pipeline.compare.ulps import measure_ulps
from pipeline.emulator.dtypes import DTYPES, DType
from pipeline.types import OutputError, TensorSpec, Tolerance

__all__ = ["Comparison", "compare_output"]

#: Relative and absolute tolerance that AWS uses, by mantissa bits of the output's dtype: the defaults of
#: nkilib's comparison for float32, what its tests give bfloat16 kernels, and its quantised RMSNorm for float8
#: (facts/nki.md sections 7.1 and 7.2). The table has no row for float16; it is given bfloat16's.
_USUAL: Final = {23: (1e-5, 1e-8), 10: (2e-2, 1e-5), 7: (2e-2, 1e-5)}
_USUAL_NARROW: Final = (7.2e-2, 1e-5)

#: Relative L2 error up to which a wrong output is wrong by little: what narrow dtypes cost.
_SLIGHT: Final = 2e-2

#: Sums of squares between these neither overflowed nor lost anything to underflow.
_SAFE_SQUARES: Final = (1e-200, 1e200)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing one output came to.

    Attributes:
        passed: Whether it is within its limits.
        message: One line; for a failure what differs, where, by how much, and what that usually means.
        error: The distances, or None when shape or dtype already differ.
    """

    passed: bool
    message: str
    error: OutputError | None = None


def compare_output(spec: TensorSpec, got: np.ndarray, expected64: np.ndarray, limits: Limits) -> Comparison:
    """Compare `got` with the float64 reference `expected64` of the same shape.

    Shape and dtype must be exact, and NaNs and infinities must stand where the reference, rounded to the
    output's dtype, has them. Over the finite elements three distances are held to their limits, all of them:

    - ``|got - expected|`` of each element, without exception: no share of elements may be beyond;
    - ``||got - expected|| / ||expected||`` over each row (the last axis);
    - the same over the whole output.

    Where a row, or the whole, of the reference is zero, there is no relative error: it counts as 0 if every
    element there is within its limit, else as infinite.

    AWS's own rule (nkilib's ``maxAllClose``: ``max |error| <= atol + rtol * max |expected|``) and NumPy's
    are evaluated beside, with the tolerances usual for the dtype, and decide nothing.

    Args:
        spec: Name and dtype of the output.
        got: Any shape and dtype, of any subclass: only its values are looked at.
        expected64: Float64 of the shape that the task asks for.
        limits: What it is held to.
    """
    dtype = DTYPES[spec.dtype]
    # A subclass could answer for itself in every operation below.
    got, expected64 = np.asarray(got), np.asarray(expected64)
    refusal = _refuse_kind(got, expected64.shape, dtype)
    if refusal is not None:
        return Comparison(False, f"output '{spec.name}' {refusal}")

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected64.astype(dtype.storage).astype(np.float64)
        values = got.astype(np.float64)
        # A sum is finite exactly if all of its terms are: those of any dtype are far from float64's largest.
        all_finite = np.isfinite(rounded.sum()) and np.isfinite(values.sum())
    reference, allowed, undefined = expected64, limits.elementwise, False
    if not all_finite:
        kinds = _kinds(rounded)
        differing = _kinds(values) != kinds
        if differing.any():
            return _explain_kinds(spec, got, expected64, differing, limits)
        undefined = bool((kinds == _NAN).any())
        finite = kinds == _FINITE
        reference, rounded, values, allowed = (
            np.where(finite, array, 0.0) for array in (reference, rounded, values, allowed)
        )

    errors = np.abs(values - reference)
    within = errors <= allowed
    beyond = within.size - int(np.count_nonzero(within))
    row_sizes, row_norms = _norms(_rows(reference)), _norms(_rows(errors))
    row_errors = _relate(row_norms, row_sizes, _rows(within))
    row_usage = _over(row_errors, limits.row_rel_l2)
    worst_row = int(np.argmax(row_usage))
    size = float(_norms(row_sizes.reshape(1, -1))[0])
    rel_l2 = float(_relate(_norms(row_norms.reshape(1, -1)), np.array([size]), within.reshape(1, -1))[0])

    rows_pass = bool((row_errors <= limits.row_rel_l2).all())
    passed = beyond == 0 and rows_pass and rel_l2 <= limits.rel_l2
    usage = _rows(_over(errors, allowed))
    if beyond == 0 and not rows_pass:
        flat = worst_row * usage.shape[1] + int(np.argmax(usage[worst_row]))
    else:
        flat = int(np.argmax(usage))
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape))

    scale = abs(float(reference[index])) + size / np.sqrt(reference.size)
    pattern = "" if passed else _describe(dtype, values, reference, within, row_usage, rel_l2)
    error = OutputError(
        output=spec.name,
        rel_l2=rel_l2,
        worst_row_rel_l2=float(row_errors[worst_row]),
        worst_elementwise=float(errors[index]) / scale if scale else (0.0 if within[index] else np.inf),
        worst_index=index,
        got=_printed(got[index]),
        expected=_printed(expected64[index]),
        rounding_rel_l2=float(_norms((rounded - reference).reshape(1, -1))[0]) / size if size else 0.0,
        tolerance=Tolerance(
            rel_l2=limits.rel_l2,
            row_rel_l2=float(limits.row_rel_l2[worst_row]),
            elementwise=float(allowed[index]) / scale if scale else 0.0,
            derivation=limits.derivation,
            overridden=limits.overridden,
        ),
        ulps=float(measure_ulps(values[index], reference[index], dtype)),
        beyond=beyond,
        elements=got.size,
        pattern=pattern,
        **_compare_otherwise(dtype, errors, reference, undefined),
    )
    if passed:
        return Comparison(True, f"output '{spec.name}' agrees: {_say_distances(error)}", error)
    extent = f"; {_extent(~within)} beyond their limit" if beyond else ""
    return Comparison(False, _explain(error, extent), error)


def _refuse_kind(got: np.ndarray, shape: tuple[int, ...], dtype: DType) -> str | None:
    """Return why an output cannot be compared at all, or None."""
    if got.shape != shape:
        return f"has shape {list(got.shape)}, expected {list(shape)}"
    if got.dtype != dtype.storage:
        return f"has dtype {got.dtype}, expected {dtype.name}"
    if got.ndim == 0 or got.size == 0:
        return "has nothing to compare: a scalar or an empty array proves no kernel right"
    return None


_FINITE, _NAN, _POSITIVE, _NEGATIVE = range(4)


def _kinds(values: np.ndarray) -> np.ndarray:
    conditions = [np.isnan(values), np.isposinf(values), np.isneginf(values)]
    return np.select(conditions, [_NAN, _POSITIVE, _NEGATIVE], _FINITE)


def _explain_kinds(
    spec: TensorSpec, got: np.ndarray, expected64: np.ndarray, differing: np.ndarray, limits: Limits
) -> Comparison:
    index = tuple(int(i) for i in np.argwhere(differing)[0])
    row = int(np.ravel_multi_index(index, got.shape)) // got.shape[-1]
    meaning = _explain_kind(float(got[index]), float(expected64[index]))
    error = OutputError(
        output=spec.name,
        rel_l2=np.inf,
        worst_row_rel_l2=np.inf,
        worst_elementwise=np.inf,
        worst_index=index,
        got=_printed(got[index]),
        expected=_printed(expected64[index]),
        tolerance=Tolerance(
            rel_l2=limits.rel_l2,
            row_rel_l2=float(limits.row_rel_l2[row]),
            elementwise=0.0,
            derivation=limits.derivation,
            overridden=limits.overridden,
        ),
        ulps=np.inf,
        beyond=int(np.count_nonzero(differing)),
        elements=got.size,
        pattern="; ".join(filter(None, (meaning, describe_cluster(differing)))),
    )
    extent = f"; NaN or infinity disagree in {_extent(differing)}"
    return Comparison(False, _explain(error, extent, measured=False), error)


def _explain_kind(got: float, expected: float) -> str:
    """Return what it usually means that one of the two is no finite number, or not in the output's dtype."""
    if np.isnan(got):
        return (
            "a NaN comes from infinity - infinity, 0 * infinity or 0 / 0, or from memory that nothing wrote:"
            " look for a step that overflows before it"
        )
    if np.isinf(got):
        return (
            "a value overflowed: subtract the maximum, scale or clip before the step that makes it infinite"
        )
    if np.isnan(expected):
        return "a NaN of the reference was lost: maxima, minima and comparisons drop it"
    return "an infinity of the reference was lost: a mask, or a value beyond the output's range, was clipped"


def _relate(errors: np.ndarray, sizes: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return errors over sizes; where there is no size, 0 if all elements of the row of `within` are."""
    if (sizes > 0).all():
        quotient: np.ndarray = errors / sizes
        return quotient
    relative = np.divide(errors, sizes, out=np.full(errors.shape, np.inf), where=sizes > 0)
    (empty,) = np.nonzero(sizes == 0)
    relative[empty] = np.where(within[empty].all(axis=1), 0.0, np.inf)
    return np.asarray(relative)


def _over(errors: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return errors / limits, where no error at all is 0 and an error where none is allowed is infinite."""
    if (limits > 0).all():
        quotient: np.ndarray = errors / limits
        return quotient
    usage = np.divide(errors, limits, out=np.full(errors.shape, np.inf), where=limits > 0)
    return np.asarray(np.where(errors == 0, 0.0, usage))


def _rows(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, values.shape[-1])


def _norms(rows: np.ndarray) -> np.ndarray:
    """Return the L2 norm of each row, also where squares of its elements overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    norms: np.ndarray = np.sqrt(squares)
    low, high = _SAFE_SQUARES
    unsafe = ~((squares >= low) & (squares <= high))
    if unsafe.any():
        scale = np.abs(rows[unsafe]).max(axis=1)
        safe = np.where(scale > 0, scale, 1.0)
        norms[unsafe] = safe * np.sqrt(np.square(rows[unsafe] / safe[:, None]).sum(axis=1)) * (scale > 0)
    return norms


def _compare_otherwise(
    dtype: DType, errors: np.ndarray, reference: np.ndarray, undefined: bool
) -> dict[str, bool]:
    """Return what AWS's rule and NumPy's say; to NumPy a NaN is close to nothing."""
    relative, absolute = _USUAL.get(dtype.mantissa_bits, _USUAL_NARROW) if dtype.is_float else (0.0, 0.0)
    worst = float(errors.max())
    aws = worst <= absolute + relative * max(float(reference.max()), -float(reference.min()))
    close = aws and not undefined
    if close and worst > absolute:
        close = bool((errors <= absolute + relative * np.abs(reference)).all())
    return {"aws_rule": aws, "allclose": close}


def _describe(
    dtype: DType,
    values: np.ndarray,
    reference: np.ndarray,
    within: np.ndarray,
    row_usage: np.ndarray,
    rel_l2: float,
) -> str:
    """Return how a wrong output is related to the right one, else where it is wrong; may be empty."""
    roundoff = 2.0 ** -(dtype.mantissa_bits + 1) if dtype.is_float else 0.0
    beyond = within.size - int(np.count_nonzero(within))
    # A relation holds for all elements; where most are right, it says nothing of the others.
    if not 0 < 2 * beyond < within.size or not values.any():
        relation = describe_relation(values, reference, roundoff)
        if relation:
            return relation
    if beyond:
        return describe_cluster(~within, slight=rel_l2 <= _SLIGHT)
    rows = ~(row_usage <= 1)
    if not rows.any():
        return "no element and no row is beyond its limit: all of it is a little less precise"
    cluster = describe_cluster(rows.reshape(*within.shape[:-1], 1))
    return f"of the rows beyond their limit {cluster}" if cluster else ""


def _say_distances(error: OutputError) -> str:
    tolerance = error.tolerance
    if tolerance is None:
        return ""
    measures = (
        ("rel-L2", error.rel_l2, tolerance.rel_l2),
        ("worst row rel-L2", error.worst_row_rel_l2, tolerance.row_rel_l2),
        ("worst element-wise error", error.worst_elementwise, tolerance.elementwise),
    )
    return ", ".join(
        f"{name} {value:.3g} {'is within' if value <= limit else 'exceeds'} {limit:.3g}"
        for name, value, limit in measures
    )


def _explain(error: OutputError, extent: str, *, measured: bool = True) -> str:
    distances = f" ({error.ulps:.3g} ulp apart); {_say_distances(error)}" if measured else ""
    pattern = f"; {error.pattern}" if error.pattern else ""
    return (
        f"output '{error.output}' differs at {list(error.worst_index)}: got {error.got}, "
        f"expected {error.expected}{distances}{extent}{pattern}"
    )


def _extent(marked: np.ndarray) -> str:
    """Return how many elements are marked, and the smallest box around them: a wrong tail shows at once."""
    box = ", ".join(f"{int(axis.min())}:{int(axis.max()) + 1}" for axis in np.nonzero(marked))
    count = int(np.count_nonzero(marked))
    # All is said of all alone.
    share = "100" if count == marked.size else f"{min(100 * count / marked.size, 99.9):.3g}"
    return f"{count} of {marked.size} elements ({share}%), in [{box}]"


def _printed(value: np.generic) -> str:
    return f"{float(value):.9g}"
