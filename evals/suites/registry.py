"""All suites, by name. Each is a module with a `SUITE`; importing one does not run it."""

from __future__ import annotations

from typing import Final

from evals.suites import (
    bias,
    calibration_coverage,
    correctness,
    injection,
    judge_regression,
    master_key,
    redteam,
)
from evals.suites.suite import Suite

__all__ = ["SUITES"]

SUITES: Final[dict[str, Suite]] = {
    module.SUITE.name: module.SUITE
    for module in (
        correctness,
        redteam,
        injection,
        master_key,
        judge_regression,
        bias,
        calibration_coverage,
    )
}
