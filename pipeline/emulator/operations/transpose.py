"""Transposes between partitions and free elements: `nc_transpose`, on the tensor or the vector engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import ENGINE, destination, source
from pipeline.emulator.operations.call import Call, Kernel
from pipeline.emulator.operations.conversion import Array, writer
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Severity
from pipeline.emulator.operations.tensor import EIGHT_BITS, identity_matrix

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS"]

_DOCSTRING: Final = "nki.isa.nc_transpose docstring"
_MOVES: Final = frozenset({"trn2", "trn3"})


def _widens(call: Call) -> bool:
    """Return whether the tensor engine puts 8-bit elements into the low halves of 16-bit ones."""
    eight = call.tensor("data").dtype in EIGHT_BITS
    return eight and call.engine == "tensor" and DTYPES[call.tensor("dst").dtype].itemsize == 2


def _bind(call: Call) -> Kernel:
    """Move bits; the tensor engine of NeuronCore-v2 multiplies by an identity instead, which spreads NaN."""
    dst, data = call.tensor("dst"), call.tensor("data")
    matrix = (data.partitions, data.free_elements)
    write = writer(dst.dtype) if not DTYPES[dst.dtype].is_packed else None
    precision = call.precision
    if call.engine == "tensor" and call.target.name == "trn1" and DTYPES[data.dtype].is_float:
        identity = identity_matrix(matrix[0])

        def multiply(registers: object, dst: Array, data: Array) -> None:
            if write is not None:
                write(dst, data.reshape(matrix).T.astype(precision) @ identity)

        return multiply
    if _widens(call):

        def widen(registers: object, dst: Array, data: Array) -> None:
            dst.view(np.uint16)[...] = data.view(np.uint8).reshape(matrix).T.reshape(dst.shape)

        return widen
    if write is None or DTYPES[dst.dtype].storage == DTYPES[data.dtype].storage:

        def move(registers: object, dst: Array, data: Array) -> None:
            dst[...] = data.reshape(matrix).T.reshape(dst.shape)

        return move

    def convert(registers: object, dst: Array, data: Array) -> None:
        write(dst, data.reshape(matrix).T.astype(precision))

    return convert


def _choose_engine(
    dtypes: Sequence[str | None], memories: Sequence[str | None], scalars: Sequence[Scalar]
) -> str:
    # By the destination alone (NKI 0.4.0 release notes, bug fixes).
    return "tensor" if memories[0] == "psum" else "vector"


def _sizes(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst"), call.tensor("data")
    limit = 128 if call.engine == "tensor" else 32
    if data.partitions > limit or data.free_elements > limit:
        yield (
            f"data is {describe(data)}, limit {limit} x {limit} on the {call.engine} engine: transpose "
            f"{limit} x {limit} blocks"
            + ("" if limit == 128 else " or use engine=tensor with a PSUM destination")
        )
    if (dst.partitions, dst.free_elements) != (data.free_elements, data.partitions):
        yield f"dst is {describe(dst)}, must be {data.free_elements} partitions x {data.partitions} elements"


def _memories(call: Call) -> Iterator[str]:
    memories = (call.tensor("data").memory, call.tensor("dst").memory)
    if call.engine == "tensor" and memories != ("sbuf", "psum"):
        yield (
            f"the tensor engine transposes from SBUF to PSUM, not from {memories[0]} to {memories[1]}: pass "
            "engine=nisa.engine.vector for blocks of at most 32 x 32"
        )


def _dtype(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst").dtype, call.tensor("data").dtype
    if dst != data and not _widens(call):
        yield f"dst is {dst}, data {data}: a transpose keeps the dtype"


def _width(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst").dtype, call.tensor("data").dtype
    if call.engine == "tensor" and data in EIGHT_BITS and dst == data:
        yield (
            f"the tensor engine transposes {data} into 16-bit elements whose upper half is zero, but dst is "
            f"{dst}: use a 16-bit destination, or transpose in bfloat16"
        )


def _fidelity(call: Call) -> Fidelity:
    contradicted = call.target.name in _MOVES and any(_width(call))
    return Fidelity.UNMODELLED if contradicted else Fidelity.EXACT


def _cycles(call: Call) -> float:
    data = call.tensor("data")
    if call.engine == "tensor":
        return max(data.partitions, min(64, data.free_elements))
    return max(64, data.free_elements)


OPERATIONS: Final = (
    Operation(
        "nc_transpose",
        (destination(), source("data"), ENGINE),
        engines=("tensor", "vector"),
        bind=_bind,
        choose_engine=_choose_engine,
        cycles=_cycles,
        limits=(
            Limit("transpose-size", _sizes, f"{_DOCSTRING}, Tile size"),
            Limit("transpose-memory", _memories, f"{_DOCSTRING}, Memory types"),
            Limit(
                "transpose-dtype",
                _dtype,
                f"{_DOCSTRING}; on NeuronCore-v2 kernels in the field convert (emulator_findings.md 5)",
                _MOVES,
                Severity.WARNING,
            ),
            Limit(
                "transpose-eight-bit",
                _width,
                "Trainium2 architecture guide, Built-in Transpose Support; the docstring says: same dtype",
                _MOVES,
                Severity.WARNING,
            ),
        ),
        fidelity=_fidelity,
        source="nki.isa.nc_transpose, NKI 0.6; facts/nki.md sections 2.7 and 3.1",
    ),
)
