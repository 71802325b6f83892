"""Runs single operations in the machine."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine import Machine
from pipeline.emulator.program import decode, encode, validate
from tests.emulator.program_builder import ProgramBuilder

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def nki_dtype(array: np.ndarray) -> str:
    """The NKI name of an array's dtype."""
    names = {kind.storage: name for name, kind in DTYPES.items() if name != "tfloat32"}
    return names[array.dtype]


def run(builder: ProgramBuilder, *inputs: np.ndarray, poison: int = 0) -> list[np.ndarray]:
    """Send the program through its wire format and validation, then execute it."""
    program = decode(encode(builder.program()))
    validate(program)
    return Machine(program).run(inputs, poison=poison)


def run_operation(
    name: str,
    results: dict[str, tuple[tuple[int, ...], str]],
    arguments: dict[str, Any],
    *,
    engine: str | None = None,
    target: str = "trn2",
) -> list[np.ndarray]:
    """Execute one operation on tiles loaded from arrays; the destinations' final contents are the result.

    Args:
        name: The operation.
        results: Shape and dtype of each destination.
        arguments: Every other argument; arrays become SBUF tiles.
        engine: Engine, or the operation's default.
        target: Chip.
    """
    builder = ProgramBuilder(target)
    arrays = {key: value for key, value in arguments.items() if isinstance(value, np.ndarray)}
    sources = {key: builder.input(array.shape, nki_dtype(array)) for key, array in arrays.items()}
    tiles = {key: builder.view(builder.load(source)) for key, source in sources.items()}
    destinations = {key: builder.tensor(shape, dtype) for key, (shape, dtype) in results.items()}
    views = {key: builder.view(tensor) for key, tensor in destinations.items()}
    builder.add(name, engine, **{**arguments, **tiles, **views})
    for tensor in destinations.values():
        builder.store(tensor)
    return run(builder, *arrays.values())
