"""The audit of a task: what keeps a task from telling right from wrong is one line, and the task's fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.compare.audit import audit_task
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.library.tasks import load_task
from pipeline.types import Case, CaseKind, Fault, Numerics, Owner, Task, TaskLimits

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
GOOD = (TINY_ADD / "reference.py").read_text()
DRAW = GOOD.partition("def reference")[0]

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def workers() -> Iterator[SandboxPool]:
    with SandboxPool(1, choose_level(), ("pipeline.execute.jobs.reference",)) as pool:
        yield pool


@pytest.fixture(scope="module")
def task() -> Task:
    """The tiny task, with two of its cases: what is asked here is asked of each case alike."""
    whole = load_task(TINY_ADD)
    cases = tuple(case for case in whole.cases if case.name in ("small", "tail"))
    return whole.model_copy(update={"cases": cases, "numerics": Numerics()})


def audit(workers: SandboxPool, task: Task, **changes: object) -> list[Fault]:
    return audit_task(task.model_copy(update=changes), workers)


def answering(formula: str) -> str:
    """Return a reference that draws x and y and answers with `formula`."""
    return (
        f"import numpy as np\n{DRAW}\n\ndef reference(inputs, axes):\n"
        f"    x, y = inputs['x'], inputs['y']\n    return {{'out': {formula}}}\n"
    )


def test_a_sound_task_has_no_findings(workers: SandboxPool, task: Task) -> None:
    assert audit(workers, task) == []


#: Sources of references that break their contract, and a phrase of what is said.
BROKEN = {
    "raises": (answering("1 / 0"), "ZeroDivisionError"),
    "raises in drawing": (GOOD.replace("shape =", "raise OSError('no file')\n    shape ="), "no file"),
    "answers in another shape": (answering("(x + y)[:, :3]"), "shape"),
    "answers with NaN": (answering("x * np.nan"), "NaN"),
    "answers with another dtype": (answering("np.full(x.shape, 'a')"), "dtype"),
    "answers with nothing": (GOOD.replace('return {"out"', 'return {"result"'), "'out'"),
    "needs more memory than there is": (answering("x + y + np.ones(1 << 28)[0]"), "memory"),
}


@pytest.mark.parametrize(("source", "phrase"), BROKEN.values(), ids=BROKEN)
def test_a_broken_reference_is_the_tasks_fault_in_one_line(
    source: str, phrase: str, workers: SandboxPool, task: Task
) -> None:
    limits = TaskLimits(memory_bytes=64 << 20)
    (fault,) = audit(workers, task, reference=source, limits=limits)
    assert fault.owner is Owner.TASK
    assert phrase in fault.message
    assert "tiny_add" in fault.where
    assert fault.remedy


def test_a_reference_that_answers_otherwise_each_time_is_not_deterministic(
    workers: SandboxPool, task: Task
) -> None:
    source = answering("x + y + np.random.default_rng().random()")
    (fault,) = audit(workers, task, reference=source)
    assert fault.owner is Owner.TASK
    assert "determin" in f"{fault.code} {fault.message}"


def test_inputs_drawn_from_another_generator_are_not_deterministic(workers: SandboxPool, task: Task) -> None:
    source = GOOD.replace("rng.standard_normal(shape),", "__import__('numpy').random.rand(*shape),", 1)
    assert source != GOOD
    (fault,) = audit(workers, task, reference=source)
    assert fault.code == "not_deterministic"
    assert "'x'" in fault.message


def codes(faults: list[Fault]) -> set[str]:
    assert all(fault.owner is Owner.TASK and fault.where and fault.remedy for fault in faults)
    return {fault.code for fault in faults}


def test_an_input_that_changes_no_answer_is_found(workers: SandboxPool, task: Task) -> None:
    (fault,) = [f for f in audit(workers, task, reference=answering("2 * x")) if f.code == "idle_input"]
    assert "'y'" in fault.message


@pytest.mark.parametrize("formula", ["x.sum(axis=-1, keepdims=True) + y", "x + y[:, ::-1]", "np.sort(x) * y"])
def test_an_input_counts_whether_its_order_or_its_values_matter(
    formula: str, workers: SandboxPool, task: Task
) -> None:
    assert "idle_input" not in codes(audit(workers, task, reference=answering(formula)))


def test_an_answer_of_zeros_lets_zeros_pass(workers: SandboxPool, task: Task) -> None:
    faults = audit(workers, task, reference=answering("0 * x * y"))
    never = [fault.message for fault in faults if fault.code == "trivial_never_fails"]
    assert any("zeros" in message for message in never)


def test_limits_wider_than_the_answer_let_trivial_answers_pass(workers: SandboxPool, task: Task) -> None:
    wide = Numerics(rel_l2=2.0, row_rel_l2=2.0, elementwise=10.0, reason="too generous")
    passing = [f.message for f in audit(workers, task, numerics=wide) if f.code == "trivial_passes"]
    assert any("zeros" in message for message in passing)


def test_limits_that_refuse_the_answer_itself_are_found(workers: SandboxPool, task: Task) -> None:
    strict = Numerics(rel_l2=1e-12, row_rel_l2=1e-12, elementwise=1e-12, reason="too strict")
    assert codes(audit(workers, task, numerics=strict)) == {"refuses_its_answer"}


def test_a_reference_that_the_analysis_cannot_follow_is_found_once(workers: SandboxPool, task: Task) -> None:
    source = answering("np.nan_to_num(x + y)")
    (fault,) = audit(workers, task, reference=source)
    assert fault.code == "not_followed"
    assert "nan_to_num()" in fault.message
    assert "[numerics]" in fault.remedy


def test_a_task_that_sets_all_limits_needs_no_analysis(workers: SandboxPool, task: Task) -> None:
    own = Numerics(rel_l2=1e-6, row_rel_l2=1e-6, elementwise=1e-6, reason="one rounding of a sum")
    source = answering("np.nan_to_num(x + y)")
    assert audit(workers, task, reference=source, numerics=own) == []
    some = own.model_copy(update={"elementwise": None})
    assert codes(audit(workers, task, reference=source, numerics=some)) == {"not_followed"}


def test_an_answer_that_is_mostly_rounding_is_ill_conditioned(workers: SandboxPool, task: Task) -> None:
    # float32 keeps 24 bits: of x beside 2**24 nothing is left.
    faults = audit(workers, task, reference=answering("(x + 2.0**24) - 2.0**24 + 1e-3 * y"))
    assert "ill_conditioned" in codes(faults)


def test_an_answer_beyond_the_outputs_dtype_is_found(workers: SandboxPool, task: Task) -> None:
    assert "not_finite" in codes(audit(workers, task, reference=answering("(x + y) * 1e39")))


def test_a_distribution_that_the_task_does_not_know_is_found(workers: SandboxPool, task: Task) -> None:
    slip = Case(name="large", kind=CaseKind.CHECK, axes=task.cases[0].axes, distribution="larg")
    faults = audit(workers, task, cases=(*task.cases, slip))
    assert codes(faults) == {"idle_distribution"}
    assert "'larg'" in faults[0].message
