"""Shorthand for the parameters that many operations share."""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations.operators import operators_where
from pipeline.emulator.operations.table import REQUIRED, Parameter, ParameterKind

__all__ = [
    "ENGINE",
    "FLOATS",
    "INTEGERS",
    "OOB_MODE",
    "choice",
    "destination",
    "flag",
    "operand",
    "operator",
    "source",
]

_ON_CHIP: Final = frozenset({"sbuf", "psum"})

#: Float types of the engines.
FLOATS: Final = frozenset(
    {"float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"}
)
#: Integer types, which bitvec operators want.
INTEGERS: Final = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})

ENGINE: Final = Parameter("engine", ParameterKind.ENGINE, default="unknown")
OOB_MODE: Final = Parameter("oob_mode", ParameterKind.CHOICE, "error", choices=frozenset({"error", "skip"}))


def destination(
    name: str = "dst",
    buffers: frozenset[str] = _ON_CHIP,
    *,
    optional: bool = False,
    nullable: bool = False,
) -> Parameter:
    """Return a written tensor parameter."""
    default = None if optional else REQUIRED
    return Parameter(name, ParameterKind.DESTINATION, default, buffers=buffers, nullable=nullable)


def source(name: str, buffers: frozenset[str] = _ON_CHIP, dtypes: frozenset[str] = frozenset()) -> Parameter:
    """Return a read tensor parameter."""
    return Parameter(name, ParameterKind.SOURCE, buffers=buffers, dtypes=dtypes)


def operand(
    name: str,
    default: object = REQUIRED,
    dtypes: frozenset[str] = frozenset({"float32"}),
    *,
    nullable: bool = False,
) -> Parameter:
    """Return a parameter that takes a number or a (P, 1) tile."""
    return Parameter(
        name,
        ParameterKind.OPERAND,
        default,  # type: ignore[arg-type]
        dtypes=dtypes,
        nullable=nullable,
    )


def operator(name: str, choices: frozenset[str], *, optional: bool = False) -> Parameter:
    """Return an ALU operator parameter; refused operators are among its choices, to be named by a rule."""
    names = choices | operators_where("refused")
    return Parameter(name, ParameterKind.OPERATOR, None if optional else REQUIRED, choices=names)


def flag(name: str, default: bool = False) -> Parameter:
    """Return a Boolean parameter."""
    return Parameter(name, ParameterKind.FLAG, default)


def choice(name: str, default: str, *others: str) -> Parameter:
    """Return an enum parameter, by member name."""
    return Parameter(name, ParameterKind.CHOICE, default, choices=frozenset({default, *others}))
