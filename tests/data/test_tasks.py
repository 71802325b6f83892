"""The shipped tasks: references agree with independent formulas, and tolerances tell right from wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.cases import judge_case
from pipeline.compare.oracle import Oracle
from pipeline.emulator.dtypes import dtype_named
from pipeline.execute.references import Draw
from pipeline.library.formulas import evaluate_formula, evaluate_shape
from pipeline.library.tasks import load_task
from pipeline.types import Case, CaseKind, CaseResult, Family, Task, Verdict

ROOT = Path(__file__).parents[2] / "data" / "tasks"
TASKS = {folder.name: load_task(folder) for folder in sorted(ROOT.iterdir()) if folder.is_dir()}
#: Those of the tasks themselves: what the battery adds is drawn by the grader.
CASES = [
    (name, case) for name, task in TASKS.items() for case in task.cases if case.kind is not CaseKind.BATTERY
]
every_task = pytest.mark.parametrize("name", TASKS)
every_case = pytest.mark.parametrize(
    ("name", "case"), CASES, ids=[f"{name}-{case.name}" for name, case in CASES]
)


def module(task: Task) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(task.reference, "reference.py", "exec"), namespace)
    return namespace


def draw(task: Task, case: Case, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of `case` as a kernel sees them: rounded to the declared dtypes."""
    described = {"name": case.name, "kind": case.kind.value, "distribution": case.distribution}
    raw = module(task)["make_inputs"](np.random.default_rng(seed), dict(case.axes), described)
    return {spec.name: raw[spec.name].astype(dtype_named(spec.dtype).storage) for spec in task.inputs}


