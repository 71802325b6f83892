"""Short ways to record a kernel body and to look at what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Any

import pytest

from pipeline.emulator.frontend import InputSpec, KernelError, trace
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program import AccessPattern, Instruction, Program, Scalar, validate

IMPORTS = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\nimport numpy as np\n"
X = InputSpec("x", (128, 512), "float32")


def record(
    source: str,
    inputs: Sequence[InputSpec] = (X,),
    *,
    entry: str = "kernel",
    target: str = "trn2",
    version: str = "0.6",
    cores: int = 1,
    instruction_limit: int = 100_000,
) -> Program:
    """Trace a whole submission; the program it yields must be well formed."""
    program = trace(
        dedent(source),
        "submission.py",
        entry,
        inputs,
        target=target,
        version=version,
        cores=cores,
        instruction_limit=instruction_limit,
    )
    validate(program)
    return program


def record_body(
    body: str, inputs: Sequence[InputSpec] = (X,), *, target: str = "trn2", version: str = "0.6"
) -> Program:
    """Trace a kernel with this body; at its end an output `out` of shape (1, 1) is written and returned."""
    parameters = ", ".join(spec.name for spec in inputs)
    source = (
        f"{IMPORTS}@nki.jit\ndef kernel({parameters}):\n"
        f"{indent(dedent(body).strip(), '    ')}\n"
        "    end = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.memset(dst=end, value=0.0)\n"
        "    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    nisa.dma_copy(dst=out, src=end)\n"
        "    return out\n"
    )
    return record(source, inputs, target=target, version=version)


#: Line of the submission on which the first line of a `record_body` body lands.
BODY_LINE = 7


def refusal(body: str, inputs: Sequence[InputSpec] = (X,), **options: str) -> KernelError:
    """Return the error that a kernel with this body ends in."""
    with pytest.raises(KernelError) as caught:
        record_body(body, inputs, **options)
    return caught.value


def refused_submission(source: str, inputs: Sequence[InputSpec] = (X,), **options: Any) -> KernelError:
    """Return the error that a whole submission ends in."""
    with pytest.raises(KernelError) as caught:
        record(source, inputs, **options)
    return caught.value


@dataclass(frozen=True)
class Recorded:
    """One instruction with its names resolved."""

    operation: str
    tensors: dict[str, AccessPattern | None]
    scalars: dict[str, Scalar]
    line: int
    engine: int


def resolved(program: Program) -> list[Recorded]:
    """Return the program's instructions by name, without the two that `record_body` appends."""
    return [_resolve(program, instruction) for instruction in program.instructions]


def _resolve(program: Program, instruction: Instruction) -> Recorded:
    operation = OPERATIONS[program.operations[instruction.operation]]
    return Recorded(
        operation.name,
        {
            name: None if instruction.tensors[slot] < 0 else program.patterns[instruction.tensors[slot]]
            for name, slot in operation.tensor_slots.items()
        },
        {name: instruction.scalars[slot] for name, slot in operation.scalar_slots.items()},
        instruction.line,
        instruction.engine,
    )
