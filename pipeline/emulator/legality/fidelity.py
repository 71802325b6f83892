"""How far the emulated values of a program can be trusted."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import Fidelity
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.resolution import resolve

__all__ = ["fidelity"]

_ORDER: Final = list(Fidelity)


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
        worst[name] = max(worst.get(name, level), level, key=_ORDER.index)
    return worst