def answer(task: Task, case: Case, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    wide = {name: values.astype(np.float64) for name, values in inputs.items()}
    return dict(module(task)["reference"](wide, dict(case.axes)))


def grade_draw(oracle: Oracle, task: Task, case: Case, seed: int = 0) -> tuple[Draw, dict[str, np.ndarray]]:
    """A draw as grading uses it, with the limits that follow from it, and its inputs by name."""
    found = oracle.draw(task, case, seed)
    assert isinstance(found, Draw), found
    return found, {spec.name: values for spec, values in zip(task.inputs, found.inputs, strict=True)}


def judge(task: Task, case: Case, drawn: Draw, values: np.ndarray) -> CaseResult:
    """Judge `values`, rounded to the output's dtype, as the only output."""
    return judge_case(task, case, 0, [values.astype(dtype_named(task.outputs[0].dtype).storage)], drawn)


def passes(task: Task, case: Case, drawn: Draw, values: np.ndarray) -> bool:
    return judge(task, case, drawn, values).verdict is Verdict.CORRECT


def case_named(task: Task, name: str) -> Case:
    return next(case for case in task.cases if case.name == name)


def test_the_ten_tasks_cover_the_three_families() -> None:
    assert {name: task.family for name, task in TASKS.items()} == {
        "attention": Family.PERFORMANCE,
        "bias_gelu_residual": Family.MIGRATION,
        "cumsum": Family.MIGRATION,
        "fp8_matmul": Family.PERFORMANCE,
        "layernorm": Family.NUMERICS,
        "matmul_tiled": Family.PERFORMANCE,
        "rmsnorm": Family.NUMERICS,
        "rope": Family.MIGRATION,
        "softmax_rows": Family.NUMERICS,
        "transpose": Family.PERFORMANCE,
    }


@every_task
def test_each_task_has_good_solutions_and_one_bad_one_of_each_kind(name: str) -> None:
    expected = [solution.expected for solution in TASKS[name].solutions]
    assert expected.count(Verdict.CORRECT) >= 2
    assert len(expected) - expected.count(Verdict.CORRECT) >= 4
    assert {Verdict.INCORRECT, Verdict.COMPILE_ERROR, Verdict.ILLEGAL_ON_TARGET} <= set(expected)


@every_task
def test_each_task_tests_tails_on_every_tiled_axis(name: str) -> None:
    task = TASKS[name]
    for axis in task.axes:
        assert any(case.axes[axis] % 128 for case in task.cases if case.kind is CaseKind.CHECK)
        assert any(case.axes[axis] % 128 for case in task.cases if case.kind is CaseKind.HIDDEN)
        assert any(case.axes[axis] > 128 for case in task.cases)


@every_task
def test_the_statement_says_every_name_dtype_and_bound_that_is_tested(name: str) -> None:
    task = TASKS[name]
    for spec in (*task.inputs, *task.outputs):
        assert spec.name in task.statement
        assert spec.dtype in task.statement
    for axis, constraint in task.axes.items():
        assert axis in task.statement
        assert str(constraint.maximum) in task.statement


@every_task
def test_the_smallest_traffic_is_each_input_once_and_each_output_once(name: str) -> None:
    task = TASKS[name]
    for case in task.cases:
        moved = sum(
            math.prod(evaluate_shape(spec.shape, case.axes)) * dtype_named(spec.dtype).itemsize
            for spec in (*task.inputs, *task.outputs)
        )
        assert evaluate_formula(task.work.bytes, case.axes) == moved


@every_case
def test_inputs_and_answers_have_their_shapes_and_the_answers_are_finite(name: str, case: Case) -> None:
    task = TASKS[name]
    inputs = draw(task, case)
    for spec in task.inputs:
        assert inputs[spec.name].shape == evaluate_shape(spec.shape, case.axes)
    for spec in task.outputs:
        result = answer(task, case, inputs)[spec.name]
        assert result.shape == evaluate_shape(spec.shape, case.axes)
        assert result.dtype == np.float64
        assert np.isfinite(result).all()


@every_case
def test_the_reference_rounded_to_the_output_dtype_is_itself_correct(name: str, case: Case) -> None:
    task = TASKS[name]
    for seed in range(3):
        answers = answer(task, case, draw(task, case, seed))
        # Without an error analysis the limits are one rounding of the output: the least there can be.
        exact = Draw(inputs=(), expected=tuple(answers[spec.name] for spec in task.outputs))
        result = judge(task, case, exact, exact.expected[0])
        assert result.verdict is Verdict.CORRECT, result.message


def trivial_candidates(
    task: Task, inputs: dict[str, np.ndarray], shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    dtype = dtype_named(task.outputs[0].dtype).storage
    constants = {
        "zeros": np.zeros(shape),
        "ones": np.ones(shape),
        "uniform rows": np.full(shape, 1 / shape[-1]),
    }
    copies = {f"copy of {name}": values for name, values in inputs.items() if values.shape == shape}
    return {name: values.astype(dtype) for name, values in {**constants, **copies}.items()}


@pytest.mark.sandbox
@every_task
def test_no_trivial_candidate_passes_any_scored_or_hidden_case(name: str, shared_oracle: Oracle) -> None:
    task = TASKS[name]
    for case in task.cases:
        if case.kind not in (CaseKind.SCORED, CaseKind.HIDDEN):
            continue
        drawn, inputs = grade_draw(shared_oracle, task, case)
        for candidate, values in trivial_candidates(task, inputs, drawn.expected[0].shape).items():
            assert not passes(task, case, drawn, values), (case.name, candidate)


@pytest.mark.sandbox
@every_task
def test_every_input_matters(name: str, shared_oracle: Oracle) -> None:
    task = TASKS[name]
    (spec,) = task.outputs
    for case in task.cases:
        if case.kind is not CaseKind.SCORED:
            continue
        drawn, inputs = grade_draw(shared_oracle, task, case)
        other = draw(task, case, seed=1)
        for changed in inputs:
            mixed = answer(task, case, {**inputs, changed: other[changed]})[spec.name]
            assert not passes(task, case, drawn, mixed), changed


# References against formulas written another way.


def test_matmul_reference_is_a_sum_of_products() -> None:
    task = TASKS["matmul_tiled"]
    case = Case(name="small", kind=CaseKind.CHECK, axes={"M": 3, "K": 5, "N": 4})
    inputs = draw(task, case)
    out = answer(task, case, inputs)["out"]
    lhs, rhs = inputs["lhsT"].astype(float).tolist(), inputs["rhs"].astype(float).tolist()
    for m in range(3):
        for n in range(4):
            assert out[m, n] == pytest.approx(math.fsum(lhs[k][m] * rhs[k][n] for k in range(5)), rel=1e-14)


@pytest.mark.parametrize("distribution", ["normal", "large", "masked", "constant"])
def test_softmax_reference_is_one_over_a_sum_of_exponential_differences(distribution: str) -> None:
    task = TASKS["softmax_rows"]
    case = Case(name="small", kind=CaseKind.CHECK, axes={"R": 4, "C": 9}, distribution=distribution)
    inputs = draw(task, case)
    out = answer(task, case, inputs)["out"]
    for row, result in zip(inputs["x"].astype(float).tolist(), out.tolist(), strict=True):
        for value, got in zip(row, result, strict=True):
            if value == -math.inf:
                assert got == 0.0
                continue
            # 1 / sum exp(x_j - x_i), with exp(large) taken as infinity: its reciprocal is 0.
            differences = [other - value for other in row]
            total = math.inf if max(differences) > 700 else math.fsum(map(math.exp, differences))
            assert got == pytest.approx(1 / total, rel=1e-12, abs=1e-300)


def test_rmsnorm_reference_divides_by_the_root_mean_square() -> None:
    task = TASKS["rmsnorm"]
    case = Case(name="small", kind=CaseKind.CHECK, axes={"R": 4, "D": 64}, distribution="zero_rows")
    inputs = draw(task, case)
    out = answer(task, case, inputs)["out"]
    gain = inputs["gain"].astype(float).tolist()
    for row, result in zip(inputs["x"].astype(float).tolist(), out.tolist(), strict=True):
        rms = math.sqrt(math.fsum(value * value for value in row) / 64 + 1e-6)
        assert result == pytest.approx(
            [value / rms * g for value, g in zip(row, gain, strict=True)], rel=1e-13
        )
    assert not out[0].any()
    assert not out[3].any()


def test_gelu_reference_agrees_with_the_normal_distribution_function() -> None:
    task = TASKS["bias_gelu_residual"]
    case = Case(name="small", kind=CaseKind.CHECK, axes={"R": 3, "C": 8})
    inputs = draw(task, case)
    x, bias, residual = (inputs[name].astype(float) for name in ("x", "bias", "residual"))
    out = answer(task, case, inputs)["out"]
    for r in range(3):
        for c in range(8):
            z = x[r, c] + bias[c]
            normal = math.erfc(-z / math.sqrt(2)) / 2
            assert out[r, c] == pytest.approx(z * normal + residual[r, c], rel=1e-12, abs=1e-15)


def test_gelu_of_one_is_the_published_value() -> None:
    task = TASKS["bias_gelu_residual"]
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    out = module(task)["reference"]({"x": one, "bias": zero[0], "residual": zero}, {"R": 1, "C": 1})["out"]
    # Phi(1) = 0.8413447460685429 (any table of the normal distribution).
    assert out[0, 0] == pytest.approx(0.8413447460685429, rel=1e-15)


# Tolerances: what the statements call refused is outside, what they call allowed is inside.


@pytest.mark.sandbox
def test_rmsnorm_tells_one_rounding_from_two(shared_oracle: Oracle) -> None:
    task = TASKS["rmsnorm"]
    for case in task.cases:
        if case.kind is not CaseKind.SCORED:
            continue
        drawn, inputs = grade_draw(shared_oracle, task, case)
        gain = inputs["gain"].astype(np.float64)
        once = (drawn.expected[0] / gain).astype(ml_dtypes.bfloat16).astype(np.float64)
        assert not passes(task, case, drawn, once * gain)


@pytest.mark.sandbox
def test_the_tanh_gelu_is_outside_the_tolerance_of_every_case(shared_oracle: Oracle) -> None:
    task = TASKS["bias_gelu_residual"]
    for case in task.cases:
        if case.kind is CaseKind.BATTERY:
            continue  # Near zero and far from it the two functions are the same.
        drawn, inputs = grade_draw(shared_oracle, task, case)
        z = inputs["x"].astype(np.float64) + inputs["bias"]
        tanh = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        assert not passes(task, case, drawn, tanh + inputs["residual"]), case.name


@pytest.mark.sandbox
def test_partial_sums_in_bfloat16_are_outside_the_tolerance_of_matmul(shared_oracle: Oracle) -> None:
    task = TASKS["matmul_tiled"]
    case = case_named(task, "square")
    drawn, inputs = grade_draw(shared_oracle, task, case)
    lhs, rhs = (inputs[name].astype(np.float32) for name in ("lhsT", "rhs"))
    total = np.zeros((512, 512), ml_dtypes.bfloat16)
    for k in range(0, 512, 128):
        total = (total.astype(np.float32) + lhs[k : k + 128].T @ rhs[k : k + 128]).astype(ml_dtypes.bfloat16)
    result = judge(task, case, drawn, total)
    assert result.verdict is Verdict.INCORRECT
    (error,) = result.errors
    assert error.tolerance is not None
    assert error.rel_l2 > 50 * error.tolerance.rel_l2


@pytest.mark.sandbox
def test_sums_in_any_tile_order_are_inside_the_tolerance_of_matmul(shared_oracle: Oracle) -> None:
    task = TASKS["matmul_tiled"]
    for case in task.cases:
        drawn, inputs = grade_draw(shared_oracle, task, case)
        lhs, rhs = (inputs[name].astype(np.float32) for name in ("lhsT", "rhs"))
        order = np.random.default_rng(7).permutation(case.axes["K"])
        total = np.zeros((case.axes["M"], case.axes["N"]), np.float32)
        for k in order:
            total += np.outer(lhs[k], rhs[k])
        result = judge(task, case, drawn, total)
        assert result.verdict is Verdict.CORRECT, result.message
