"""What one instruction asks of the chip: what it touches, moves and multiplies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import Call, Meeting, Operand

__all__ = [
    "PRODUCTS",
    "engine_transpose",
    "is_collective",
    "is_transfer",
    "matrix_product",
    "product_columns",
    "touched",
    "traffic",
]

#: Matmuls.
PRODUCTS: Final = frozenset({"nc_matmul", "nc_matmul_mx"})
#: Elements of one packed word.
_PACK: Final = 4


def is_collective(call: Call) -> bool:
    """Whether ranks move data between each other: no engine of the kernel's does."""
    return call.operation.meeting is Meeting.RANKS


def is_transfer(call: Call) -> bool:
    """Whether the DMA engines move data for the kernel; a `sendrecv` over DMA is one too."""
    return call.engine == "dma" and not is_collective(call)


def touched(call: Call) -> list[Operand]:
    """Return the tensors whose elements an instruction reads or writes; a barrier only names one."""
    if call.operation.name == "core_barrier":
        return []
    return [operand for operand in call.operands if operand is not None]


def traffic(call: Call) -> Iterator[tuple[str, int]]:
    """Yield what a transfer or a collective moves, by name, some names several times.

    ``read`` and ``write`` are bytes of HBM, ``bytes`` those of the larger side, ``descriptors`` contiguous
    runs: the shorter run of the two sides governs. A transposing DMA writes in an order of its own, so that
    its source alone does; where an index tensor supplies the rows, no run crosses from one row to the next.
    """
    sources: list[Operand] = []
    results: list[Operand] = []
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None:
            (results if parameter.kind.written else sources).append(operand)
    yield "read", sum(_bytes(source) for source in sources if source.memory == "hbm")
    yield "write", sum(_bytes(result) for result in results if result.memory == "hbm")
    yield "bytes", max(sum(map(_bytes, sources)), sum(map(_bytes, results)))
    turns = call.operation.name == "dma_transpose"
    for source in sources:
        runs = [_run(source), *(() if turns else map(_run, results))]
        yield "descriptors", source.elements // min(*runs, source.elements)


def _bytes(operand: Operand) -> int:
    return operand.elements * DTYPES[operand.dtype].itemsize


def _run(operand: Operand) -> int:
    """Return the elements that lie contiguously; on chip a run ends with its partition."""
    run = 1
    first = 0 if operand.memory == "hbm" and "vector" not in operand.dynamic else 1
    for stride, size in reversed(list(zip(operand.strides[first:], operand.shape[first:], strict=True))):
        if size > 1 and stride != run:
            break
        run *= size
    return run


def product_columns(call: Call) -> tuple[int, int] | None:
    """Return the columns of a matmul's stationary and moving matrix; None if it is no matmul."""
    if call.operation.name not in PRODUCTS:
        return None
    depth = 2 if _is_double_row(call) else 1
    stationary, moving = call.tensor("stationary"), call.tensor("moving")
    return stationary.free_elements // depth, moving.free_elements // depth


def matrix_product(call: Call) -> tuple[str, int] | None:
    """Return the rate class and the flops of a matmul, ``2 K M N`` for [K, M] and [K, N]; None if it is none.

    Rate classes: ``mx`` for microscaling types, ``fp8`` for pairs of 8-bit floats (double_row), ``fp32``, and
    ``bf16`` for everything else, 8-bit floats that come alone included.
    """
    columns = product_columns(call)
    if columns is None:
        return None
    stationary = call.tensor("stationary")
    flops = 2 * stationary.elements * columns[1]
    if call.operation.name == "nc_matmul_mx":
        return "mx", _PACK * flops
    if _is_double_row(call):
        return "fp8", flops
    return _rate(stationary.dtype, call.tensor("moving").dtype), flops


def engine_transpose(call: Call) -> tuple[str, int] | None:
    """Return the same of a transpose on the tensor engine: ``2 P P F`` for [P, F], by an identity matrix."""
    if call.operation.name == "nc_matmul" and call.scalar("is_transpose"):
        return matrix_product(call)
    if call.operation.name != "nc_transpose" or call.engine != "tensor":
        return None
    data = call.tensor("data")
    return _rate(data.dtype), 2 * data.partitions * data.elements


def _is_double_row(call: Call) -> bool:
    return call.operation.name == "nc_matmul" and call.scalar("perf_mode") == "double_row"


def _rate(*dtypes: str) -> str:
    return "fp32" if "float32" in dtypes else "bf16"
