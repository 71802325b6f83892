"""Each hazard is seen where it stands, and not in the kernel that avoids it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.precision import HAZARDS, recognise_hazards
from pipeline.execute.shapes import largest_scored_case, tensors_at
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task, load_tasks
from pipeline.types import Solution, Task, Verdict

MARK = "  # here"

#: Hazard to bodies that hold it at the marked lines, and bodies that do the same work without it. `tile` is a
#: float32 (128, 64) tile of the input; `small(dtype)` and `column(dtype)` allocate.
CASES: dict[str, tuple[list[str], list[str]]] = {
    "narrow-running-sum": (
        [
            """
            total = small(nl.bfloat16)
            nisa.memset(dst=total, value=0.0)
            for step in range(4):
                nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)  # here
            """,
            """
            total = column(nl.float16)
            nisa.memset(dst=total, value=0.0)
            for step in range(4):
                part = column(nl.float32)
                nisa.tensor_reduce(dst=part, op=nl.add, data=tile, axis=1)
                nisa.tensor_scalar(dst=total, data=part, op0=nl.add, operand0=0.0)
                nisa.tensor_tensor(dst=total, data1=part, data2=total, op=nl.add)  # here
            """,
        ],
        [
            """
            total = small(nl.float32)
            nisa.memset(dst=total, value=0.0)
            for step in range(4):
                nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
            rounded = small(nl.bfloat16)
            nisa.tensor_copy(dst=rounded, src=total)
            """,
            """
            once = small(nl.bfloat16)
            nisa.memset(dst=once, value=0.0)
            nisa.tensor_tensor(dst=once, data1=once, data2=tile, op=nl.add)
            """,
        ],
    ),
    "downcast-before-reduction": (
        [
            """
            rounded = small(nl.bfloat16)
            nisa.tensor_copy(dst=rounded, src=tile)
            total = column(nl.float32)
            nisa.tensor_reduce(dst=total, op=nl.add, data=rounded, axis=1)  # here
            """,
            """
            rounded = small(nl.float16)
            nisa.activation(dst=rounded, op=nl.tanh, data=tile)
            squares, total = small(nl.float32), column(nl.float32)
            nisa.activation_reduce(
                dst=squares, op=nl.square, data=rounded, reduce_op=nl.add, reduce_res=total
            )  # here
            """,
        ],
        [
            """
            rounded, total = small(nl.bfloat16), column(nl.float32)
            nisa.tensor_copy(dst=rounded, src=tile)
            nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
            """,
            """
            rounded, greatest = small(nl.bfloat16), column(nl.float32)
            nisa.tensor_copy(dst=rounded, src=tile)
            nisa.tensor_reduce(dst=greatest, op=nl.maximum, data=rounded, axis=1)
            """,
        ],
    ),
    "difference-of-squares": (
        [
            """
            squares, squared_sum, total = small(nl.float32), column(nl.float32), column(nl.float32)
            nisa.activation_reduce(
                dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=squared_sum
            )
            nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
            nisa.tensor_scalar(dst=squared_sum, data=squared_sum, op0=nl.multiply, operand0=1 / 64)
            nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=1 / 64)
            squared, variance = column(nl.float32), column(nl.float32)
            nisa.tensor_tensor(dst=squared, data1=total, data2=total, op=nl.multiply)
            nisa.tensor_tensor(dst=variance, data1=squared_sum, data2=squared, op=nl.subtract)  # here
            """,
            """
            squares, squared_sum, total = small(nl.float32), column(nl.float32), column(nl.float32)
            nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
            nisa.tensor_reduce(dst=squared_sum, op=nl.add, data=squares, axis=1)
            nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
            variance = column(nl.float32)
            nisa.scalar_tensor_tensor(
                dst=variance, data=total, op0=nl.multiply, operand0=total,
                op1=nl.subtract, operand1=squared_sum
            )  # here
            """,
        ],
        [
            """
            total, centred, squares = column(nl.float32), small(nl.float32), small(nl.float32)
            nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
            nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=1 / 64)
            nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=total)
            variance = column(nl.float32)
            nisa.activation_reduce(
                dst=squares, op=nl.square, data=centred, reduce_op=nl.add, reduce_res=variance
            )
            """,
        ],
    ),
    "unbounded-exponential": (
        [
            """
            powers, total = small(nl.float32), column(nl.float32)
            nisa.activation(dst=powers, op=nl.exp, data=tile)  # here
            nisa.tensor_reduce(dst=total, op=nl.add, data=powers, axis=1)
            """,
            """
            powers, total = small(nl.float32), column(nl.float32)
            nisa.activation_reduce(
                dst=powers, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total
            )  # here
            """,
        ],
        [
            """
            greatest, powers, total = column(nl.float32), small(nl.float32), column(nl.float32)
            nisa.tensor_reduce(dst=greatest, op=nl.maximum, data=tile, axis=1, negate=True)
            nisa.activation_reduce(
                dst=powers, op=nl.exp, data=tile, bias=greatest, reduce_op=nl.add, reduce_res=total
            )
            """,
            """
            greatest, shifted, total = column(nl.float32), small(nl.float32), column(nl.float32)
            nisa.tensor_reduce(dst=greatest, op=nl.maximum, data=tile, axis=1)
            nisa.tensor_scalar(dst=shifted, data=tile, op0=nl.subtract, operand0=greatest)
            nisa.activation(dst=shifted, op=nl.exp, data=shifted)
            nisa.tensor_reduce(dst=total, op=nl.add, data=shifted, axis=1)
            """,
            """
            gate = small(nl.float32)
            nisa.activation(dst=gate, op=nl.exp, data=tile, scale=-1.0)
            nisa.tensor_scalar(dst=gate, data=gate, op0=nl.add, operand0=1.0)
            """,
        ],
    ),
    "unclipped-float8": (
        [
            """
            eight = small(nl.float8_e4m3)
            nisa.tensor_scalar(dst=eight, data=tile, op0=nl.multiply, operand0=3.0)  # here
            """,
        ],
        [
            """
            eight = small(nl.float8_e4m3)
            nisa.tensor_scalar(
                dst=eight, data=tile, op0=nl.maximum, operand0=-240.0, op1=nl.minimum, operand1=240.0
            )
            """,
        ],
    ),
    "large-integer": (
        [
            """
            whole = small(nl.int32)
            nisa.iota(dst=whole, pattern=[[1, 64]], offset=0, channel_multiplier=64)
            nisa.tensor_scalar(dst=whole, data=whole, op0=nl.multiply, operand0=100003.0)  # here
            """,
        ],
        [
            """
            whole, other = small(nl.int32), small(nl.int32)
            nisa.iota(dst=whole, pattern=[[1, 64]], offset=0, channel_multiplier=64)
            nisa.tensor_tensor(dst=other, data1=whole, data2=whole, op=nl.multiply, engine=nisa.engine.gpsimd)
            """,
        ],
    ),
    "stochastic-rounding": (
        [
            """
            noise, low, high = small(nl.float32), column(nl.float32), column(nl.float32)
            nisa.memset(dst=low, value=-0.001)
            nisa.memset(dst=high, value=0.001)
            nisa.rand2(dst=noise, min=low, max=high)
            rounded = small(nl.bfloat16)
            nisa.tensor_tensor(dst=rounded, data1=tile, data2=noise, op=nl.add)  # here
            """,
        ],
        [
            """
            rounded = small(nl.bfloat16)
            nisa.tensor_tensor(dst=rounded, data1=tile, data2=tile, op=nl.add)
            """,
        ],
    ),
}

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


def small(dtype):
    return nl.ndarray((128, 64), dtype=dtype, buffer=nl.sbuf)


def column(dtype):
    return nl.ndarray((128, 1), dtype=dtype, buffer=nl.sbuf)


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = small(nl.float32)
    nisa.dma_copy(dst=tile, src=x)
"""
TAIL = "    nisa.dma_copy(dst=out, src=tile)\n    return out\n"


