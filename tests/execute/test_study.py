"""The study of one program, run as the grader runs it: in a confined worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.program import encode as encode_program
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.execute.study import study_program
from pipeline.execute.study_frames import StudyReply
from pipeline.library.tasks import load_task
from pipeline.types import Task

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
HEAD = """import nki
import nki.isa as nisa
import nki.language as nl
@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    right = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=x)
    nisa.dma_copy(dst=right, src=y)
"""
#: The sum is rounded to bfloat16 at line 12.
ROUNDED = (
    HEAD
    + """    short = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=short, data1=left, data2=right, op=nl.add)
    nisa.tensor_copy(dst=left, src=short)
    nisa.dma_copy(dst=out, src=left)
    return out
"""
)
#: range_select exists from trn2 on; bounds 0 and 16 select every column.
NOT_ON_TRN1 = (
    HEAD
    + """    low = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    high = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=low, value=0.0)
    nisa.memset(dst=high, value=16.0)
    nisa.tensor_tensor(dst=left, data1=left, data2=right, op=nl.add)
    nisa.range_select(
        dst=right, on_true_tile=left, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low, bound1=high
    )
    nisa.dma_copy(dst=out, src=right)
    return out
"""
)
X, Y = np.full((8, 16), 1, np.float32), np.full((8, 16), 2.0**-10, np.float32)


@pytest.fixture(scope="module")
def workers() -> Iterator[SandboxPool]:
    with SandboxPool(1, choose_level(), ("pipeline.execute.jobs.study",)) as pool:
        yield pool


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TINY_ADD)


def study(workers: SandboxPool, task: Task, source: str, x: np.ndarray = X, y: np.ndarray = Y) -> StudyReply:
    specs = [InputSpec(name, (8, 16), "float32") for name in "xy"]
    program = encode_program(trace(source, "k.py", "kernel", specs, target="trn2"))
    expected = x.astype(np.float64) + y
    return study_program(workers, task, program, [x, y], [expected])


def test_the_line_that_rounds_is_named_and_the_method_is_found_right(workers, task):
    found = study(workers, task, ROUNDED)
    # 1 + 2^-10 is 1 in bfloat16.
    assert [(line.line, line.operation, line.share) for line in found.lines] == [(12, "tensor_tensor", 1.0)]
    assert found.lines[0].rel_l2 == pytest.approx(2.0**-10 / (1 + 2.0**-10), rel=1e-12)
    assert found.exact_rel_l2 == (0.0,)
    assert (found.absent, found.narrow, found.untried) == ("", (), ())


def test_a_wrong_method_is_no_loss_of_precision(workers, task):
    found = study(workers, task, ROUNDED.replace("op=nl.add", "op=nl.subtract"))
    assert found.exact_rel_l2[0] == pytest.approx(2 * 2.0**-10 / (1 + 2.0**-10), rel=1e-12)


def test_other_chips_are_compared_unless_they_refuse_the_program(workers, task):
    assert study(workers, task, ROUNDED).targets == {"trn1": 0.0, "trn3": 0.0}
    assert study(workers, task, NOT_ON_TRN1).targets == {"trn3": 0.0}


def test_chips_that_compute_otherwise_differ(workers, task):
    # A transpose by the tensor engine is a product on trn1, where a NaN spreads over its column.
    source = (
        HEAD
        + """    turned = nl.ndarray((16, 8), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=left, engine=nisa.engine.tensor)
    tile = nl.ndarray((16, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=turned)
    result = nl.ndarray((16, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=result, src=tile)
    return result
"""
    )
    x = X.copy()
    x[0, 0] = np.nan
    specs = [InputSpec(name, (8, 16), "float32") for name in "xy"]
    program = encode_program(trace(source, "k.py", "kernel", specs, target="trn2"))
    found = study_program(workers, task, program, [x, Y], [x.T.astype(np.float64)])
    # Seven ones of 127 in the column of the NaN, or the row of the result, are lost.
    assert found.targets["trn1"] == pytest.approx((7 / 127) ** 0.5)
    assert found.targets["trn3"] == 0.0


@pytest.mark.parametrize("program", [b"", b"\x90", b"no program"])
def test_a_damaged_program_is_absent_with_a_reason(program, workers, task):
    found = study_program(workers, task, program, [X, Y], [X.astype(np.float64)])
    assert found.lines == ()
    assert found.absent


def test_a_worker_that_meets_its_limits_gives_a_reason(workers, task):
    limits = task.limits.model_copy(update={"run_seconds": 1e-4})
    found = study(workers, task.model_copy(update={"limits": limits}), ROUNDED)
    assert found == StudyReply(absent="it took longer than the task allows one draw")


def test_float32_sums_of_bfloat16_values_lose_nothing(workers, task):
    x, y = (a.astype(ml_dtypes.bfloat16).astype(np.float32) for a in (X, Y))
    found = study(workers, task, ROUNDED.replace("dtype=nl.bfloat16", "dtype=nl.float32"), x, y)
    assert found.lines == ()
    assert found.exact_rel_l2 == (0.0,)
