"""`nki.language`: reductions along free dimensions, and compositions. Source: docstrings of NKI 0.6."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any, Final

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import FUNCTIONS, require_tile
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import LanguageFunction
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["REDUCTIONS", "rms_norm", "softmax"]

Axis = int | Sequence[int]


def _reduce(name: str, operator: str, x: Any, axis: Axis, dtype: Any, keepdims: bool) -> NkiTensor:
    tile = require_tile(x, name)
    axes = _free_axes(name, tile, axis)
    kept = [1 if position in axes else size for position, size in enumerate(tile.shape)]
    shape = kept if keepdims else [size for position, size in enumerate(tile.shape) if position not in axes]
    result = new_tile(shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["tensor_reduce"](result, op=FUNCTIONS[operator], data=tile, axis=axes, keepdims=keepdims)
    return result


def _free_axes(name: str, tile: NkiTensor, axis: Axis) -> tuple[int, ...]:
    """Return the reduced dimensions, ascending."""
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(not isinstance(position, int) or not -tile.ndim <= position < tile.ndim for position in given):
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"nl.{name} of {tile!r}: axis {axis} does not exist")
    axes = tuple(sorted({position % tile.ndim for position in given}))
    if not axes or axes[0] == 0 or axes != tuple(range(axes[0], tile.ndim)):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{name} of {tile!r}: axis {axis} must be the last free dimensions, without dimension 0; "
            "reduce over partitions with a matmul by ones",
        )
    return axes


def sum_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the sum along `axis`."""
    return _reduce("sum", "add", x, axis, dtype, keepdims)


def max_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the maximum along `axis`."""
    return _reduce("max", "maximum", x, axis, dtype, keepdims)


def min_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the minimum along `axis`."""
    return _reduce("min", "minimum", x, axis, dtype, keepdims)


def prod(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the product along `axis`."""
    return _reduce("prod", "multiply", x, axis, dtype, keepdims)


def mean(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the arithmetic mean along `axis`, with float32 intermediates."""
    tile = require_tile(x, "mean")
    count = product(tile.shape[position] for position in _free_axes("mean", tile, axis))
    total = _reduce("mean", "add", tile, axis, "float32", keepdims)
    return _call("multiply", total, 1.0 / count, dtype=tile.dtype if dtype is None else dtype)


def var(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the population variance along `axis`; reduced dimensions stay, as documented."""
    tile = require_tile(x, "var")
    rows = _rows("var", tile, axis)
    centred = _scale_rows(rows, "subtract", mean(rows, 1, dtype="float32"))
    result = mean(_call("square", centred), 1, dtype=tile.dtype if dtype is None else dtype)
    axes = _free_axes("var", tile, axis)
    return result.reshape([1 if position in axes else size for position, size in enumerate(tile.shape)])


def softmax(x: Any, axis: Axis = -1, dtype: Any = None) -> NkiTensor:
    """Return ``exp(x - max(x)) / sum(exp(x - max(x)))`` along `axis`."""
    tile = require_tile(x, "softmax")
    rows = _rows("softmax", tile, axis)
    lowest = new_tile((rows.shape[0], 1), "float32")
    INSTRUCTIONS["tensor_reduce"](lowest, op=FUNCTIONS["maximum"], data=rows, axis=1, negate=True)
    powers = new_tile(rows.shape, "float32")
    INSTRUCTIONS["activation"](powers, op=FUNCTIONS["exp"], data=rows, bias=lowest)
    total = sum_(powers, 1, dtype="float32")
    result = _scale_rows(
        powers, "multiply", _call("reciprocal", total), tile.dtype if dtype is None else dtype
    )
    return result.reshape(tile.shape)


def rms_norm(
    x: Any, w: Any, axis: Axis, n: int, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """Return ``x / sqrt(sum(x * x) / n + epsilon) * w`` along `axis`."""
    tile, weight = require_tile(x, "rms_norm"), require_tile(w, "rms_norm")
    working = "float32" if compute_dtype is None else compute_dtype
    rows = _rows("rms_norm", tile, axis)
    total = sum_(_call("square", rows, dtype=working), 1, dtype="float32")
    shifted = new_tile(total.shape, "float32")
    INSTRUCTIONS["tensor_scalar"](
        shifted, total, op0=FUNCTIONS["multiply"], operand0=1.0 / n, op1=FUNCTIONS["add"], operand1=epsilon
    )
    scaled = _scale_rows(rows, "multiply", _call("rsqrt", shifted), working).reshape(tile.shape)
    return _call("multiply", scaled, weight, dtype=tile.dtype if dtype is None else dtype)


def _call(name: str, *args: Any, **kwargs: Any) -> NkiTensor:
    """Call an element-wise function by name."""
    result: NkiTensor = FUNCTIONS[name](*args, **kwargs)
    return result


def _rows(name: str, tile: NkiTensor, axis: Axis) -> NkiTensor:
    """Return the tile as (P, F), where `axis` covers all free dimensions."""
    if _free_axes(name, tile, axis)[0] != 1:
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"nl.{name} of {tile!r} over axis {axis}: the emulator covers all free dimensions together",
        )
    return tile.reshape((tile.shape[0], product(tile.shape[1:])))


def _scale_rows(rows: NkiTensor, operator: str, column: NkiTensor, dtype: Any = "float32") -> NkiTensor:
    """Return ``rows operator column`` for a (P, 1) column."""
    result = new_tile(rows.shape, dtype)
    INSTRUCTIONS["tensor_scalar"](result, rows, op0=FUNCTIONS[operator], operand0=column)
    return result


#: Reductions, which are also the ALU operators they reduce with.
REDUCTIONS: Final[dict[str, LanguageFunction]] = {
    "sum": LanguageFunction("sum", sum_, operator="add"),
    "max": LanguageFunction("max", max_, operator="maximum"),
    "min": LanguageFunction("min", min_, operator="minimum"),
    "prod": LanguageFunction("prod", prod, operator="multiply"),
    "mean": LanguageFunction("mean", mean),
    "var": LanguageFunction("var", var),
}
