"""How large the pieces are that a program hands to engines: most inefficiency on the chip is small pieces.

Fixed costs are about 64 cycles per instruction, and DMA wants 2 KiB or more per partition (facts/nki.md
sections 2.9 and 3.2).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import Call
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.repetitions import Repetitions
from pipeline.emulator.program.resolution import resolve
from pipeline.emulator.timeline.counts import repeated_uses
from pipeline.emulator.timeline.work import is_transfer, product_columns, touched

__all__ = ["MeanSizes", "mean_sizes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanSizes:
    """Means over instructions as often as they run; None where a program has none of the kind.

    Attributes:
        matmul_moving: Columns of the moving matrix of a matmul.
        matmul_stationary: Columns of the stationary matrix of a matmul.
        free_elements: Elements per partition of an instruction on the vector or scalar engine.
        dma_partition_bytes: Bytes per partition of a transfer that touches SBUF.
    """

    matmul_moving: float | None
    matmul_stationary: float | None
    free_elements: float | None
    dma_partition_bytes: float | None


def mean_sizes(program: Program) -> MeanSizes:
    """Return the mean sizes of a program's pieces.

    Args:
        program: A validated program.
    """
    resolution = resolve(program)
    totals: Counter[str] = Counter()
    pieces: Counter[str] = Counter()
    for index, times in repeated_uses(resolution, Repetitions.of(program)).items():
        for kind, size in _sizes(resolution.calls[index]).items():
            totals[kind] += times * size
            pieces[kind] += times
    means = {kind: totals[kind] / count for kind, count in pieces.items()}
    return MeanSizes(
        matmul_moving=means.get("moving"),
        matmul_stationary=means.get("stationary"),
        free_elements=means.get("free"),
        dma_partition_bytes=means.get("dma"),
    )


def _sizes(call: Call) -> dict[str, int]:
    columns = product_columns(call)
    if columns is not None:
        return {"stationary": columns[0], "moving": columns[1]}
    operands = touched(call)
    if call.engine in ("vector", "scalar") and operands:
        return {"free": max(operand.free_elements for operand in operands)}
    on_chip = [operand for operand in operands if operand.memory == "sbuf"]
    if is_transfer(call) and on_chip:
        return {"dma": max(tile.free_elements * DTYPES[tile.dtype].itemsize for tile in on_chip)}
    return {}
