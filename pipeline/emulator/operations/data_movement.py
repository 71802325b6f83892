"""Copies and fills by the compute engines: `tensor_copy`, `memset`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import ENGINE, destination, source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, bit_pattern, integer_range, loader, writer
from pipeline.emulator.operations.limits import agree
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS", "bind_copy"]


def bind_copy(call: Call) -> Kernel:
    """Copy bit for bit between equal types, else through float32.

    On every engine: the scalar engine of NeuronCore-v2, which would go through float32 always, has no copy
    (`_scalar_copy`), and later ones are bit-accurate (Trainium2 architecture guide, Scalar Engine).
    """
    destination_, source_ = call.tensor("dst"), call.tensor("src")
    if DTYPES[destination_.dtype].storage == DTYPES[source_.dtype].storage:
        if destination_.shape == source_.shape:
            return _copy
        return _copy_reshaped
    load, write = loader(source_, destination_.shape), writer(destination_.dtype)

    def convert(registers: object, dst: Array, src: Array) -> None:
        write(dst, load(src))

    return convert


def _copy(registers: object, dst: Array, src: Array) -> None:
    dst[...] = src


def _copy_reshaped(registers: object, dst: Array, src: Array) -> None:
    dst[...] = src.reshape(dst.shape)


def _bind_memset(call: Call) -> Kernel:
    kind = DTYPES[call.tensor("dst").dtype]
    value = call.scalar("value")
    number = value if isinstance(value, int | float) else 0
    fill: Any
    if kind.is_float or kind.storage == np.bool_:
        fill = np.empty((), kind.storage)
        # A number of the language is a float32 before it is anything narrower.
        writer(kind.name)(fill, np.array(number, call.precision))
    else:
        fill = bit_pattern(int(number), kind.storage)

    def memset(registers: object, dst: Array) -> None:
        dst[...] = fill

    return memset


def _scalar_copy(call: Call) -> Iterator[str]:
    if call.engine == "scalar":
        yield "tensor_copy does not run on NeuronCore-v2's scalar engine: use nisa.activation(op=nl.copy)"


def _memset_value(call: Call) -> Iterator[str]:
    dst, value = call.tensor("dst"), call.scalar("value")
    kind = DTYPES[dst.dtype]
    if kind.is_float:
        return
    if kind.is_packed:
        if value != 0:
            yield f"value {value!r} into a {dst.dtype} tile: packed types can be filled with 0 only"
    elif isinstance(value, float):
        yield f"float value {value!r} into a {dst.dtype} tile: pass an int"
    elif isinstance(value, int) and kind.storage != np.bool_:
        low, high = integer_range(dst.dtype)
        if not low <= value <= high:
            yield f"value {value} does not fit {dst.dtype} [{low}, {high}]"


_SMALL: Final = 64  # MIN_II, the shortest instruction in cycles


def _copy_cycles(call: Call) -> float:
    return max(_SMALL, call.tensor("dst").free_elements)


def _memset_cycles(call: Call) -> float:
    dst = call.tensor("dst")
    halved = call.scalar("value") == 0 and dst.dtype in ("bfloat16", "float16")
    return max(_SMALL, dst.free_elements / 2 if halved else dst.free_elements)


OPERATIONS: Final = (
    Operation(
        "tensor_copy",
        (destination(), source("src"), ENGINE),
        engines=("vector", "scalar", "gpsimd"),
        bind=bind_copy,
        cycles=_copy_cycles,
        limits=(
            agree("dst", "src"),
            Limit(
                "scalar-copy",
                _scalar_copy,
                "nki.isa.tensor_copy docstring, NeuronCore v2",
                frozenset({"trn1"}),
            ),
        ),
        source="nki.isa.tensor_copy, NKI 0.6; facts/nki.md sections 3.1 and 4.1",
    ),
    Operation(
        "memset",
        (destination(), Parameter("value", ParameterKind.NUMBER), ENGINE),
        engines=("vector", "gpsimd"),
        bind=_bind_memset,
        cycles=_memset_cycles,
        limits=(Limit("memset-value", _memset_value, "NKI 0.3.0 release notes (facts/nki.md section 1.3)"),),
        source="nki.isa.memset, NKI 0.6; facts/nki.md sections 3.1 and 4.1",
    ),
)
