"""Where the segments of a sequence begin and end, on gpsimd: `sequence_bounds`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.arguments import source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, writer
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import REQUIRED, Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_DTYPES: Final = frozenset({"float32", "int32"})


def _bind(call: Call) -> Kernel:
    """Write, per element, the first index of its run of equal ids, then the index after its last."""
    length = call.tensor("segment_ids").free_elements
    write = writer(call.tensor("dst").dtype)

    def bound(registers: object, dst: Array, segment_ids: Array) -> None:
        ids = segment_ids.reshape(length)
        first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        lengths = np.diff(np.append(first, length))
        starts, ends = np.repeat(first, lengths), np.repeat(first + lengths, lengths)
        padding = ids == 0
        write(dst, np.stack((np.where(padding, length, starts), np.where(padding, -1, ends))))

    return bound


def _shape(call: Call) -> Iterator[str]:
    dst, ids = call.tensor("dst"), call.tensor("segment_ids")
    if ids.partitions != 1:
        yield f"segment_ids is {describe(ids)}, must lie in one partition"
    if (dst.partitions, dst.free_elements) != (1, 2 * ids.free_elements):
        yield f"dst is {describe(dst)}, must be (1, 2, {ids.free_elements}): a start and an end per element"


OPERATIONS: Final = (
    Operation(
        "sequence_bounds",
        (
            Parameter("dst", ParameterKind.DESTINATION, REQUIRED, buffers=_SBUF, dtypes=_DTYPES),
            source("segment_ids", _SBUF, _DTYPES),
        ),
        engines=("gpsimd",),
        bind=_bind,
        limits=(Limit("sequence-bounds-shape", _shape, "nki.isa.sequence_bounds docstring"),),
        source="nki.isa.sequence_bounds docstring, NKI 0.6; nki/test/test_nki_isa_sequence_bounds.py",
    ),
)
