"""The language is decided on the text: patching its rules away in its own process helps no submission."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipeline.checks import CHECKS, Evidence
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.types import BuildResult, CheckStatus, Owner, Severity, Submission, Task, Verdict
from tests.redteam.conftest import GOOD, Shelf
from tests.redteam.test_forged_programs import PATCH

BLIND = "import sys\nsys.modules['pipeline.emulator.frontend.trace'].check_kernel = lambda *_: None\n"
RESULT = "    return out"
#: The compiler takes neither; they compute nothing, so the program is that of the good kernel.
REFUSED = GOOD.replace(RESULT, f"    try:\n        pass\n    finally:\n        del left\n{RESULT}")
TRY, DEL = 15, 18


def speak(task: Task, build: BuildResult, check: str) -> tuple[CheckStatus, set[tuple[int, ...]]]:
    submission = Submission(id="s-1", task_id=task.id, code="")
    report = CHECKS[check].inspect(Evidence(task=task, submission=submission, build=build))
    return report.status, {finding.lines for finding in report.findings}


def test_the_honest_frontend_and_the_text_say_the_same(
    build: Callable[[str], BuildResult], tiny_add: Task
) -> None:
    built = build(REFUSED)
    assert built.verdict is Verdict.COMPILE_ERROR
    assert built.fault is not None
    assert built.fault.line == TRY
    assert speak(tiny_add, built, "compiles") == (CheckStatus.FAILED, {(TRY,)})
    assert speak(tiny_add, built, "language_subset") == (CheckStatus.FAILED, {(TRY,), (DEL,)})


def test_a_patched_frontend_cannot_make_the_compiler_take_it(build: Callable[[str], BuildResult]) -> None:
    built = build(BLIND + REFUSED)
    assert built.verdict is Verdict.COMPILE_ERROR
    assert built.programs == ()
    assert built.fault is not None
    assert built.fault.owner is Owner.SUBMISSION
    assert built.fault.line == TRY + BLIND.count("\n")


@pytest.mark.parametrize("error", ["ZeroDivisionError()", "MemoryError()", "SystemExit(0)"])
def test_nor_can_another_error_that_it_raises(error: str, build: Callable[[str], BuildResult]) -> None:
    built = build(f"{BLIND}{REFUSED.replace('    out = ', f'    raise {error}; out = ', 1)}")
    assert built.verdict is Verdict.COMPILE_ERROR


def test_a_forged_program_is_said_before_its_text_is_blamed(build: Callable[[str], BuildResult]) -> None:
    built = build(f"{BLIND}{PATCH}\npatch(lambda p: replace(p, target='trn3'))\n{REFUSED}")
    assert built.verdict is Verdict.SUSPECT


def test_an_error_that_came_before_the_kernel_is_kept(build: Callable[[str], BuildResult]) -> None:
    built = build(f"import neuronxcc.nki as old\n{REFUSED}")
    assert built.fault is not None
    assert (built.verdict, built.fault.line) == (Verdict.COMPILE_ERROR, 1)
    assert "neuronxcc" in built.fault.message


def test_what_the_compiler_may_refuse_is_told_once_and_builds(
    build: Callable[[str], BuildResult], tiny_add: Task
) -> None:
    built = build(GOOD.replace(RESULT, f"    (lambda: 0)\n{RESULT}"))
    assert built.verdict is None
    (advice,) = [finding for finding in built.findings if finding.check == "language_subset"]
    assert (advice.severity, advice.lines) == (Severity.WARNING, (TRY,))
    assert speak(tiny_add, built, "language_subset") == (CheckStatus.PASSED, {(TRY,)})


def test_trn1_is_said_to_be_outside_of_what_nki_documents(executor: EmulatorExecutor, tiny_add: Task) -> None:
    built = executor.build(tiny_add, GOOD, target="trn1", toolchain="0.6", artifacts=Shelf())
    assert built.verdict is None
    (said,) = [finding for finding in built.findings if "trn1" in finding.message]
    assert said.severity is Severity.WARNING
    status, _ = speak(tiny_add, built, "legal")
    assert status is CheckStatus.PASSED
