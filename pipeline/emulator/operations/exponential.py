"""The vector engine's exponential of NeuronCore-v4: `exponential`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.emulator.operations.accumulator import (
    IDLE_RESULT,
    Accumulator,
    accumulator_fidelity,
    initial_value,
)
from pipeline.emulator.operations.arguments import FLOATS, choice, operand, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.limits import agree, column, per_partition
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_DOCSTRING: Final = "nki.isa.exponential docstring, Constraints"
_MAX_RANK: Final = 4
_RESULTS: Final = FLOATS - {"float8_e4m3fn"}
_INTEGERS: Final = frozenset({"int8", "int16", "int32", "uint8", "uint16"})
_SOURCES: Final = _RESULTS - {"tfloat32"} | _INTEGERS | {"uint32"}


def _bind_exponential(call: Call) -> Kernel:
    """``exp(src - max_value)`` and its running row sum."""
    dst, src = call.tensor("dst"), call.tensor("src")
    load, write = loader(src, dst.shape), writer(dst.dtype)
    greatest = broadcast_operand(
        call.operand("max_value"), call.scalar("max_value"), dst.shape, call.precision
    )
    accumulator = Accumulator(call, src, "add", "reduce_init")

    def exponentiate(
        registers: Registers,
        dst: Array,
        src: Array,
        max_value: Array | None,
        reduce_res: Array | None,
        reduce_init: Array | None,
    ) -> None:
        value = load(src) - greatest(max_value)
        np.exp(value, out=value)
        accumulator.fold(registers, value, reduce_init)
        write(dst, value)
        accumulator.drain(registers, reduce_res)

    return exponentiate


def _rank(call: Call) -> Iterator[str]:
    for name in ("src", "dst"):
        shape = call.tensor(name).shape
        if len(shape) > _MAX_RANK:
            yield f"{name} has {len(shape)} dimensions {list(shape)}, limit {_MAX_RANK}: flatten some"


def _fidelity(call: Call) -> Fidelity:
    accumulated = accumulator_fidelity(call, "add")
    return Fidelity.UNMODELLED if accumulated is Fidelity.UNMODELLED else Fidelity.APPROXIMATE


OPERATIONS: Final = (
    Operation(
        "exponential",
        (
            Parameter("dst", ParameterKind.DESTINATION, dtypes=_RESULTS | _INTEGERS),
            source("src", dtypes=_SOURCES),
            operand("max_value", 0.0),
            Parameter("reduce_res", ParameterKind.DESTINATION, None, dtypes=_RESULTS),
            choice("reduce_cmd", "idle", "reset_reduce", "reduce", "load_reduce"),
            operand("reduce_init", 0.0),
        ),
        engines=("vector",),
        bind=_bind_exponential,
        # Four times the scalar engine's activation, whose floor of 64 every instruction of this engine has.
        cycles=lambda call: max(64, call.tensor("dst").free_elements / 4),
        limits=(
            agree("dst", "src"),
            column("max_value", "reduce_init", of="src"),
            per_partition("reduce_res", of="src", elements=1),
            Limit("exponential-rank", _rank, _DOCSTRING),
            initial_value("reduce_init", unused=0.0),
            IDLE_RESULT,
        ),
        fidelity=_fidelity,
        targets=frozenset({"trn3"}),
        source="nki.isa.exponential, NKI 0.6; trainium3_arch.rst, Fast Exponential Evaluation",
    ),
)
