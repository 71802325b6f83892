"""What `nki.language` holds besides values: its functions, those that are operators too, and its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pipeline.emulator.frontend import (
    constants,
    control,
    creation,
    grid,
    matrices,
    movement,
    normalisation,
    randomness,
    reductions,
    selection,
)
from pipeline.emulator.frontend.elementwise import ELEMENTWISE
from pipeline.emulator.frontend.functions import LanguageFunction, checked
from pipeline.emulator.frontend.rounding import ceil, floor, trunc
from pipeline.emulator.frontend.trigonometry import cos, sin, tan
from pipeline.emulator.frontend.values import DynamicSlice, MemoryRegion

__all__ = ["FUNCTIONS", "OPERATORS"]

_ON_CHIP: Final = (MemoryRegion.sbuf, MemoryRegion.psum)


def ds(start: Any, size: Any) -> DynamicSlice:
    """Return the slice of `size` elements from `start`."""
    return DynamicSlice(start, size)


def is_hbm(buffer: object) -> bool:
    """Return whether a memory is HBM of any kind."""
    return isinstance(buffer, MemoryRegion) and buffer not in _ON_CHIP


def is_on_chip(buffer: object) -> bool:
    """Return whether a memory is SBUF or PSUM."""
    return buffer in _ON_CHIP


def is_sbuf(buffer: object) -> bool:
    """Return whether a memory is SBUF."""
    return buffer is MemoryRegion.sbuf


def is_psum(buffer: object) -> bool:
    """Return whether a memory is PSUM."""
    return buffer is MemoryRegion.psum


#: Functions that are passed as ``op=`` too, and operators that are nothing else. Compared by identity.
OPERATORS: Final[dict[str, LanguageFunction]] = {
    **{name: LanguageFunction(name, function) for name, function in ELEMENTWISE.items()},
    "sin": LanguageFunction("sin", sin),
    **{name: LanguageFunction(name, None) for name in ("average", "bypass", "prelu")},
    # Reductions stand for the operators they reduce with.
    "sum": LanguageFunction("sum", reductions.sum_, operator="add"),
    "max": LanguageFunction("max", reductions.max_, operator="maximum"),
    "min": LanguageFunction("min", reductions.min_, operator="minimum"),
    "prod": LanguageFunction("prod", reductions.prod, operator="multiply"),
}

_PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "affine_range": control.unrolled_range,
    "sequential_range": control.unrolled_range,
    "static_range": control.unrolled_range,
    # In no documentation, but nki-library of April 2026 loops with it.
    "range": control.unrolled_range,
    "dynamic_range": control.dynamic_range,
    "fori_loop": control.fori_loop,
    "while_loop": control.while_loop,
    "program_id": grid.program_id,
    "num_programs": grid.num_programs,
    "program_ndim": grid.program_ndim,
    "ds": ds,
    "is_hbm": is_hbm,
    "is_on_chip": is_on_chip,
    "is_psum": is_psum,
    "is_sbuf": is_sbuf,
    "ndarray": creation.ndarray,
    "zeros": creation.zeros,
    "ones": creation.ones,
    "full": creation.full,
    "zeros_like": creation.zeros_like,
    "empty_like": creation.empty_like,
    "rand": randomness.rand,
    "random_seed": randomness.random_seed,
    "dropout": randomness.dropout,
    "shared_constant": constants.shared_constant,
    "shared_identity_matrix": constants.shared_identity_matrix,
    "load": movement.load,
    "load_transpose2d": movement.load_transpose2d,
    "store": movement.store,
    "broadcast_to": movement.broadcast_to,
    "expand_dims": movement.expand_dims,
    "device_print": movement.device_print,
    "matmul": matrices.matmul,
    "transpose": matrices.transpose,
    "where": selection.where,
    "gather_flattened": selection.gather_flattened,
    "cos": cos,
    "tan": tan,
    "ceil": ceil,
    "floor": floor,
    "trunc": trunc,
    "mean": reductions.mean,
    "var": reductions.var,
    "all": reductions.all_,
    "softmax": normalisation.softmax,
    "rms_norm": normalisation.rms_norm,
}

#: Functions that are nothing else.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    name: checked(name, function) for name, function in _PLAIN.items()
}
