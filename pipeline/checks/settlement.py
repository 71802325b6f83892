"""What a submission came to, from its stages and its checks together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pipeline.checks.check import Evidence
from pipeline.types import CheckReport, CheckStatus, Verdict

__all__ = ["INTEGRITY_CHECKS", "settle_verdict"]

#: Checks whose failure is a deterministic witness that the answer is not what it looks like.
INTEGRITY_CHECKS: Final = ("authentic", "input_dependence", "inputs_preserved")


def settle_verdict(evidence: Evidence, reports: Iterable[CheckReport]) -> Verdict:
    """Return the verdict on a submission.

    A refusal at admission or a build that did not end well settles it. After that an integrity finding makes
    it ``suspect``, whether its values happened to be right or not: a forged program, an output that no input
    reaches, a forbidden write to an input. Then ``no_device_work``, then the run's verdict.

    Two rules keep a verdict from saying too much. Precision below what the task asks for leaves the verdict
    ``correct`` when the values are within tolerance: that the dtype is refused is for the rubric's gates to
    say. And a wrong answer that rests on operations of undocumented values is ``unsupported``, since nobody
    knows what the device would have given. A stage that never happened is ``infrastructure``.
    """
    if evidence.submission.refusal is not None:
        return evidence.submission.refusal.verdict
    if evidence.build is None:
        return Verdict.INFRASTRUCTURE
    if evidence.build.verdict is not None:
        return evidence.build.verdict
    status = {report.check: report.status for report in reports}
    if any(status.get(check) is CheckStatus.FAILED for check in INTEGRITY_CHECKS):
        return Verdict.SUSPECT
    if status.get("device_work") is CheckStatus.FAILED:
        return Verdict.NO_DEVICE_WORK
    if evidence.run is None:
        return Verdict.INFRASTRUCTURE
    if evidence.run.verdict is Verdict.INCORRECT and any(
        program.fidelity == "unmodelled" for program in evidence.build.programs
    ):
        return Verdict.UNSUPPORTED
    return evidence.run.verdict
