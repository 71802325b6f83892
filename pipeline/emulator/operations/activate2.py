"""The scalar engine of NeuronCore-v4: `activate2`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.activations import ACTIVATIONS
from pipeline.emulator.operations.arguments import choice, destination, flag, operand, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.limits import agree, column, per_partition
from pipeline.emulator.operations.scalar import (
    ACTIVATION,
    activation_cycles,
    bind_function,
    bind_registers,
    idle_result,
)
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Severity

__all__ = ["OPERATIONS"]

_DOCSTRING: Final = "nki.isa.activate2 docstring, NKI 0.6"
_STEPS: Final = frozenset({"multiply", "add", "subtract", "bypass"})
#: What (op0, op1) may be.
_PAIRS: Final = (
    ("multiply", "add"),
    ("multiply", "subtract"),
    ("multiply", "bypass"),
    ("add", "bypass"),
    ("subtract", "bypass"),
    ("bypass", "bypass"),
)
_REDUCING: Final = frozenset({"add", "maximum", "minimum", "abs_max", "abs_min"})

#: One operator with its immediate: values and the immediate's tile, if it is one.
_Step = Callable[[Array, Array | None], Array]


def _bind_step(call: Call, op: str, name: str, reverse: str) -> _Step | None:
    """Return the tensor-scalar step, or None if it is bypassed."""
    chosen = call.scalar(op)
    if chosen == "bypass":
        return None
    shape = call.tensor("dst").shape
    immediate = broadcast_operand(call.operand(name), call.scalar(name), shape, call.precision)
    function: Any = {"multiply": np.multiply, "add": np.add, "subtract": np.subtract}[str(chosen)]
    if call.scalar(reverse):
        return lambda values, tile: function(immediate(tile), values)
    return lambda values, tile: function(values, immediate(tile))


def _bind(call: Call) -> Kernel:
    """``dst = op((data op0 imm0) op1 imm1)`` in float32, reduced into the scalar engine's registers.

    The registers take the activated float32 values, before they are rounded to ``dst``, element by element.
    """
    dst, data = call.tensor("dst"), call.tensor("data")
    function = bind_function(call)
    sloped = ACTIVATIONS[str(call.scalar("op"))].sloped
    load, write = loader(data, dst.shape), writer(dst.dtype)
    first = _bind_step(call, "op0", "imm0", "reverse0")
    second = _bind_step(call, "op1", "imm1", "reverse1")
    slope = broadcast_operand(
        call.operand("relu_param"), call.scalar("relu_param"), dst.shape, call.precision
    )
    op = call.scalar("reduce_op")
    accumulate = bind_registers(call, call.scalar("reduce_cmd"), str(op), in_order=True) if op else None

    def activate(
        registers: Registers,
        dst: Array,
        data: Array,
        imm0: Array | None,
        imm1: Array | None,
        relu_param: Array | None,
        reduce_res: Array | None,
    ) -> None:
        values = load(data)
        if first is not None:
            values = first(values, imm0)
        if second is not None:
            values = second(values, imm1)
        activated = function(registers, values, *([slope(relu_param)] if sloped else []))
        write(dst, activated)
        if accumulate is not None:
            accumulate(registers, activated, reduce_res)

    return activate


def _operators(call: Call) -> Iterator[str]:
    pair = (call.scalar("op0"), call.scalar("op1"))
    if pair not in _PAIRS:
        allowed = ", ".join(f"({first}, {second})" for first, second in _PAIRS)
        yield f"op0={pair[0]} and op1={pair[1]} cannot be combined: (op0, op1) must be one of {allowed}"
    for op, reverse in (("op0", "reverse0"), ("op1", "reverse1")):
        if call.scalar(reverse) and call.scalar(op) == "bypass":
            yield f"{reverse}=True swaps the operands of {op}, which is bypass: leave {reverse} out"


def _immediates(call: Call) -> Iterator[str]:
    first, second = call.operand("imm0"), call.operand("imm1")
    if first is not None and second is not None and first.dtype != second.dtype:
        yield f"imm0 is {first.dtype}, imm1 {second.dtype}: two tiles must have the same dtype"


def _reduction(call: Call) -> Iterator[str]:
    if call.scalar("reduce_op") is not None:
        return
    command = call.scalar("reduce_cmd")
    if command != "idle":
        yield f"reduce_cmd={command} needs a reduce_op: pass one of {', '.join(sorted(_REDUCING))}"
    if call.operand("reduce_res") is not None:
        yield f"reduce_res is given without reduce_op: pass one of {', '.join(sorted(_REDUCING))}"


def _fidelity(call: Call) -> Fidelity:
    """That of the function, unless the instruction sums.

    The documented loop adds element by element, and what it has written to ``dst``; that other instructions
    add what they have not rounded yet is documented, too.
    """
    sums = call.scalar("reduce_op") == "add" and call.scalar("reduce_cmd") in ("reduce", "reset_reduce")
    return Fidelity.APPROXIMATE if sums else ACTIVATIONS[str(call.scalar("op"))].fidelity


OPERATIONS: Final = (
    Operation(
        "activate2",
        (
            destination(),
            ACTIVATION,
            source("data"),
            operand("imm0", dtypes=frozenset()),
            operand("imm1", dtypes=frozenset()),
            operator("op0", _STEPS),
            operator("op1", _STEPS),
            operand("relu_param", 0.0, frozenset()),
            flag("reverse0"),
            flag("reverse1"),
            operator("reduce_op", _REDUCING, optional=True),
            destination("reduce_res", optional=True),
            choice("reduce_cmd", "idle", "reset", "reduce", "reset_reduce"),
        ),
        engines=("scalar",),
        bind=_bind,
        cycles=activation_cycles,
        limits=(
            agree("dst", "data"),
            column("imm0", "imm1", "relu_param", of="data"),
            per_partition("reduce_res", of="data", elements=1),
            Limit("activate2-operators", _operators, f"{_DOCSTRING}: six combinations"),
            Limit("activate2-immediates", _immediates, f"{_DOCSTRING}, Constraints"),
            Limit("activate2-reduction", _reduction, f"{_DOCSTRING}, Accumulator behavior"),
            Limit("activation-idle-result", idle_result, _DOCSTRING, severity=Severity.WARNING),
        ),
        fidelity=_fidelity,
        targets=frozenset({"trn3"}),
        since="0.4",
        source="nki.isa.activate2, NKI 0.6; cost as of nki.isa.activation (facts/nki.md section 3.1)",
        observes=True,
    ),
)
