"""Facts of the numerics study: the kernel's error beside that of other arithmetics, and where it arises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from pipeline.types import CaseKind, Fact, LineError, OutputError, Provenance, RunResult, Study

__all__ = ["LOST_AT", "find_studied", "name_line", "read_study"]

#: Id of the fact that names the line which contributes most, second most, and so on.
LOST_AT: Final = "numerics.lost_at.{}"


def read_study(run: RunResult) -> Iterator[Fact]:
    """Yield the facts of the study of `run`; none where there is no study.

    Errors are relative L2 against the float64 reference, over the output that uses up most of its tolerance.
    A ratio to an arithmetic that makes no error is infinite; where the kernel makes none either, and where an
    arithmetic was not measured, it is absent. Nothing in them tells a hidden case.
    """
    study = run.study
    if study is None:
        return
    hidden = any(case.case == study.case and case.kind is CaseKind.HIDDEN for case in run.cases)

    def emulated(name: str, value: float | str, label: str) -> Fact:
        return Fact(
            id=f"numerics.{name}",
            value=value,
            unit="ratio" if isinstance(value, float) else "",
            provenance=Provenance.EMULATED,
            case=None if hidden else study.case,
            label=label,
        )

    yield emulated("rel_l2", study.rel_l2, f"Relative L2 error of output {study.output}")
    for name, other in (("float32", study.float32_rel_l2), ("bfloat16", study.bfloat16_rel_l2)):
        ratio = _divide(study.rel_l2, other)
        if ratio is not None:
            yield emulated(f"r_ratio_{name}", ratio, f"Error over that of the reference in ideal {name}")
    if math.isfinite(study.gpu_rel_l2):
        label = "Error of a GPU: TF32 operands, float32 sums in chunks, one rounding at the end"
        yield emulated("gpu_rel_l2", study.gpu_rel_l2, label)
    if study.exact_rel_l2 is not None:
        label = "Error of the same program without any rounding: what the method costs"
        yield emulated("exact_rel_l2", study.exact_rel_l2, label)
    for chip, distance in sorted(study.targets.items()):
        label = f"Relative L2 distance of the outputs on {chip} from those here"
        yield emulated(f"target_distance.{chip}", distance, label)
    for place, (line, rank) in enumerate(zip(study.lines, _RANKS, strict=False), 1):
        label = f"Where rounding costs {rank}: line, operation and share of the error"
        yield emulated(f"lost_at.{place}", name_line(line), label)


_RANKS: Final = ("most", "second most", "third most")


def find_studied(run: RunResult, study: Study) -> OutputError | None:
    """Return the error of the output that was studied, with its tolerance; None where it is not recorded.

    A study names its case and not the draw: of several draws it is that with the error that it gives.
    """
    errors = [
        error
        for case in run.cases
        if case.case == study.case
        for error in case.errors
        if error.output == study.output
    ]
    return next((error for error in errors if error.rel_l2 == study.rel_l2), next(iter(errors), None))


def name_line(line: LineError) -> str:
    """Return a line with its operation and its share of the error, e.g. ``line 14, tensor_reduce: 83%``."""
    share = f"{line.share:.0%}" if line.share >= 0.005 else "under 1%"
    return f"line {line.line}, {line.operation}: {share}"


def _divide(error: float, other: float) -> float | None:
    if not math.isfinite(other) or math.isnan(error):
        return None
    if other == 0:
        return None if error == 0 else math.inf
    return error / other
