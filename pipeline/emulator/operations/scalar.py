"""The scalar engine: `activation`, `activation_reduce`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES, PACKED
from pipeline.emulator.operations.activations import ACTIVATIONS
from pipeline.emulator.operations.arguments import choice, destination, operand, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import FLOAT32, Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.limits import agree, column, per_partition
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.operations.reduction import IDENTITIES, reduce_rows, sum_in_order
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["ACTIVATION", "OPERATIONS", "activation_cycles", "bind_function", "bind_registers", "idle_result"]

_DOCSTRING: Final = "nki.isa.activation docstring, NKI 0.6"
_BIAS_DTYPES: Final = frozenset(DTYPES) - {"tfloat32"} - PACKED


def bind_function(call: Call) -> Callable[..., Array]:
    """Return ``f(registers, values, *slope, out=None)``: the activation, noting inputs outside its domain.

    ``out`` may be an array of the shape of ``values``, and may be ``values``; the result is returned,
    in ``out`` or not.
    """
    activation = ACTIVATIONS[str(call.scalar("op"))]
    function, domain, name = activation.function, activation.domain, activation.name
    in_place = isinstance(function, np.ufunc)

    def evaluate(registers: Registers, values: Array, *slope: Any, out: Array | None = None) -> Array:
        if domain is not None:
            outside = activation.outside(values)
            if outside is not None:
                registers.observe(name, *domain, *outside)
        return function(values, out=out) if in_place else function(values, *slope)

    return evaluate


def bind_registers(
    call: Call, command: object, op: str, *, in_order: bool
) -> Callable[[Registers, Array, Array | None], None] | None:
    """Return ``f(registers, activated, reduce_res)``: what an instruction does to the ``reduce_regs``.

    It reduces activated values as they are before they are rounded to ``dst``.

    Args:
        call: The instruction, with the parameters ``data`` and ``reduce_res``.
        command: Its ``reduce_cmd``.
        op: Its ``reduce_op``.
        in_order: Whether ``reduce`` continues element by element instead of adding the sum of the row.

    Returns:
        None if the registers are neither changed nor read.
    """
    data, result = call.tensor("data"), call.operand("reduce_res")
    reduces = command in ("reduce", "reset_reduce")
    resets = command in ("reset", "reset_reduce")
    if not reduces and not resets and result is None:
        return None
    combine: Any = OPERATORS[op].function
    identity = np.float32(IDENTITIES[op])
    write_result = writer(result.dtype) if result is not None else None
    lanes = slice(data.start, data.start + data.partitions)

    def apply(registers: Registers, activated: Array, reduce_res: Array | None) -> None:
        held = registers.scalar[lanes]
        if resets:
            held[...] = identity
        if reduces:
            rows = activated.astype(held.dtype, copy=False).reshape(len(held), -1)
            if op == "add" and in_order:
                held[...] = sum_in_order(rows, None if resets else held)
            else:
                held[...] = combine(held, reduce_rows(op, rows))
        if write_result is not None and reduce_res is not None:
            write_result(reduce_res, held)

    return apply


def _command(call: Call) -> Scalar:
    """Return what the instruction does to the registers."""
    return "reset_reduce" if call.operation.name == "activation_reduce" else call.scalar("reduce_cmd")


def _bind_activation(call: Call) -> Kernel:
    """``dst = op(data * scale + bias)`` in float32, with the running row sum of the scalar engine's
    registers.

    The documentation's pseudo code of ``reduce_cmd=reduce``, read literally, adds the old register twice;
    here the register grows by the row's sum (facts/emulator_findings.md 21).
    """
    dst, data = call.tensor("dst"), call.tensor("data")
    function = bind_function(call)
    load, write = loader(data, dst.shape), writer(dst.dtype)
    bias_tile, scale_tile = call.operand("bias"), call.operand("scale")
    bias_number, scale_number = call.scalar("bias"), call.scalar("scale")
    scale = broadcast_operand(scale_tile, scale_number, dst.shape, call.precision)
    bias = broadcast_operand(bias_tile, bias_number, dst.shape, call.precision)
    scales = scale_tile is not None or scale_number != 1
    biases = bias_tile is not None or bias_number not in (None, 0)
    accumulate = bind_registers(call, _command(call), "add", in_order=False)
    direct = accumulate is None and DTYPES[dst.dtype].storage == FLOAT32

    def activation(
        registers: Registers,
        dst: Array,
        data: Array,
        bias_array: Array | None,
        scale_array: Array | None,
        reduce_res: Array | None,
    ) -> None:
        values = load(data)
        if scales:
            values = values * scale(scale_array)
        if biases:
            values = values + bias(bias_array)
        activated = function(registers, values, out=dst if direct else None)
        if activated is not dst:
            write(dst, activated)
        if accumulate is not None:
            accumulate(registers, activated, reduce_res)

    return activation


def _bind_activation_reduce(call: Call) -> Kernel:
    kernel = _bind_activation(call)

    def reordered(
        registers: Registers,
        dst: Array,
        data: Array,
        reduce_res: Array | None,
        bias: Array | None,
        scale: Array | None,
    ) -> None:
        kernel(registers, dst, data, bias, scale, reduce_res)

    return reordered


def _reduce_operator(call: Call) -> Iterator[str]:
    chosen, result = call.scalar("reduce_op"), call.operand("reduce_res")
    if chosen not in (None, "add"):
        yield f"reduce_op is {chosen}, must be add: reduce with nisa.tensor_reduce instead"
    if chosen is None and result is not None:
        yield "reduce_res is given without reduce_op: pass reduce_op=nl.add"


def idle_result(call: Call) -> Iterator[str]:
    """Yield a message if an instruction reads registers that it leaves as they were."""
    if call.operand("reduce_res") is not None and call.scalar("reduce_cmd") == "idle":
        yield (
            "reduce_res reads registers that reduce_cmd=idle leaves as they were: pass "
            "reduce_cmd=nisa.reduce_cmd.reset_reduce"
        )


def _carried_sum(call: Call) -> Iterator[str]:
    if call.scalar("reduce_cmd") == "reduce":
        yield (
            "reduce_cmd=reduce adds to what an earlier instruction left in the registers, a device-unsafe "
            "pattern: where the compiler recomputes a producer, one public kernel got wrong sums; sum each "
            "chunk with reset_reduce and add the columns, or use nisa.tensor_reduce"
        )


def _vector_bias(call: Call) -> Iterator[str]:
    if call.operand("bias") is None and call.scalar("bias") is not None:
        yield "bias must be a (P, 1) tile on NeuronCore-v2: memset one"
    if call.scalar("op") == "reciprocal" and call.operand("bias") is not None:
        yield "op=reciprocal takes no bias on NeuronCore-v2: use nisa.reciprocal on the biased tile"


def _copy_bias(call: Call) -> Iterator[str]:
    has_bias = call.operand("bias") is not None or call.scalar("bias") not in (None, 0)
    if call.scalar("op") == "copy" and has_bias:
        yield "op=copy drops the bias on the device (aws-neuron-sdk issue 1296): add with nisa.tensor_scalar"


def _slope(call: Call) -> Iterator[str]:
    if call.scalar("op") == "prelu":
        yield (
            f"op=prelu has a slope for negative inputs, which {call.operation.name} cannot give: use "
            "nisa.activate2(relu_param=) on trn3, or nisa.scalar_tensor_tensor"
        )


def _fidelity(call: Call) -> Fidelity:
    """That of the function, unless the instruction sums: in which order the engine adds is not documented."""
    activation = ACTIVATIONS[str(call.scalar("op"))]
    if activation.sloped:
        # Which slope an instruction without relu_param applies is not documented; the machine takes 0.
        return Fidelity.UNMODELLED
    return Fidelity.APPROXIMATE if _command(call) in ("reduce", "reset_reduce") else activation.fidelity


def activation_cycles(call: Call) -> float:
    """Return max(64, N), and 64 more to read the registers out."""
    reads = call.operand("reduce_res") is not None
    return max(64, call.tensor("data").free_elements) + (64 if reads else 0)


#: The parameter that names the function.
ACTIVATION: Final = Parameter("op", ParameterKind.ACTIVATION, choices=frozenset(ACTIVATIONS))
_SHARED_LIMITS: Final = (
    agree("dst", "data"),
    column("bias", "scale", of="data"),
    per_partition("reduce_res", of="data", elements=1),
    Limit("activation-reduce", _reduce_operator, _DOCSTRING),
    Limit("activation-bias", _vector_bias, _DOCSTRING, frozenset({"trn1"})),
    Limit("activation-copy-bias", _copy_bias, "facts/nki_bug_reports.md 4", severity=Severity.WARNING),
    Limit(
        "activation-slope",
        _slope,
        "nki.language.prelu docstring: the slope is the argument relu_param",
        severity=Severity.WARNING,
    ),
)

OPERATIONS: Final = (
    Operation(
        "activation",
        (
            destination(),
            ACTIVATION,
            source("data"),
            operand("bias", None, _BIAS_DTYPES),
            operand("scale", 1.0),
            operator("reduce_op", frozenset({"add"}), optional=True),
            destination("reduce_res", optional=True),
            choice("reduce_cmd", "idle", "reset", "reduce", "reset_reduce"),
        ),
        engines=("scalar",),
        bind=_bind_activation,
        cycles=activation_cycles,
        limits=(
            *_SHARED_LIMITS,
            Limit("activation-idle-result", idle_result, _DOCSTRING, severity=Severity.WARNING),
            Limit(
                "activation-carried-sum",
                _carried_sum,
                "one public record on trn2: rel-L2 7.04, 75 % more HBM reads (facts/nki_bug_reports.md 47)",
                severity=Severity.WARNING,
            ),
        ),
        fidelity=_fidelity,
        source="nki.isa.activation, NKI 0.6; facts/nki.md sections 3.1 and 4.3",
        observes=True,
    ),
    Operation(
        "activation_reduce",
        (
            destination(),
            ACTIVATION,
            source("data"),
            operator("reduce_op", frozenset({"add"})),
            destination("reduce_res", nullable=True),
            operand("bias", None, _BIAS_DTYPES),
            operand("scale", 1.0),
        ),
        engines=("scalar",),
        bind=_bind_activation_reduce,
        cycles=activation_cycles,
        limits=_SHARED_LIMITS,
        fidelity=_fidelity,
        source="nki.isa.activation_reduce, NKI 0.6; facts/nki.md sections 3.1 and 4.3",
        observes=True,
    ),
)
