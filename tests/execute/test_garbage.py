"""A result that depends on memory nothing wrote is no result, even where one filling happens to be right."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.program import encode as encode_program
from pipeline.execute.frames import (
    Array,
    ExecuteReply,
    ExecuteRequest,
    ProgramOutcome,
    ProgramRun,
    decode,
    encode,
)
from pipeline.execute.jobs import machine
from pipeline.execute.outcomes import explain_machine_error
from pipeline.types import Owner, Verdict

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl
@nki.jit
def kernel(x):
    out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.sbuf)
    garbage = nl.ndarray((8, 4), dtype=nl.DTYPE, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    STATEMENT
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def execute(statement: str, dtype: str) -> ProgramOutcome:
    source = KERNEL.replace("DTYPE", dtype).replace("STATEMENT", statement)
    program = trace(source, "k.py", "kernel", [InputSpec("x", (8, 4), "float32")], target="trn2")
    inputs = (Array.of(np.ones((8, 4), np.float32), "float32"),)
    request = ExecuteRequest(runs=(ProgramRun(encode_program(program), (inputs,)),))
    (outcome,) = decode(machine.execute(encode(request)), ExecuteReply).outcomes
    return outcome


@pytest.mark.parametrize(
    ("statement", "dtype"),
    [
        ("nisa.tensor_tensor(dst=tile, data1=tile, data2=garbage, op=nl.add)", "int32"),
        ("nisa.tensor_tensor(dst=tile, data1=tile, data2=garbage, op=nl.maximum)", "float32"),
        ("nisa.tensor_copy(dst=tile, src=garbage)", "bfloat16"),
    ],
)
def test_it_is_incorrect_and_the_line_is_named(statement: str, dtype: str) -> None:
    outcome = execute(statement, dtype)
    assert outcome.outputs == ()
    assert outcome.error is not None
    verdict, fault = explain_machine_error(outcome.error)
    assert verdict is Verdict.INCORRECT
    assert fault.owner is Owner.SUBMISSION
    assert fault.line == 10


@pytest.mark.parametrize(
    "statement",
    [
        "nisa.tensor_copy(dst=garbage, src=garbage)",
        "nisa.tensor_copy(dst=tile, src=garbage); nisa.dma_copy(dst=tile, src=x)",
    ],
)
def test_a_read_that_never_reaches_the_output_is_no_error(statement: str) -> None:
    outcome = execute(statement, "float32")
    assert outcome.error is None
    ((out,),) = outcome.outputs
    np.testing.assert_array_equal(out.numpy(), np.ones((8, 4), np.float32))
