"""Where packed types may go: rules that hold for every call.

A packed element is four 8-bit or 4-bit floats that the MX instructions alone take apart. Everything else
moves it whole, so between tiles of the same packed type. Source: nki.language docstrings of the packed types,
NKI 0.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.dtypes import PACKED
from pipeline.emulator.operations.call import Call
from pipeline.emulator.operations.table import Limit, ParameterKind

__all__ = ["PACKED_TYPES", "moves"]

_SOURCE: Final = "nki.language docstrings of the packed types, NKI 0.6: for nc_matmul_mx and quantize_mx"

#: Operations of `nki.isa` that move elements, or fill with zero, and compute nothing.
_MOVERS: Final = frozenset(
    {
        "dma_copy",
        "dma_transpose",
        "local_gather",
        "memset",
        "nc_n_gather",
        "nc_stream_shuffle",
        "nc_transpose",
        "sendrecv",
        "tensor_copy",
        "tensor_copy_predicated",
    }
)
#: Arguments that choose what moves and do not move themselves.
_CHOOSERS: Final = frozenset({"index", "indices", "predicate"})


def moves(call: Call) -> bool:
    """Return whether a call moves elements, or fills with zero, and computes nothing."""
    operation = call.operation
    if any(parameter.kind is ParameterKind.OPERATOR for parameter in operation.scalar_parameters):
        return False
    return operation.module == "nki.collectives" or operation.name in _MOVERS


def _arithmetic(call: Call) -> Iterator[str]:
    if moves(call):
        return
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and operand.dtype in PACKED and operand.dtype not in parameter.dtypes:
            yield (
                f"{parameter.name} is {operand.dtype}, of which only nc_matmul_mx and quantize_mx see the "
                "elements: compute before quantize_mx, or view the tile as the type of its elements"
            )


def _conversion(call: Call) -> Iterator[str]:
    if not moves(call):
        return
    moved = {
        parameter.name: operand.dtype
        for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True)
        if operand is not None and parameter.name not in _CHOOSERS
    }
    first = next(iter(moved), "")
    for name in moved:
        if moved[name] != moved[first] and not PACKED.isdisjoint((moved[name], moved[first])):
            yield (
                f"{first} is {moved[first]}, {name} {moved[name]}: packed elements are moved, not converted; "
                "view one of the two as the other's type (.view, or dtype= of .ap)"
            )


#: Rules to apply to every call.
PACKED_TYPES: Final = (
    Limit("packed-arithmetic", _arithmetic, _SOURCE),
    Limit("packed-conversion", _conversion, _SOURCE),
)
