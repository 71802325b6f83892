"""Marks of run-time loops: where they begin and end.

The frontend records them for `nl.fori_loop`, `nl.while_loop`, `nl.dynamic_range` and ``while register``. They
move no data; the machine follows them.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.table import Control, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_SOURCE: Final = "nki-dynamic-loops.rst; nki.language.fori_loop and while_loop docstrings, NKI 0.6"


def _bind(call: Call) -> Kernel:
    def nothing(registers: Registers) -> None:
        """Do nothing: the machine reads the mark itself."""

    return nothing


def _mark(control: Control, *parameters: Parameter) -> Operation:
    return Operation(
        control.value,
        parameters,
        engines=("sync",),
        bind=_bind,
        source=_SOURCE,
        module="",
        control=control,
    )


OPERATIONS: Final = (
    _mark(
        Control.FOR_BEGIN,
        # Holds lower, lower + step, ... below upper, one per iteration.
        Parameter("induction", ParameterKind.REGISTER),
        Parameter("lower", ParameterKind.INDEX),
        Parameter("upper", ParameterKind.INDEX),
        Parameter("step", ParameterKind.INTEGERS),
    ),
    _mark(Control.FOR_END),
    # Iterates while the register is not zero.
    _mark(Control.WHILE_BEGIN, Parameter("condition", ParameterKind.INDEX)),
    _mark(Control.WHILE_END),
)