def whole(body: str) -> str:
    return HEAD + indent(dedent(body).strip("\n"), "    ") + "\n" + TAIL


def sighted(source: str) -> dict[str, set[int]]:
    program = trace(
        source, "kernel.py", "kernel", [InputSpec("x", (128, 64), "float32")], target="trn3", version="0.6"
    )
    seen: dict[str, set[int]] = {}
    for sighting in recognise_hazards(program):
        seen.setdefault(sighting.hazard, set()).add(sighting.line)
    return seen


def statement_at(source: str, line: int) -> set[int]:
    """The lines of the statement that ends with the marked line: a call is recorded at its first or last."""
    lines = source.splitlines()
    first = line
    while lines[first - 1].strip().startswith((")", "dst=", "op1=")):
        first -= 1
    return set(range(first, line + 1))


HOLDING = [(hazard, body) for hazard, (holding, _) in CASES.items() for body in holding]
AVOIDING = [(hazard, body) for hazard, (_, avoiding) in CASES.items() for body in avoiding]


def ids(cases: list[tuple[str, str]]) -> list[str]:
    return [f"{hazard}-{number}" for number, (hazard, _) in enumerate(cases)]


@pytest.mark.parametrize(("hazard", "body"), HOLDING, ids=ids(HOLDING))
def test_a_hazard_is_seen_at_its_line_and_only_there(hazard: str, body: str) -> None:
    source = whole(body)
    (marked,) = [n for n, line in enumerate(source.splitlines(), 1) if line.endswith(MARK)]
    (line,) = sighted(source)[hazard]
    assert line in statement_at(source, marked)


@pytest.mark.parametrize(("hazard", "body"), AVOIDING, ids=ids(AVOIDING))
def test_the_kernel_that_avoids_it_is_not_accused(hazard: str, body: str) -> None:
    assert hazard not in sighted(whole(body))


def test_every_hazard_has_a_case_and_a_twin() -> None:
    assert CASES.keys() == HAZARDS.keys()
    assert all(holding and avoiding for holding, avoiding in CASES.values())


def hazards_of(task: Task, solution: Solution) -> set[str]:
    axes = largest_scored_case(task).axes
    inputs = [InputSpec(tensor.name, tensor.shape, tensor.dtype) for tensor in tensors_at(task.inputs, axes)]
    target, version = task.targets[0], task.toolchain[0]
    program = trace(solution.code, "kernel.py", task.entry, inputs, target=target, version=version)
    return {sighting.hazard for sighting in recognise_hazards(program)}


def test_the_good_solutions_are_not_accused() -> None:
    good = [
        (task, solution)
        for task in load_tasks(tasks_root()).values()
        for solution in task.solutions
        if solution.expected is Verdict.CORRECT
    ]
    assert [(t.id, s.name, seen) for t, s in good if (seen := hazards_of(t, s))] == []


@pytest.mark.parametrize(
    ("solution", "hazard"),
    [
        ("matmul_tiled/bad_bf16_partial_sums.py", "narrow-running-sum"),
        ("softmax_rows/bad_no_max_subtraction.py", "unbounded-exponential"),
    ],
)
def test_bad_solutions_of_the_shipped_tasks_are_seen_through(solution: str, hazard: str) -> None:
    name, file = solution.split("/")
    task = load_task(tasks_root() / name)
    assert hazard in hazards_of(task, next(s for s in task.solutions if s.name == file))
