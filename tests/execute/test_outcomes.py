"""The end of a job becomes a verdict and a fault with the right owner."""

from __future__ import annotations

import pytest

from pipeline.execute import outcomes
from pipeline.execute.sandbox import Outcome, Status
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task
from pipeline.types import Owner, Verdict

TASK = load_task(tasks_root() / "matmul_tiled")

#: What a tracing job that gave no reply came to, whose doing that was.
TRACING = {
    Status.TIMEOUT: (Verdict.TIMEOUT, Owner.SUBMISSION),
    Status.MEMORY: (Verdict.TOO_LARGE, Owner.SUBMISSION),
    Status.OVERSIZED: (Verdict.TOO_LARGE, Owner.SUBMISSION),
    Status.FORGED: (Verdict.SUSPECT, Owner.SUBMISSION),
    Status.SILENT: (Verdict.RUNTIME_ERROR, Owner.SUBMISSION),
    Status.CRASHED: (Verdict.RUNTIME_ERROR, Owner.SUBMISSION),
    # A submission can make our tracer raise, and so can a defect of ours: a person has to look.
    Status.FAILED: (Verdict.UNSUPPORTED, Owner.GRADER),
}

#: The same for a job that executes a program: trusted code, so only limits are the program's doing.
EXECUTING = {
    Status.TIMEOUT: (Verdict.TIMEOUT, Owner.SUBMISSION),
    Status.MEMORY: (Verdict.TOO_LARGE, Owner.SUBMISSION),
    Status.OVERSIZED: (Verdict.TOO_LARGE, Owner.SUBMISSION),
    Status.FORGED: (Verdict.INFRASTRUCTURE, Owner.GRADER),
    Status.SILENT: (Verdict.INFRASTRUCTURE, Owner.GRADER),
    Status.CRASHED: (Verdict.INFRASTRUCTURE, Owner.GRADER),
    Status.FAILED: (Verdict.INFRASTRUCTURE, Owner.GRADER),
}


def test_every_way_to_end_without_a_reply_is_explained() -> None:
    assert TRACING.keys() == EXECUTING.keys() == set(Status) - {Status.OK}


@pytest.mark.parametrize("status", TRACING)
def test_a_tracing_job_without_a_reply(status: Status) -> None:
    verdict, fault = outcomes.explain_submission(Outcome(status=status, message="ended", signal=11), TASK)
    assert (verdict, fault.owner) == TRACING[status]
    assert "\n" not in str(fault)
    assert fault.remedy


@pytest.mark.parametrize("status", EXECUTING)
def test_an_executing_job_without_a_reply(status: Status) -> None:
    verdict, fault = outcomes.explain_execution(Outcome(status=status, message="ended", signal=11), TASK)
    assert (verdict, fault.owner) == EXECUTING[status]
    assert "\n" not in str(fault)
    assert fault.remedy
