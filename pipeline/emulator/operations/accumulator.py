"""The vector engine's accumulator: one float32 register per partition, shared by five instructions.

`exponential`, `range_select`, `select_reduce`, `tensor_scalar_reduce` and `tensor_scalar_cumulative` fold
their float32 results into it before they round them to the destination. ``reduce_cmd`` says what becomes of
what the instruction before left there. Source: the docstrings of the five, section Accumulator behavior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.call import Call, Operand, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, writer
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.operations.reduction import IDENTITIES
from pipeline.emulator.operations.table import Fidelity, Limit, Severity

__all__ = ["IDLE_RESULT", "Accumulator", "accumulator_fidelity", "initial_value"]

_SOURCE: Final = "nki.isa docstrings, Accumulator behavior: exponential, tensor_scalar_reduce, select_reduce"
_FOLDING: Final = frozenset({"reduce", "reset_reduce", "load_reduce"})
#: Reductions whose result depends on the order of the elements, which the documentation leaves open.
_ORDERED: Final = frozenset({"add", "subtract", "multiply"})


class Accumulator:
    """What one instruction does to the registers of the partitions it works on."""

    def __init__(self, call: Call, data: Operand, operator: str, initial: str | None = None) -> None:
        """Read ``reduce_cmd`` and, where there is one, ``reduce_res``.

        Args:
            call: The instruction.
            data: Its main input, on whose partitions the registers are.
            operator: ``add``, ``subtract``, ``multiply``, ``maximum`` or ``minimum``.
            initial: The parameter that ``load_reduce`` loads, if the instruction has one.
        """
        self._lanes = slice(data.start, data.start + data.partitions)
        self._command = call.scalar("reduce_cmd")
        self._operator = operator
        self._combine: Any = OPERATORS[operator].function
        self._identity = np.float32(IDENTITIES[operator])
        tile = None if initial is None else call.operand(initial)
        number = None if initial is None else call.scalar(initial)
        self._initial = broadcast_operand(tile, number, (data.partitions,), call.precision)
        result = call.operand("reduce_res") if "reduce_res" in call.operation.tensor_slots else None
        self._write = None if result is None else writer(result.dtype)

    def fold(self, registers: Registers, values: Array, initial: Array | None = None) -> None:
        """Fold an instruction's values into the registers, first element first.

        Args:
            registers: Of the core.
            values: float32, (P, ...), before rounding.
            initial: The tile that ``load_reduce`` loads, or None where that is a number.
        """
        held = self._start(registers, initial)
        if self._command not in _FOLDING:
            return
        rows = values.reshape(len(held), -1)
        if self._operator in _ORDERED:
            held[...] = _states(self._operator, held, rows)[:, -1]
        else:
            held[...] = self._combine(held, self._combine.reduce(rows, axis=1))

    def drain(self, registers: Registers, result: Array | None, *, negate: bool = False) -> None:
        """Write the registers into the tile of ``reduce_res``, if there is one.

        Args:
            registers: Of the core.
            result: The tile, or None.
            negate: Whether to write the negative; the registers keep their sign.
        """
        if self._write is not None and result is not None:
            held = registers.vector[self._lanes]
            self._write(result, -held if negate else held)

    def scan(self, registers: Registers, values: Array, initial: Array | None = None) -> Array:
        """Fold like `fold`, and return what the registers held after each element: float32 (P, F)."""
        held = self._start(registers, initial)
        states = _states(self._operator, held, values.reshape(len(held), -1))
        held[...] = states[:, -1]
        return states[:, 1:]

    def _start(self, registers: Registers, initial: Array | None) -> Array:
        """Return the registers as they are before the first element."""
        held = registers.vector[self._lanes]
        if self._command in ("reset", "reset_reduce"):
            held[...] = self._identity
        elif self._command == "load_reduce":
            held[...] = self._initial(initial)
        elif self._command == "idle":
            held[...] = np.nan  # idle may still modify them: nothing that continues from here is defined
        return held


def _states(operator: str, held: Array, rows: Array) -> Array:
    """Return ``held`` and what it becomes with each element of ``rows``: (P, F + 1), typed alike."""
    states = np.empty((rows.shape[0], rows.shape[1] + 1), held.dtype)
    states[:, 0] = held
    states[:, 1:] = rows
    if operator == "subtract":
        # state = element - state: with every other sign changed it is a sum, and rounding is symmetric. Zeros
        # come out positive, whatever the sign changes made of them.
        states[:, 1::2] *= -1
        np.add.accumulate(states, axis=1, out=states)
        states[:, 1::2] *= -1
        states += np.float32(0)
        return states
    combine: Any = OPERATORS[operator].function
    combine.accumulate(states, axis=1, out=states)
    return states


def accumulator_fidelity(call: Call, operator: str) -> Fidelity:
    """Return how far what an instruction leaves in the registers can be trusted."""
    command = call.scalar("reduce_cmd")
    if command == "idle":
        reads = call.operand("reduce_res") is not None
        return Fidelity.UNMODELLED if reads else Fidelity.EXACT
    return Fidelity.APPROXIMATE if operator in _ORDERED else Fidelity.EXACT


def initial_value(name: str, unused: float | None = None) -> Limit:
    """Require that ``name`` goes with ``reduce_cmd=load_reduce`` and only with it.

    Args:
        name: The parameter that ``load_reduce`` loads.
        unused: What it is otherwise; if that is a number, ``load_reduce`` may load it too.
    """

    def check(call: Call) -> Iterator[str]:
        command = call.scalar("reduce_cmd")
        given = call.operand(name) is not None or call.scalar(name) != unused
        if given and command != "load_reduce":
            yield f"{name} goes with reduce_cmd=load_reduce only; reduce_cmd is {command}"
        elif not given and unused is None and command == "load_reduce":
            yield f"reduce_cmd=load_reduce loads {name}, which is absent: pass a number or a (P, 1) tile"

    return Limit("reduce-command", check, _SOURCE)


def _idle_result(call: Call) -> Iterator[str]:
    if call.operand("reduce_res") is not None and call.scalar("reduce_cmd") == "idle":
        yield (
            "reduce_res reads the accumulator that reduce_cmd=idle leaves undefined: pass "
            "reduce_cmd=nisa.reduce_cmd.reset_reduce"
        )


IDLE_RESULT: Final = Limit("reduce-idle-result", _idle_result, _SOURCE, severity=Severity.WARNING)
