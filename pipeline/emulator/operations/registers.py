"""Virtual registers: `register_move`, `register_load`, `register_store`.

Registers hold 32 bits. What is loaded from a float tensor is its bit pattern, because the instructions move
words and convert nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import destination, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Parameter, ParameterKind

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS", "register_number", "value_of"]

_ANYWHERE: Final = frozenset({"hbm", "sbuf"})
_WORD: Final = 1 << 32


def register_number(value: Scalar) -> int:
    """Return the number of the register that a scalar names.

    Raises:
        TypeError: If it names none.
    """
    if isinstance(value, tuple):
        return value[0]
    raise TypeError("not a register")


def value_of(value: Scalar, registers: Registers) -> int:
    """Return the value of an `INDEX` argument: an integer, or what the register it names holds.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(value, tuple):
        return registers.virtual[value[0]]
    if isinstance(value, int):
        return value
    raise TypeError("neither an integer nor a register")


def _signed(value: int) -> int:
    """Return a value as the 32-bit two's complement number that a register holds."""
    return (value + _WORD // 2) % _WORD - _WORD // 2


def _bind_move(call: Call) -> Kernel:
    number, source_ = register_number(call.scalar("dst")), call.scalar("src")

    def move(registers: Registers) -> None:
        registers.virtual[number] = _signed(value_of(source_, registers))

    return move


def _bind_load(call: Call) -> Kernel:
    number, kind = register_number(call.scalar("dst")), DTYPES[call.tensor("src").dtype]

    def load(registers: Registers, src: Array) -> None:
        word = src.reshape(-1)[:1]
        registers.virtual[number] = int(word[0] if not kind.is_float else word.view(np.int32)[0])
        registers.virtual[number] = _signed(registers.virtual[number])

    return load


def _bind_store(call: Call) -> Kernel:
    source_, kind = call.scalar("src"), DTYPES[call.tensor("dst").dtype]

    def store(registers: Registers, dst: Array) -> None:
        word = np.array(value_of(source_, registers) % _WORD, np.uint32)
        dst[...] = word.view(kind.storage) if kind.itemsize == word.itemsize else word.astype(kind.storage)

    return store


def _fidelity(call: Call) -> Fidelity:
    """What becomes of a float between memory and a register is not documented; here its bits."""
    floats = any(DTYPES[operand.dtype].is_float for operand in call.operands if operand is not None)
    return Fidelity.UNMODELLED if floats else Fidelity.EXACT


def _one_element(call: Call) -> Iterator[str]:
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and operand.elements != 1:
            yield f"{parameter.name} has {operand.elements} elements, a register holds one: slice one element"


def _word(call: Call) -> Iterator[str]:
    for parameter, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
        if operand is not None and DTYPES[operand.dtype].itemsize != 4 and DTYPES[operand.dtype].is_float:
            yield f"{parameter.name} is {operand.dtype}: a register holds 32 bits, use an int32 tensor"


_DOCSTRING: Final = "nki.isa.register_load and register_store docstrings, NKI 0.6"
_LIMITS: Final = (
    Limit("register-element", _one_element, _DOCSTRING),
    Limit("register-word", _word, _DOCSTRING),
)

OPERATIONS: Final = (
    Operation(
        "register_move",
        (Parameter("dst", ParameterKind.REGISTER), Parameter("src", ParameterKind.INDEX)),
        engines=("sync",),
        bind=_bind_move,
        source="nki.isa.register_move docstring, NKI 0.6",
    ),
    Operation(
        "register_load",
        (Parameter("dst", ParameterKind.REGISTER), source("src", _ANYWHERE)),
        engines=("sync",),
        bind=_bind_load,
        limits=_LIMITS,
        fidelity=_fidelity,
        source="nki.isa.register_load docstring, NKI 0.6",
    ),
    Operation(
        "register_store",
        (destination(buffers=_ANYWHERE), Parameter("src", ParameterKind.INDEX)),
        engines=("sync",),
        bind=_bind_store,
        limits=_LIMITS,
        fidelity=_fidelity,
        source="nki.isa.register_store docstring, NKI 0.6",
    ),
)
