"""A program as steps: each instruction with its arguments by name, and what the values it reads mean.

Tensors are followed whole: what an instruction reads is what the latest write to any part of the tensor left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.precision.meanings import Meaning, Value, write_meanings
from pipeline.emulator.program.instructions import Program, Scalar
from pipeline.emulator.targets import ENGINES

__all__ = ["Argument", "Step", "walk"]

#: A kernel's body repeats: what its first few thousand instructions do not show, no later one does.
_LONGEST: Final = 4000


class Argument(NamedTuple):
    """A tensor argument.

    Attributes:
        tensor: Index into `Program.tensors`.
        pattern: Index into `Program.patterns`.
        dtype: Of the elements touched.
        value: What is known of what it holds before the instruction.
        narrowed: Whether the latest write rounded it to fewer bits than its sources had.
    """

    tensor: int
    pattern: int
    dtype: str
    value: Value
    narrowed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction.

    Attributes:
        operation: Its name.
        engine: Name of the engine.
        line: Of the submission.
        sources: What it reads, by parameter.
        destinations: What it writes, by parameter.
        scalars: Compile-time arguments by parameter.
        results: What the destinations mean afterwards, by parameter.
        adds: Whether it adds to what its destination held.
    """

    operation: str
    engine: str
    line: int
    sources: dict[str, Argument]
    destinations: dict[str, Argument]
    scalars: dict[str, Scalar]
    results: dict[str, Value]
    adds: bool


def walk(program: Program) -> Iterator[Step]:
    """Yield the steps of a validated program, in program order, up to a bounded number."""
    held: dict[int, Value] = {}
    narrowed: set[int] = set()
    for instruction in program.instructions[:_LONGEST]:
        operation = OPERATIONS[program.operations[instruction.operation]]
        sources: dict[str, Argument] = {}
        destinations: dict[str, Argument] = {}
        adds = False
        for parameter, index in zip(operation.tensor_parameters, instruction.tensors, strict=True):
            if index < 0:
                continue
            pattern = program.patterns[index]
            value = held.get(pattern.tensor, Value(Meaning.PLAIN, pattern.tensor))
            argument = Argument(
                pattern.tensor, index, pattern.dtype, value, narrowed=pattern.tensor in narrowed
            )
            (destinations if parameter.kind.written else sources)[parameter.name] = argument
            adds |= parameter.kind.written and operation.keeps(parameter, instruction.scalars)
        scalars = {
            parameter.name: scalar
            for parameter, scalar in zip(operation.scalar_parameters, instruction.scalars, strict=True)
        }
        values = {name: argument.value for name, argument in sources.items()}
        meant = write_meanings(operation.name, values, scalars)
        results = {name: value for name, value in meant.items() if name in destinations}
        yield Step(
            operation.name,
            ENGINES[instruction.engine],
            instruction.line,
            sources,
            destinations,
            scalars,
            results,
            adds,
        )
        for name, argument in destinations.items():
            result = results.get(name, Value(Meaning.PLAIN, None))
            held[argument.tensor] = (
                result if result.tensor is not None else Value(result.meaning, argument.tensor)
            )
            if any(_is_narrower(argument.dtype, source.dtype) for source in sources.values()):
                narrowed.add(argument.tensor)
            else:
                narrowed.discard(argument.tensor)


def _is_narrower(dtype: str, other: str) -> bool:
    kind, source = DTYPES[dtype], DTYPES[other]
    return kind.is_float and source.is_float and kind.mantissa_bits < source.mantissa_bits
