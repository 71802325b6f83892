"""How far the emulated values of a program can be trusted."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import Call, Fidelity
from pipeline.emulator.operations.packing import moves
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.resolution import resolve

__all__ = ["fidelity"]

_ORDER: Final = list(Fidelity)
#: Types of which it is not documented how an engine rounds to them when it writes.
_UNDOCUMENTED: Final = {"tfloat32": Fidelity.APPROXIMATE, "float8_e8m0fnu": Fidelity.UNMODELLED}


def fidelity(program: Program) -> dict[str, Fidelity]:
    """Return, for each operation the program uses, the worst fidelity among its uses.

    Args:
        program: A validated program.
    """
    worst: dict[str, Fidelity] = {}
    for call in resolve(program).calls:
        declared = call.operation.fidelity
        level = declared if isinstance(declared, Fidelity) else declared(call)
        name = call.operation.name
        worst[name] = max(worst.get(name, level), level, _rounding(call), key=_ORDER.index)
    return worst


def _rounding(call: Call) -> Fidelity:
    """Return how far the rounding of what a call writes can be trusted."""
    level = Fidelity.EXACT
    pairs = list(zip(call.operation.tensor_parameters, call.operands, strict=True))
    read = {operand.dtype for parameter, operand in pairs if operand and not parameter.kind.written}
    for parameter, operand in pairs:
        # An operation that asks for the type says what it writes.
        if not operand or not parameter.kind.written or "float8_e8m0fnu" in parameter.dtypes:
            continue
        if not (moves(call) and operand.dtype in read):
            level = max(level, _UNDOCUMENTED.get(operand.dtype, level), key=_ORDER.index)
    return level
