"""Values outside the range of a function travel from the machine to the case they were met in."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.operations import Observation
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
from pipeline.execute.observations import summarize_observations

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl
@nki.jit
def kernel(x, places):
    out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
    where = nl.ndarray((4, 8), dtype=nl.uint32, buffer=nl.sbuf)
    result = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=where, src=places)
    STATEMENT
    nisa.dma_copy(dst=out, src=result)
    return out
"""
LOG = "nisa.activation(dst=result, op=nl.log, data=tile)"
GATHER = "nisa.nc_n_gather(dst=result, data=tile, indices=where)"


def execute(statement: str, *draws: tuple[float, int]) -> ProgramOutcome:
    """Run the statement on tiles that hold one value, and indices that are one index."""
    specs = [InputSpec("x", (4, 8), "float32"), InputSpec("places", (4, 8), "uint32")]
    program = trace(KERNEL.replace("STATEMENT", statement), "k.py", "kernel", specs, target="trn2")
    inputs = tuple(
        (
            Array.of(np.full((4, 8), value, np.float32), "float32"),
            Array.of(np.full((4, 8), index, np.uint32), "uint32"),
        )
        for value, index in draws
    )
    request = ExecuteRequest(runs=(ProgramRun(encode_program(program), inputs),))
    (outcome,) = decode(machine.execute(encode(request)), ExecuteReply).outcomes
    assert outcome.error is None
    return outcome


def test_each_input_set_has_what_was_observed_in_running_it() -> None:
    within, below, above = execute(LOG, (1.0, 0), (0.0, 0), (2.0**65, 0)).observations
    assert within == ()
    (low,), (high,) = below, above
    assert (low.line, low.function, low.low, low.high) == (12, "log", 2.0**-64, 2.0**64)
    assert (low.least, low.greatest) == (0.0, 0.0)
    assert high.greatest >= 2.0**65


def test_an_index_beyond_its_tensor_is_observed_by_the_gathers_name() -> None:
    (seen,) = execute(GATHER, (1.0, 8)).observations[0]
    assert (seen.function, seen.low, seen.high, seen.greatest) == ("nc_n_gather", 0, 7, 8)


def test_infinity_crosses_and_not_a_number_is_no_value() -> None:
    infinite, nothing = execute(LOG, (math.inf, 0), (math.nan, 0)).observations
    assert infinite[0].greatest == math.inf
    assert nothing == ()


def a_program(*lines: int) -> Any:
    return SimpleNamespace(instructions=[SimpleNamespace(line=line) for line in lines])


def met(position: int, least: float, greatest: float) -> Observation:
    return Observation(position, "log", 1.0, 2.0, least, greatest)


def test_the_instructions_of_an_unrolled_loop_are_one_sighting() -> None:
    program = a_program(7, 9, 7)
    first, second = summarize_observations(program, [met(0, 0.5, 1.5), met(1, 0.0, 1.0), met(2, 0.25, 3.0)])
    assert (first.line, first.least, first.greatest) == (7, 0.25, 3.0)
    assert (second.line, second.least, second.greatest) == (9, 0.0, 1.0)


def test_a_number_outweighs_not_a_number() -> None:
    (seen,) = summarize_observations(a_program(7, 7), [met(0, math.nan, math.nan), met(1, 0.5, 1.0)])
    assert (seen.least, seen.greatest) == (0.5, 1.0)


def test_a_long_program_says_no_more_than_twenty_things() -> None:
    lines = range(1, 1001)
    found = summarize_observations(a_program(*lines), [met(position, 0.0, 1.0) for position in range(1000)])
    assert [sighting.line for sighting in found] == list(range(1, 21))


@settings(max_examples=50)
@given(st.floats(width=32), st.floats(width=32))
def test_values_are_rounded_outwards_to_three_digits(least: float, greatest: float) -> None:
    (seen,) = summarize_observations(a_program(0), [met(0, least, greatest)])
    assert seen.line is None
    for value, rounded in ((least, seen.least), (greatest, seen.greatest)):
        if not math.isfinite(value):
            assert rounded == pytest.approx(value, nan_ok=True)
            continue
        assert len(f"{abs(rounded):.10e}".partition("e")[0].rstrip("0")) <= 4
        assert abs(rounded - value) <= 0.01 * abs(value)
    assert not seen.least > least
    assert not seen.greatest < greatest
