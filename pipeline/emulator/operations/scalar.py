"""The scalar engine: `activation`, `activation_reduce`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.activations import ACTIVATIONS
from pipeline.emulator.operations.arguments import choice, destination, operand, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.limits import agree, column, per_partition
from pipeline.emulator.operations.reduction import sum_in_order
from pipeline.emulator.operations.table import (
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

__all__ = ["OPERATIONS"]

_DOCSTRING: Final = "nki.isa.activation docstring, NKI 0.6"
_BIAS_DTYPES: Final = frozenset(DTYPES) - {"tfloat32"}


def _bind_activation(call: Call) -> Kernel:
    """``dst = op(data * scale + bias)`` in float32, with the running row sum of the scalar engine's
    registers.

    The sum adds the activated float32 values, before they are rounded to ``dst``, in element order.
    """
    dst, data, result = call.tensor("dst"), call.tensor("data"), call.operand("reduce_res")
    function = ACTIVATIONS[str(call.scalar("op"))].function
    load, write = loader(data, dst.shape), writer(dst.dtype)
    bias_tile, scale_tile = call.operand("bias"), call.operand("scale")
    bias_number, scale_number = call.scalar("bias"), call.scalar("scale")
    scale = broadcast_operand(scale_tile, scale_number, dst.shape)
    bias = broadcast_operand(bias_tile, bias_number, dst.shape)
    scales = scale_tile is not None or scale_number != 1
    biases = bias_tile is not None or bias_number not in (None, 0)
    command = "reset_reduce" if call.operation.name == "activation_reduce" else call.scalar("reduce_cmd")
    sums = command in ("reduce", "reset_reduce")
    resets = command in ("reset", "reset_reduce")
    write_result = writer(result.dtype) if result is not None else None
    lanes = slice(data.start, data.start + data.partitions)

    def activate(values: Array, bias_array: Array | None, scale_array: Array | None) -> Array:
        if scales:
            values = values * scale(scale_array)
        if biases:
            values = values + bias(bias_array)
        return function(values)

    if not sums and not resets and result is None:

        def plain(
            registers: Registers,
            dst: Array,
            data: Array,
            bias: Array | None,
            scale: Array | None,
            reduce_res: Array | None,
        ) -> None:
            write(dst, activate(load(data), bias, scale))

        return plain

    def reducing(
        registers: Registers,
        dst: Array,
        data: Array,
        bias: Array | None,
        scale: Array | None,
        reduce_res: Array | None,
    ) -> None:
        activated = activate(load(data), bias, scale)
        held = registers.scalar[lanes]
        if resets:
            held[...] = 0
        if sums:
            rows = activated.astype(np.float32, copy=False).reshape(len(held), -1)
            held += sum_in_order(rows)
        write(dst, activated)
        if write_result is not None and reduce_res is not None:
            write_result(reduce_res, held)

    return reducing


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


def _idle_result(call: Call) -> Iterator[str]:
    if call.operand("reduce_res") is not None and call.scalar("reduce_cmd") == "idle":
        yield (
            "reduce_res reads registers that reduce_cmd=idle leaves as they were: pass "
            "reduce_cmd=nisa.reduce_cmd.reset_reduce"
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


def _activation_fidelity(call: Call) -> Fidelity:
    return ACTIVATIONS[str(call.scalar("op"))].fidelity


def _cycles(call: Call) -> float:
    """max(64, N), and 64 more to read the registers out."""
    reads = call.operand("reduce_res") is not None
    return max(64, call.tensor("data").free_elements) + (64 if reads else 0)


_OP: Final = Parameter("op", ParameterKind.ACTIVATION, choices=frozenset(ACTIVATIONS))
_SHARED_LIMITS: Final = (
    agree("dst", "data"),
    column("bias", "scale", of="data"),
    per_partition("reduce_res", of="data", elements=1),
    Limit("activation-reduce", _reduce_operator, _DOCSTRING),
    Limit("activation-bias", _vector_bias, _DOCSTRING, frozenset({"trn1"})),
    Limit("activation-copy-bias", _copy_bias, "facts/nki_bug_reports.md 4", severity=Severity.WARNING),
)

OPERATIONS: Final = (
    Operation(
        "activation",
        (
            destination(),
            _OP,
            source("data"),
            operand("bias", None, _BIAS_DTYPES),
            operand("scale", 1.0),
            operator("reduce_op", frozenset({"add"}), optional=True),
            destination("reduce_res", optional=True),
            choice("reduce_cmd", "idle", "reset", "reduce", "reset_reduce"),
        ),
        engines=("scalar",),
        bind=_bind_activation,
        cycles=_cycles,
        limits=(
            *_SHARED_LIMITS,
            Limit("activation-idle-result", _idle_result, _DOCSTRING, severity=Severity.WARNING),
        ),
        fidelity=_activation_fidelity,
        source="nki.isa.activation, NKI 0.6; facts/nki.md sections 3.1 and 4.3",
    ),
    Operation(
        "activation_reduce",
        (
            destination(),
            _OP,
            source("data"),
            operator("reduce_op", frozenset({"add"})),
            destination("reduce_res", nullable=True),
            operand("bias", None, _BIAS_DTYPES),
            operand("scale", 1.0),
        ),
        engines=("scalar",),
        bind=_bind_activation_reduce,
        cycles=_cycles,
        limits=_SHARED_LIMITS,
        fidelity=_activation_fidelity,
        source="nki.isa.activation_reduce, NKI 0.6; facts/nki.md sections 3.1 and 4.3",
    ),
)
