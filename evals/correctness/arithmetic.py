"""Arithmetic gone wrong: operands, operators, functions, constants, flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from evals.correctness.editing import Draft, Edit, InstructionMutation, Mutation
from pipeline.emulator.operations import OPERATIONS, ParameterKind
from pipeline.emulator.program import Instruction

__all__ = ["ARITHMETIC"]

_WRONG_OPERATOR: Final = {
    "add": "subtract",
    "subtract": "add",
    "multiply": "add",
    "maximum": "minimum",
    "minimum": "maximum",
    "greater": "less",
    "less": "greater",
    "greater_equal": "less_equal",
    "less_equal": "greater_equal",
    "equal": "not_equal",
    "not_equal": "equal",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "rsqrt": "reciprocal",
    "power": "multiply",
}
_OTHER_OPERATOR: Final = {
    "add": "maximum",
    "subtract": "multiply",
    "multiply": "maximum",
    "maximum": "add",
    "minimum": "add",
    "greater": "greater_equal",
    "greater_equal": "greater",
    "less": "less_equal",
    "less_equal": "less",
}
_WRONG_FUNCTION: Final = {
    "exp": "sigmoid",
    "gelu": "gelu_apprx_tanh",
    "gelu_apprx_tanh": "gelu",
    "gelu_apprx_sigmoid": "gelu",
    "erf": "tanh",
    "tanh": "erf",
    "sigmoid": "tanh",
    "silu": "gelu",
    "square": "abs",
    "rsqrt": "reciprocal",
    "sqrt": "rsqrt",
    "reciprocal": "rsqrt",
    "log": "sqrt",
    "sin": "arctan",
    "copy": "relu",
    "abs": "relu",
    "relu": "abs",
}
#: No mean is over so many elements: the reciprocal of such a number is no length, but an epsilon.
_LONGEST: Final = 1 << 16
#: What leaves the other operand of an operator as it is.
_NEUTRAL: Final = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}
#: Which operator works on an operand, where there is one.
_OPERATOR_OF: Final = {"operand0": "op0", "operand1": "op1", "imm0": "op0", "imm1": "op1"}
#: Operands of the activation functions, and what leaves their input as it is.
_NEUTRAL_OPERANDS: Final[Mapping[str, float | None]] = {"bias": None, "scale": 1.0}


def _scalars(*kinds: ParameterKind, names: Sequence[str] = ()) -> Callable[[Draft, int], Sequence[int]]:
    """Return where an instruction has compile-time arguments of some kinds, or names."""

    def slots(draft: Draft, position: int) -> Sequence[int]:
        return [
            slot
            for slot, parameter in enumerate(draft.operation(position).scalar_parameters)
            if parameter.kind in kinds and (not names or parameter.name in names)
        ]

    return slots


def _flags(draft: Draft, position: int) -> Sequence[int]:
    parameters = draft.operation(position).scalar_parameters
    scalars = draft.program.instructions[position].scalars
    return [
        slot
        for slot, parameter in enumerate(parameters)
        # Which values the two `onezero` flags promise is for the compiler; no machine checks or uses it.
        if parameter.kind is ParameterKind.FLAG
        and isinstance(scalars[slot], bool)
        and parameter.name not in ("accumulate", "keepdims", "unique_indices")
        and not parameter.name.endswith("onezero")
    ]


def _flip(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    return draft.replace_scalar(position, slot, not draft.program.instructions[position].scalars[slot])


def _set_accumulate(value: bool) -> Edit:
    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        if draft.program.instructions[position].scalars[slot] is value:
            return None
        return draft.replace_scalar(position, slot, value)

    return edit


def _rename(names: Mapping[str, str]) -> Edit:
    """Return the edit that exchanges an operator or function for the one that `names` says."""

    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        name = draft.program.instructions[position].scalars[slot]
        if not isinstance(name, str) or name not in names:
            return None
        return draft.replace_scalar(position, slot, names[name])

    return edit


def _pairs(draft: Draft, position: int) -> Sequence[int]:
    return [0] if len(draft.slots(position, ParameterKind.SOURCE)) > 1 else []


def _swap(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    first, second = draft.slots(position, ParameterKind.SOURCE)[:2]
    views = {first: draft.view(position, second), second: draft.view(position, first)}
    return draft.replace_views(position, views) if views[first] != views[second] else None


def _leave_out_operand(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Put what changes nothing in an operand's place: no bias, no scale, no row maximum."""
    instruction, operation = draft.program.instructions[position], draft.operation(position)
    name = operation.scalar_parameters[slot].name
    tile = operation.tensor_slots[name]
    operator = operation.scalar_slots.get(_OPERATOR_OF.get(name, ""))
    neutral: float | None
    if operator is not None:
        neutral = _NEUTRAL.get(str(instruction.scalars[operator]))
        if neutral is None:
            return None
    elif name in _NEUTRAL_OPERANDS:
        neutral = _NEUTRAL_OPERANDS[name]
    else:
        return None
    if instruction.tensors[tile] < 0 and instruction.scalars[slot] in (neutral, None):
        return None
    tensors, scalars = list(instruction.tensors), list(instruction.scalars)
    tensors[tile], scalars[slot] = -1, neutral
    return [msgspec.structs.replace(instruction, tensors=tuple(tensors), scalars=tuple(scalars))]


