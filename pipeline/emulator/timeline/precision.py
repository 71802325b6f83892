"""In which precision a program computes, read from what runs and not from its source."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.timeline.counts import Computation

__all__ = ["compute_dtypes"]

#: Operations that move or make values without forming a product or a sum.
_NO_ARITHMETIC: Final = frozenset(
    {"dma_copy", "dma_transpose", "tensor_copy", "nc_transpose", "memset", "iota", "nc_stream_shuffle"}
)


def compute_dtypes(program: Program, computations: tuple[Computation, ...]) -> tuple[str, ...]:
    """Return the float dtypes of the operands and results of arithmetic, least precise first.

    Engines compute in float32 inside, so precision is lost where an operand is read, or a result written, in
    a narrower type. The dtypes of the program's inputs and outputs are given by its task and do not count.

    Args:
        program: A validated program.
        computations: `Counts.computations` of it.
    """
    given = {program.tensors[index].dtype for index in program.inputs}
    asked = {program.tensors[index].dtype for index in program.outputs}
    used: set[str] = set()
    for computation in computations:
        if computation.operation in _NO_ARITHMETIC:
            continue
        used |= set(computation.inputs) - given
        used |= {computation.output} - asked
        used |= {"float32"} & {*computation.inputs, computation.output}
    floats = [name for name in used if name in DTYPES and DTYPES[name].is_float]
    return tuple(sorted(floats, key=lambda name: (DTYPES[name].mantissa_bits, name)))
