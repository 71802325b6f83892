"""Indices of the elements that are not zero, on gpsimd: `nonzero_with_count`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.gather import CORE_PARTITIONS
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import REQUIRED, Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_DOCSTRING: Final = "nki.isa.nonzero_with_count docstring, Constraints"


def _bind(call: Call) -> Kernel:
    """Work on the first partition of each gpsimd core; the others of `dst` keep what they hold."""
    width = call.tensor("src").free_elements
    offset, padding = _integer(call, "index_offset"), _integer(call, "padding_val")

    def find(registers: object, dst: Array, src: Array) -> None:
        rows = src.reshape(src.shape[0], width)
        for partition in range(0, rows.shape[0], CORE_PARTITIONS):
            places = np.flatnonzero(rows[partition])
            found = np.full(width + 1, padding, np.int64)
            found[: places.size] = places + offset
            found[-1] = places.size
            dst[partition] = found.astype(np.int32).reshape(dst.shape[1:])

    return find


def _integer(call: Call, name: str) -> int:
    value: Any = call.scalar(name)
    return int(value)


def _shape(call: Call) -> Iterator[str]:
    src, dst = call.tensor("src"), call.tensor("dst")
    if (dst.partitions, dst.free_elements) != (src.partitions, src.free_elements + 1):
        yield (
            f"dst is {describe(dst)}, src is {describe(src)}: dst takes one element per partition more than "
            f"src, the count; make it ({src.partitions}, {src.free_elements + 1})"
        )


def _integers(call: Call) -> Iterator[str]:
    for name in ("index_offset", "padding_val"):
        value = call.scalar(name)
        if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
            yield f"{name} is {value!r}, must be an int32"


OPERATIONS: Final = (
    Operation(
        "nonzero_with_count",
        (
            Parameter("dst", ParameterKind.UPDATED, REQUIRED, buffers=_SBUF, dtypes=frozenset({"int32"})),
            source("src", _SBUF, frozenset({"float32", "int32"})),
            Parameter("index_offset", ParameterKind.NUMBER, 0),
            Parameter("padding_val", ParameterKind.NUMBER, -1),
        ),
        engines=("gpsimd",),
        bind=_bind,
        limits=(
            Limit("nonzero-shape", _shape, _DOCSTRING),
            Limit("nonzero-integers", _integers, _DOCSTRING),
        ),
        targets=frozenset({"trn2", "trn3"}),
        source="nki.isa.nonzero_with_count docstring, NKI 0.6",
    ),
)