def _change(change: Callable[[float], float | None]) -> Edit:
    """Return the edit that changes a number; None from `change` leaves it."""

    def edit(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
        number = draft.program.instructions[position].scalars[slot]
        if isinstance(number, bool) or not isinstance(number, int | float) or not np.isfinite(number):
            return None
        changed = change(float(number))
        if changed is None or changed == number:
            return None
        return draft.replace_scalar(position, slot, changed)

    return edit


def _one_more(number: float) -> float | None:
    """Return 1 / (n + 1) for 1 / n: a mean over one element too many."""
    count = 1 / number if number else 0.0
    is_count = 1.5 < count < _LONGEST and abs(count - round(count)) < 1e-6 * count
    return 1 / (round(count) + 1) if is_count else None


def _next_float(number: float) -> float:
    return float(np.nextafter(np.float32(number), np.float32(np.inf)))


def _other_axis(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    axis = draft.program.instructions[position].scalars[slot]
    if isinstance(axis, tuple) and axis:
        return draft.replace_scalar(position, slot, (*axis[:-1], axis[-1] - 1 if axis[-1] else 1))
    if isinstance(axis, int):
        return draft.replace_scalar(position, slot, axis - 1 if axis else 1)
    return None


def _reciprocals(draft: Draft, position: int) -> Sequence[int]:
    return [0] if draft.operation(position).name == "reciprocal" else []


def _copy_instead(draft: Draft, position: int, slot: int) -> list[Instruction] | None:
    """Copy where the reciprocal was taken: a division becomes a product."""
    instruction, operation = draft.program.instructions[position], draft.operation(position)
    copy = OPERATIONS["tensor_copy"]
    given = {
        "dst": instruction.tensors[operation.tensor_slots["dst"]],
        "src": instruction.tensors[operation.tensor_slots["data"]],
    }
    replaced = msgspec.structs.replace(
        instruction,
        operation=draft.name_operation("tensor_copy"),
        tensors=tuple(given[parameter.name] for parameter in copy.tensor_parameters),
        scalars=tuple(parameter.default for parameter in copy.scalar_parameters),
    )
    return [replaced]


_NUMBERS: Final = _scalars(ParameterKind.NUMBER, ParameterKind.OPERAND)
_OPERATORS: Final = _scalars(ParameterKind.OPERATOR)
_FUNCTIONS: Final = _scalars(ParameterKind.ACTIVATION)
_ACCUMULATE: Final = _scalars(ParameterKind.FLAG, names=("accumulate",))

ARITHMETIC: Final[tuple[Mutation, ...]] = (
    InstructionMutation("operands swapped", _pairs, _swap),
    InstructionMutation("operand left out", _scalars(ParameterKind.OPERAND), _leave_out_operand),
    InstructionMutation("wrong operator", _OPERATORS, _rename(_WRONG_OPERATOR)),
    InstructionMutation("another operator", _OPERATORS, _rename(_OTHER_OPERATOR)),
    InstructionMutation("wrong function", _FUNCTIONS, _rename(_WRONG_FUNCTION)),
    InstructionMutation("function left out", _FUNCTIONS, _rename(dict.fromkeys(_WRONG_FUNCTION, "copy"))),
    InstructionMutation("reciprocal left out", _reciprocals, _copy_instead),
    InstructionMutation("flag flipped", _flags, _flip),
    InstructionMutation("sum starts anew", _ACCUMULATE, _set_accumulate(False)),
    InstructionMutation("sum adds to what was there", _ACCUMULATE, _set_accumulate(True)),
    InstructionMutation("wrong axis", _scalars(ParameterKind.INTEGERS, names=("axis", "axes")), _other_axis),
    InstructionMutation("constant zero", _NUMBERS, _change(lambda number: 0.0)),
    InstructionMutation("constant negated", _NUMBERS, _change(lambda number: -number)),
    InstructionMutation("constant doubled", _NUMBERS, _change(lambda number: 2 * number)),
    InstructionMutation("constant 1 % off", _NUMBERS, _change(lambda number: 1.01 * number)),
    InstructionMutation("mean over one too many", _NUMBERS, _change(_one_more)),
    InstructionMutation("constant one ulp off", _NUMBERS, _change(_next_float), harmless=True),
)
