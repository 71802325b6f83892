"""The largest values of a group of 16 partitions and where they are, on gpsimd: `topk`.

The elements of a group lie down its partitions first: element ``i`` in partition ``i % 16``, column
``i // 16``. The documentation says that each partition yields the largest values of "the source data", which
its layout spreads over the group, so all 16 partitions of a group yield the same. Which of several equal
values is taken, and where NaN ranks, it does not say: here the first, and last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.gather import CORE_PARTITIONS
from pipeline.emulator.operations.table import (
    REQUIRED,
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
)

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_MIN_ELEMENTS: Final = 8
_MAX_ELEMENTS: Final = (1 << 16) - 1
_MAX_TAKEN: Final = (1 << 15) - 1


def _elements(call: Call) -> int:
    count = call.scalar("n")
    return count if isinstance(count, int) else 0


def _bind(call: Call) -> Kernel:
    src, taken = call.tensor("src"), call.tensor("val_dst").free_elements
    groups = src.partitions // CORE_PARTITIONS
    columns, count = src.free_elements, _elements(call)

    def topk(registers: object, val_dst: Array, idx_dst: Array, src: Array) -> None:
        down = src.reshape(groups, CORE_PARTITIONS, columns).transpose(0, 2, 1)
        snake = down.reshape(groups, -1)[:, :count]
        descending = np.argsort(-snake.astype(np.float32), axis=1, kind="stable")
        places = descending[:, taken - 1 :: -1]
        values = np.take_along_axis(snake, places, axis=1)
        for dst, found in ((val_dst, values), (idx_dst, places.astype(np.uint32))):
            dst[...] = np.repeat(found, CORE_PARTITIONS, axis=0).reshape(dst.shape)

    return topk


def _shape(call: Call) -> Iterator[str]:
    src, values = call.tensor("src"), call.tensor("val_dst")
    if src.partitions % CORE_PARTITIONS:
        yield f"src has {src.partitions} partitions, must be a multiple of {CORE_PARTITIONS}"
    indices = call.tensor("idx_dst")
    for name, tile in (("val_dst", values), ("idx_dst", indices)):
        if tile.partitions != src.partitions:
            yield f"{name} has {tile.partitions} partitions, src {src.partitions}: must be equal"
    if values.free_elements != indices.free_elements:
        yield (
            f"val_dst takes {values.free_elements} values per partition, idx_dst {indices.free_elements} "
            "indices: must be equal"
        )


def _counts(call: Call) -> Iterator[str]:
    src, taken, count = call.tensor("src"), call.tensor("val_dst").free_elements, call.scalar("n")
    if not isinstance(count, int) or not _MIN_ELEMENTS <= count <= _MAX_ELEMENTS:
        yield f"n is {count!r}, must be an integer from {_MIN_ELEMENTS} to {_MAX_ELEMENTS}"
        return
    if taken > min(count, _MAX_TAKEN):
        yield f"val_dst takes {taken} values, at most {min(count, _MAX_TAKEN)} of n={count} elements"
    needed = -(-count // CORE_PARTITIONS)
    if src.free_elements < needed:
        yield (
            f"src has {src.free_elements} elements per partition, n={count} elements over {CORE_PARTITIONS} "
            f"partitions need {needed}"
        )


def _result(name: str, dtype: str) -> Parameter:
    return Parameter(name, ParameterKind.DESTINATION, REQUIRED, buffers=_SBUF, dtypes=frozenset({dtype}))


OPERATIONS: Final = (
    Operation(
        "topk",
        (
            _result("val_dst", "bfloat16"),
            _result("idx_dst", "uint32"),
            source("src", _SBUF, frozenset({"bfloat16"})),
            Parameter("n", ParameterKind.NUMBER),
        ),
        engines=("gpsimd",),
        bind=_bind,
        cycles=lambda call: 4.0 * _elements(call) + call.tensor("val_dst").free_elements,
        limits=(
            Limit("topk-shape", _shape, "nki.isa.topk docstring, Constraints"),
            Limit("topk-counts", _counts, "nki.isa.topk docstring, Constraints"),
        ),
        fidelity=Fidelity.APPROXIMATE,
        since="0.6",
        source="nki.isa.topk docstring, NKI 0.6",
    ),
)
