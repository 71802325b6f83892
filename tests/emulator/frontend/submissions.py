"""Runs the text of a kernel on arrays: traced, sent over the wire, validated, judged, executed."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent
from typing import Any

import numpy as np

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.legality import Severity, check
from pipeline.emulator.machine import Machine
from pipeline.emulator.program import Program, decode, encode, validate
from tests.emulator.frontend.kernels import IMPORTS
from tests.emulator.running import nki_dtype

__all__ = ["execute", "program_of"]


def program_of(source: str, arrays: dict[str, np.ndarray], **options: Any) -> Program:
    """The program that a kernel becomes for these arrays."""
    specs = [InputSpec(name, array.shape, nki_dtype(array)) for name, array in arrays.items()]
    traced = trace(
        IMPORTS + dedent(source), "submission.py", "kernel", specs, **{"target": "trn2", **options}
    )
    program = decode(encode(traced))
    validate(program)
    return program


def execute(source: str, *, refused: Sequence[str] = (), seed: int = 0, **arrays: Any) -> list[np.ndarray]:
    """What a kernel called `kernel` returns; legality may find nothing but the rules `refused`.

    Keywords that are no arrays are options of `trace`.
    """
    options = {name: value for name, value in arrays.items() if not isinstance(value, np.ndarray)}
    inputs = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
    program = program_of(source, inputs, **options)
    errors = {violation.rule for violation in check(program) if violation.severity is Severity.ERROR}
    assert errors == set(refused)
    return Machine(program).run(list(inputs.values()), seed=seed)
