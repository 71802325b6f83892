"""A submission that patches the recorder from inside: its program is judged as if nobody had checked it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.execute.emulator import EmulatorExecutor
from pipeline.types import BuildResult, Owner, Task, Verdict
from tests.redteam.conftest import GOOD, Shelf

PATCH = """
from math import prod
from msgspec.structs import replace
from pipeline.emulator.frontend.recorder import Recorder
_finish = Recorder.finish
def patch(change):
    Recorder.finish = lambda self, inputs, outputs: change(_finish(self, inputs, outputs))
def tensors(program, change):
    return replace(program, tensors=tuple(change(i, t) for i, t in enumerate(program.tensors)))
def patterns(program, change):
    return replace(program, patterns=tuple(change(p) for p in program.patterns))
def instructions(program, change):
    return replace(program, instructions=tuple(change(i) for i in program.instructions))
"""

#: What is done to the recorded program, the verdict, and the code of the fault.
FORGERIES = {
    "for another chip": ('replace(p, target="trn3")', "suspect", "forged_program"),
    "for another version": ('replace(p, version="0.3")', "suspect", "forged_program"),
    "beyond the end of its tensors": (
        "patterns(p, lambda a: replace(a, offset=a.offset + 1))", "suspect", "forged_program",
    ),
    "before the start of its tensors": (
        "patterns(p, lambda a: replace(a, dims=tuple((-s, c) for s, c in a.dims)))",
        "suspect", "forged_program",
    ),
    "of sizes that are zero": (
        "tensors(p, lambda i, t: replace(t, shape=(0, *t.shape[1:])))", "suspect", "forged_program",
    ),
    "of tensors as large as a disk": (
        "tensors(p, lambda i, t: replace(t, shape=(1 << 40,)))", "too_large", "tensor_elements",
    ),
    "that computes in HBM": (
        'tensors(p, lambda i, t: replace(t, buffer="private_hbm") if t.buffer == "sbuf" else t)',
        "illegal_on_target", "operand-memory",
    ),
    "on engines that cannot": (
        "instructions(p, lambda i: replace(i, engine=(i.engine + 1) % 6))", "illegal_on_target", None,
    ),
    "that writes one element many times": (
        "patterns(p, lambda a: replace(a, dims=tuple((0, c) for _, c in a.dims)))",
        "illegal_on_target", "destination-overlap",
    ),
    "with one partition of everything": (
        'tensors(p, lambda i, t: replace(t, shape=(prod(t.shape), 1)) if t.buffer == "sbuf" else t)',
        "illegal_on_target", None,
    ),
    "that returns memory nobody can read": (
        'tensors(p, lambda i, t: replace(t, buffer="private_hbm") if i in p.outputs else t)',
        "illegal_on_target", "output-buffer",
    ),
    "of another shape than asked for": (
        "tensors(p, lambda i, t: replace(t, shape=(t.shape[1], t.shape[0])) if i in p.outputs else t)",
        "incorrect", "interface",
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_program(forgery: str, build: Callable[[str], BuildResult]) -> None:
    change, verdict, code = FORGERIES[forgery]
    built = build(f"{PATCH}\npatch(lambda p: {change})\n{GOOD}")
    assert built.verdict == Verdict(verdict)
    assert built.fault is not None
    assert built.fault.owner is Owner.SUBMISSION
    assert code is None or built.fault.code == code
    assert built.programs == ()


def test_a_programs_own_names_are_read_nowhere(build: Callable[[str], BuildResult]) -> None:
    change = "tensors(replace(p, instructions=()), lambda i, t: replace(t, name='\\x1b[31m\\n<b>'))"
    built = build(f"{PATCH}\npatch(lambda p: {change})\n{GOOD}")
    assert built.fault is not None
    assert (built.verdict, built.fault.code) == (Verdict.SUSPECT, "substituted_program")
    assert "<b>" not in built.model_dump_json()


def test_the_limit_on_instructions_is_the_tasks(executor: EmulatorExecutor, tiny_add: Task) -> None:
    limits = tiny_add.limits.model_copy(update={"instructions": 100})
    task = tiny_add.model_copy(update={"limits": limits})
    forged = f"{PATCH}\npatch(lambda p: replace(p, instructions=p.instructions * 100))\n{GOOD}"
    built = executor.build(task, forged, target="trn2", toolchain="0.6", artifacts=Shelf())
    assert built.verdict is Verdict.TOO_LARGE
    assert built.fault is not None
    assert built.fault.code == "instructions"
