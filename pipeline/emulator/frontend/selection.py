"""`nki.language`: choosing and gathering elements. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from typing import Any

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import copied, scaled
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["gather_flattened", "where"]


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """Return a tile with `x` where `condition` is 1.0, and `y` where it is 0.0.

    Args:
        condition: Tile, as comparisons return it.
        x: Tile of its shape.
        y: Tile of its shape.
        dtype: Of the result; that of `x` by default.
    """
    chooser, chosen, other = _tiles("where", condition=condition, x=x, y=y)
    if not chooser.shape == chosen.shape == other.shape:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.where of {chooser!r}, {chosen!r} and {other!r}: the three shapes must be equal; use "
            "nl.broadcast_to",
        )
    kind = chosen.dtype if dtype is None else dtype
    predicate = scaled(chooser, "not_equal", 0.0, dtype="uint8")
    result = copied(other, kind)
    source = chosen if chosen.dtype == result.dtype else copied(chosen, kind)
    INSTRUCTIONS["tensor_copy_predicated"](result, source, predicate)
    return result


def gather_flattened(data: Any, indices: Any, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """Return, in each partition, the elements of `data` at flattened positions.

    Args:
        data: (P, ...) tile in SBUF.
        indices: (P, ...) uint32 tile in SBUF; positions among the elements of a partition of `data`.
        axis: 0, the only one documented with a meaning.
        dtype: Of the result; that of `data` by default.
    """
    source, positions = _tiles("gather_flattened", data=data, indices=indices)
    if axis != 0:
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"nl.gather_flattened(axis={axis}): only axis=0 is documented with a meaning; gather along the "
            "free dimensions, or use nisa.nc_n_gather",
        )
    result = new_tile(positions.shape, source.dtype)
    INSTRUCTIONS["nc_n_gather"](result, source, positions)
    return result if dtype is None or dtype == source.dtype else copied(result, dtype)


def _tiles(function: str, **arguments: Any) -> list[NkiTensor]:
    """Return the arguments if all are tiles; numbers are not documented here."""
    for name, value in arguments.items():
        if isinstance(value, bool | int | float):
            raise KernelError(
                KernelErrorKind.UNSUPPORTED,
                f"nl.{function}: {name} is {value!r}, documented are tiles only; fill one with nl.full",
            )
    return [require_tile(value, function) for value in arguments.values()]
