"""In which precision a program computes, read from what runs and not from its source."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.timeline.counts import Computation

__all__ = ["NO_ARITHMETIC", "compute_dtypes"]

#: Operations that move, make or choose values without forming a product or a sum.
NO_ARITHMETIC: Final = frozenset(
    {
        "affine_select",
        "all_gather",
        "all_gather_v",
        "all_to_all",
        "all_to_all_v",
        "collective_permute",
        "collective_permute_implicit",
        "dma_copy",
        "dma_transpose",
        "dropout",
        "iota",
        "local_gather",
        "max8",
        "memset",
        "nc_find_index8",
        "nc_match_replace8",
        "nc_n_gather",
        "nc_stream_shuffle",
        "nc_transpose",
        "nonzero_with_count",
        # Rounds to the type that the matmul after it computes in, and is judged there.
        "quantize_mx",
        "rand2",
        "rand_get_state",
        "rand_set_state",
        "range_select",
        "register_load",
        "register_store",
        "rng",
        "select_reduce",
        "sendrecv",
        "sequence_bounds",
        "set_rng_seed",
        "tensor_copy",
        "tensor_copy_predicated",
        "topk",
    }
)
#: Holds powers of two, with which a product rounds nothing.
_SCALE: Final = "float8_e8m0fnu"


def compute_dtypes(program: Program, computations: tuple[Computation, ...]) -> tuple[str, ...]:
    """Return the float dtypes of the operands and results of arithmetic, least precise first.

    Packed types are among them, as precise as their elements. Engines compute in float32 inside, so precision
    is lost where an operand is read, or a result written, in a narrower type. The dtypes of the program's
    inputs and outputs are given by its task and do not count.

    Args:
        program: A validated program.
        computations: `Counts.computations` of it.
    """
    given = {program.tensors[index].dtype for index in program.inputs}
    asked = {program.tensors[index].dtype for index in program.outputs}
    used: set[str] = set()
    for computation in computations:
        if computation.operation in NO_ARITHMETIC:
            continue
        used |= set(computation.inputs) - given
        used |= {computation.output} - asked
        used |= {"float32"} & {*computation.inputs, computation.output}
    kinds = {name: DTYPES[name] for name in used - {"", _SCALE}}
    floats = [name for name, kind in kinds.items() if kind.is_float or kind.is_packed]
    return tuple(sorted(floats, key=lambda name: (DTYPES[name].mantissa_bits, name)))
