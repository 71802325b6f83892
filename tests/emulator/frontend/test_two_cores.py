"""A kernel on two logical NeuronCores: recorded for each, executed together, meeting at barriers."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.emulator.machine import Machine, MachineError
from tests.emulator.frontend.kernels import IMPORTS, refused_submission
from tests.emulator.frontend.submissions import execute, program_of

X = np.arange(256 * 4, dtype=np.float32).reshape(256, 4)

HALVES = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        rows = 256 // nl.num_programs(0)
        for start in range(nl.program_id(0) * rows, (nl.program_id(0) + 1) * rows, 128):
            tile = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[start:start + 128])
            nisa.tensor_scalar(tile, tile, op0=nl.add, operand0=float(nl.program_id(0)))
            nisa.dma_copy(out[start:start + 128], tile)
        return out
"""


def test_each_core_does_its_half():
    (out,) = execute(HALVES, x=X, cores=2)
    assert np.array_equal(out, np.concatenate([X[:128], X[128:] + 1]))


def test_one_core_does_all_of_it():
    (out,) = execute(HALVES, x=X, cores=1)
    assert np.array_equal(out, X)


SWAPPED = """
    @nki.jit
    def kernel(x):
        core = nl.program_id(0)
        shared = nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        out = nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, x[core * 128:(core + 1) * 128])
        nisa.dma_copy(shared[core * 128:(core + 1) * 128], tile)
        {barrier}
        other = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(other, shared[(1 - core) * 128:(2 - core) * 128])
        nisa.dma_copy(out[core * 128:(core + 1) * 128], other)
        return out
"""


def test_what_one_core_wrote_the_other_reads_after_a_barrier():
    (out,) = execute(SWAPPED.format(barrier="nisa.core_barrier(shared, (0, 1))"), x=X, cores=2)
    assert np.array_equal(out, np.concatenate([X[128:], X[:128]]))


def test_without_the_barrier_it_is_a_race():
    execute(SWAPPED.format(barrier="pass"), x=X, cores=2, refused=["core-race"])


def test_cores_exchange_tiles():
    source = """
        @nki.jit
        def kernel(x):
            core = nl.program_id(0)
            out = nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            mine = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
            theirs = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(mine, x[core * 128:(core + 1) * 128])
            nisa.sendrecv(mine, theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
            nisa.dma_copy(out[core * 128:(core + 1) * 128], theirs)
            return out
    """
    (out,) = execute(source, x=X, cores=2)
    assert np.array_equal(out, np.concatenate([X[128:], X[:128]]))


def test_cores_meet_within_a_run_time_loop():
    source = """
        @nki.jit
        def kernel(x):
            core = nl.program_id(0)
            shared = nl.ndarray((2, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            out = nl.ndarray((2, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            tile = nl.ndarray((1, 4), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[core:core + 1])
            def swap(i):
                nisa.dma_copy(shared[core:core + 1], tile)
                nisa.core_barrier(shared, (0, 1))
                nisa.dma_copy(tile, shared[1 - core:2 - core])
                nisa.core_barrier(shared, (0, 1))
            nl.fori_loop(0, {times}, swap)
            nisa.dma_copy(out[core:core + 1], tile)
            return out
    """
    for times, expected in ((1, X[1::-1]), (2, X[:2]), (3, X[1::-1])):
        (out,) = execute(source.format(times=times), x=X[:2].copy(), cores=2)
        assert np.array_equal(out, expected)


def test_a_core_that_waits_in_vain_is_a_deadlock_with_its_line():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((256, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, x)
            if nl.program_id(0) == 0:
                nisa.core_barrier(out, (0, 1))
            return out
    """
    program = program_of(source, {"x": X}, cores=2)
    with pytest.raises(MachineError) as caught:
        Machine(program).run([X])
    assert caught.value.rule == "deadlock"
    assert "barrier" in caught.value.message
    assert caught.value.line > 0


def test_cores_that_allocate_different_shared_tensors_are_refused():
    source = (
        IMPORTS
        + """
@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512 * (1 + nl.program_id(0))), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return out
"""
    )
    error = refused_submission(source, cores=2)
    assert error.kind == "compile_error"
    assert "both cores must allocate the same shared tensors" in error.message
