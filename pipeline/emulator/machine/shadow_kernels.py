"""What instructions do in a wide program: compute in float64, and where asked round as they really would.

Three kinds of kernels take the wide arrays of an instruction. A wide one is the operation's own, bound to
wide types. A narrow one rounds what it reads to the declared types, runs the real kernel and widens the
result: for operations on bits. A rounding one computes ``wide(x) + (real(round(x)) - wide(round(x)))``, so
that of all rounding only the instruction's own enters: not that of what others had stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.memory import Array
from pipeline.emulator.operations import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import writer

__all__ = ["Rounding", "bind_narrow", "bind_rounding", "can_widen", "distance"]

_FLOAT32: Final = np.dtype(np.float32)
_FARTHEST: Final = 1e9
_EIGHT_BITS: Final = frozenset({"float8_e4m3", "float8_e4m3fn", "float8_e5m2"})
#: Operations that see bits, or draw random ones.
_ON_BITS: Final = frozenset(
    {
        "nc_matmul_mx",
        "quantize_mx",
        "register_load",
        "register_store",
        "rng",
        "rand2",
        "rand_set_state",
        "rand_get_state",
        "set_rng_seed",
        "dropout",
    }
)


def can_widen(real: Call, wide: Call) -> bool:
    """Return whether an instruction may run on float64.

    Args:
        real: The instruction.
        wide: The same in the wide program.
    """
    if real.operation.name in _ON_BITS:
        return False
    pairs = [
        (before.dtype, DTYPES[after.dtype])
        for before, after in zip(real.operands, wide.operands, strict=True)
        if before is not None and after is not None
    ]
    if any(
        DTYPES[before].is_packed or (DTYPES[before].is_float and not after.wide) for before, after in pairs
    ):
        return False
    # The tensor engine's transposes put the bits of 8-bit floats into 16-bit elements.
    transposes = real.operation.name == "nc_transpose" or (
        "is_transpose" in real.operation.scalar_slots and bool(real.scalar("is_transpose"))
    )
    sizes = {DTYPES[before].itemsize for before, _ in pairs}
    return not (transposes and len(sizes) > 1 and any(before in _EIGHT_BITS for before, _ in pairs))


def bind_narrow(real: Call, kernel: Kernel) -> Kernel:
    """Return a kernel on wide arrays that runs the real one on rounded ones."""
    slots = _slots(real)

    def run(registers: Registers, *views: Array | None) -> None:
        rounded = [slot.round(view) for slot, view in zip(slots, views, strict=True)]
        mine = _narrow_registers(registers)
        kernel(mine, *rounded)
        for slot, view, result in zip(slots, views, rounded, strict=True):
            if slot.written and view is not None and result is not None and view is not result:
                view[...] = result
        registers.scalar[...] = mine.scalar
        registers.vector[...] = mine.vector

    return run


class Rounding(NamedTuple):
    """One kind of instruction, at one line.

    Attributes:
        line: Of the submission.
        operation: Name of the operation.
        real: Its call.
        kernel: What it really does.
        wide: What it does in float64.
    """

    line: int
    operation: str
    real: Call
    kernel: Kernel
    wide: Kernel


def bind_rounding(rounding: Rounding, report: Callable[[Rounding, float], None]) -> tuple[Kernel, Kernel]:
    """Return a kernel that rounds, and one that computes in float64 but reports what rounding would do.

    Args:
        rounding: The instruction.
        report: Takes the relative L2 change that rounding makes in the results of one execution.
    """
    slots = _slots(rounding.real)

    def changes(registers: Registers, views: Sequence[Array | None]) -> list[tuple[Array, Array, Array]]:
        """Return per result the place it goes to, what it really is and what it is in float64."""
        rounded = [slot.round(view, copy=True) for slot, view in zip(slots, views, strict=True)]
        exact = [slot.widen(array) for slot, array in zip(slots, rounded, strict=True)]
        mine = _narrow_registers(registers)
        others = replace(
            mine,
            scalar=mine.scalar.astype(np.float64),
            vector=mine.vector.astype(np.float64),
            observations={},
        )
        rounding.kernel(mine, *rounded)
        rounding.wide(others, *exact)
        results = [
            (view, real, wide)
            for slot, view, real, wide in zip(slots, views, rounded, exact, strict=True)
            if slot.written and view is not None and real is not None and wide is not None
        ]
        results.append((registers.scalar, mine.scalar, others.scalar))
        results.append((registers.vector, mine.vector, others.vector))
        return results

    def round_results(registers: Registers, *views: Array | None) -> None:
        found = changes(registers, views)
        rounding.wide(registers, *views)
        for place, real, wide in found:
            _change(place, real, wide)

    def observe(registers: Registers, *views: Array | None) -> None:
        report(rounding, max(_loss(real, wide) for _, real, wide in changes(registers, views)))
        rounding.wide(registers, *views)

    return round_results, observe


class _Slot(NamedTuple):
    """One tensor argument of an instruction.

    Attributes:
        storage: Of its declared type; None where the argument is absent.
        write: Rounds into an array of that storage; None where values stay as they are.
        written: Whether the instruction writes it.
    """

    storage: np.dtype[Any] | None
    write: Callable[[Array, Array], None] | None
    written: bool

    def round(self, view: Array | None, *, copy: bool = False) -> Array | None:
        """Return values of the declared type; an array of its own if anything changes, or if asked."""
        if view is None or self.storage is None:
            return None
        if self.write is None or view.dtype == self.storage:
            return view.copy() if copy else view
        narrow = np.empty(view.shape, self.storage)
        self.write(narrow, view)
        return narrow

    def widen(self, array: Array | None) -> Array | None:
        """Return the values as float64, or if they are no floats a copy."""
        if array is None or self.write is None:
            return None if array is None else array.copy()
        return array.astype(np.float64)


def _slots(real: Call) -> list[_Slot]:
    slots: list[_Slot] = []
    for parameter, operand in zip(real.operation.tensor_parameters, real.operands, strict=True):
        if operand is None:
            slots.append(_Slot(None, None, False))
            continue
        kind = DTYPES[operand.dtype]
        slots.append(
            _Slot(kind.storage, writer(kind.name) if kind.is_float else None, parameter.kind.written)
        )
    return slots


def _narrow_registers(registers: Registers) -> Registers:
    return replace(
        registers,
        scalar=registers.scalar.astype(_FLOAT32),
        vector=registers.vector.astype(_FLOAT32),
        observations={},
    )


def _change(place: Array, real: Array, wide: Array) -> None:
    """Add what rounding changed; what overflowed becomes what it really is, unless its inputs had."""
    if place.dtype.kind != "f":
        if place.dtype.kind in "iu":
            bounds = np.iinfo(place.dtype)
            moved = place.astype(np.int64) + (real.astype(np.int64) - wide.astype(np.int64))
            place[...] = np.clip(moved, bounds.min, bounds.max)
        return
    change = real.astype(np.float64) - wide
    finite = np.isfinite(wide)
    place += np.where(finite & np.isfinite(change), change, 0.0)
    overflowed = finite & ~np.isfinite(real.astype(np.float64))
    if overflowed.any():
        np.copyto(place, real.astype(np.float64), where=overflowed)


def distance(exact: Array, rounded: Array) -> float:
    """Return the relative L2 distance of two arrays, at most 1e9.

    An element that is finite in ``exact`` only counts as lost, as if it had come out as 0; one that is not
    finite in ``exact`` counts as nothing.

    Args:
        exact: What the other is measured by.
        rounded: Of the same shape.
    """
    with np.errstate(all="ignore"):
        before, after = exact.astype(np.float64), rounded.astype(np.float64)
        finite = np.isfinite(before)
        before = np.where(finite, before, 0.0)
        after = np.where(finite & np.isfinite(after), after, 0.0)
        # Squares of float64 overflow long before their roots do.
        scale = float(np.abs(before).max(initial=0.0)) or float(np.abs(after).max(initial=0.0)) or 1.0
        change = float(np.linalg.norm((after - before) / scale))
    return min(change / (float(np.linalg.norm(before / scale)) or change), _FARTHEST) if change else 0.0


def _loss(real: Array, wide: Array) -> float:
    """Return the distance of a result from what it is in float64; infinite if something overflowed."""
    overflowed = np.isfinite(wide.astype(np.float64)) & ~np.isfinite(real.astype(np.float64))
    return float("inf") if overflowed.any() else distance(wide, real)
