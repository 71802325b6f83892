"""Brings ranks or cores together at one instruction, without a machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.emulator.operations import OPERATIONS, REQUIRED, Call, Operand, Participant, Registers, Severity
from pipeline.emulator.targets import TARGETS
from tests.emulator.running import nki_dtype


def call_of(name: str, arguments: dict[str, Any], target: str = "trn2", memory: str = "hbm") -> Call:
    """The instruction with the given arguments; arrays are tensors that lie in `memory`."""
    operation = OPERATIONS[name]
    operands: list[Operand | None] = []
    for parameter in operation.tensor_parameters:
        array = arguments.get(parameter.name)
        if isinstance(array, np.ndarray):
            strides = tuple(step // array.itemsize for step in array.strides)
            operands.append(Operand(memory, nki_dtype(array), array.shape, strides))
        else:
            operands.append(None)
    scalars = [arguments.get(p.name, p.default) for p in operation.scalar_parameters]
    assert REQUIRED not in scalars
    assert set(arguments) <= {part.name for p in operation.parameters for part in p.spread()}
    return Call(operation, operation.engines[0], TARGETS[target], tuple(operands), tuple(scalars))


def complaints(call: Call) -> dict[str, str]:
    """What the operation's own limits find wrong with a call: message by rule, today's errors only."""
    return {
        limit.rule: message
        for limit in call.operation.limits
        if call.target.name in limit.targets and limit.severity is Severity.ERROR and limit.until is None
        for message in limit.check(call)
    }


def meet(
    name: str,
    arguments: Sequence[dict[str, Any]],
    *,
    target: str = "trn2",
    memory: str = "hbm",
    cores: bool = False,
) -> None:
    """Let ranks (or cores) 0, 1, ... meet, each with its own arguments; their arrays are written to."""
    participants = []
    for place, own in enumerate(arguments):
        call = call_of(name, own, target, memory)
        assert complaints(call) == {}
        registers = Registers.fresh(core=place) if cores else Registers.fresh(rank=place)
        views = [own.get(parameter.name) for parameter in call.operation.tensor_parameters]
        participants.append(Participant(call, registers, views))
    call = participants[0].call
    with np.errstate(all="ignore"):
        call.operation.bind(call)(participants)
