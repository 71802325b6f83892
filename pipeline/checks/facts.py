"""What is known about a submission, as facts with ids that findings and feedback cite.

Neither names nor sizes of hidden cases stand in a fact: authors read facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from pipeline.checks.check import Evidence
from pipeline.checks.study import read_study
from pipeline.emulator.dtypes import DTYPES
from pipeline.types import (
    BuildResult,
    CaseKind,
    CaseResult,
    Fact,
    OutputError,
    Provenance,
    RunResult,
    Verdict,
)

__all__ = ["collect_facts", "fact_named", "measure_own_error"]

#: Worst last, as `ProgramSummary.fidelity` names them.
_FIDELITIES = ("exact", "approximate", "unmodelled")


@lru_cache(maxsize=8)  # Every check asks for the facts of the same evidence.
def collect_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """Return every fact of the build, the run and the profile, each id once, in that order.

    Build facts are counted on the worst of the traced shapes. Errors are the worst over all cases, seeds and
    outputs, dimensionless; an error that is NaN counts as infinite. What a stage did not establish is absent.
    """
    facts: list[Fact] = []
    if evidence.build is not None and evidence.build.programs:
        facts.extend(_read_build(evidence.build))
    if evidence.run is not None and evidence.run.cases:
        facts.extend(_read_run(evidence.run))
        facts.extend(read_study(evidence.run))
    if evidence.profile is not None:
        facts.extend(evidence.profile.facts)
    return tuple({fact.id: fact for fact in reversed(facts)}.values())[::-1]


def fact_named(facts: Iterable[Fact], name: str) -> Fact | None:
    """Return the fact with id `name`, or None."""
    return next((fact for fact in facts if fact.id == name), None)


def measure_own_error(error: OutputError) -> float | None:
    """Return a kernel's own share of the relative L2 error, over what the tolerance leaves for it.

    Rounding the reference to the output's dtype costs an error that no kernel can avoid. It and the kernel's
    own error are independent, so their squares add: own = sqrt(error**2 - rounding**2), and the tolerance
    leaves sqrt(tolerance**2 - rounding**2). Above 1 the output is wrong; infinite where nothing is left. None
    where no tolerance is recorded, as in what the first releases wrote.
    """
    if error.tolerance is None:
        return None
    own = _remove(error.rel_l2, error.rounding_rel_l2)
    return _over(own, _remove(error.tolerance.rel_l2, error.rounding_rel_l2))


def _remove(error: float, rounding: float) -> float:
    return math.sqrt(max(error * error - rounding * rounding, 0.0)) if math.isfinite(error) else error


def _measure_error(error: OutputError) -> float | None:
    """Return the worst of the three errors of an output, as a multiple of the tolerance it was held to.

    Above 1 the output is wrong. A tolerance of zero demands equality: any error over it is infinite.
    """
    held = error.tolerance
    if held is None:
        return None
    return max(
        _over(error.rel_l2, held.rel_l2),
        _over(error.worst_row_rel_l2, held.row_rel_l2),
        _over(error.worst_elementwise, held.elementwise),
    )


def _over(error: float, tolerance: float) -> float:
    if not math.isfinite(error) or math.isnan(tolerance):
        return math.inf
    if tolerance == 0:
        return 0.0 if error == 0 else math.inf
    return error / tolerance


def _read_build(build: BuildResult) -> Iterator[Fact]:
    programs = build.programs

    def counted(name: str, value: int | str, label: str, unit: str = "") -> Fact:
        return Fact(id=f"build.{name}", value=value, unit=unit, provenance=Provenance.COUNTED, label=label)

    yield counted("shapes", len(programs), "Shapes built")
    yield counted(
        "instructions", max(program.instructions for program in programs), "Instructions, largest shape"
    )
    dtypes = {dtype for program in programs for dtype in program.compute_dtypes}
    if dtypes:
        ordered = sorted(dtypes, key=lambda name: (DTYPES[name].mantissa_bits, name))
        yield counted("compute_dtypes", ", ".join(ordered), "Dtypes of products and sums")
        yield counted("least_precise_dtype", ordered[0], "Least precise of them")
    stored = {dtype for program in programs for dtype in program.stored_dtypes}
    if stored:
        ordered = sorted(stored, key=lambda name: (DTYPES[name].mantissa_bits, name))
        yield counted("stored_dtypes", ", ".join(ordered), "Dtypes of intermediate results")
    unwritten = sorted({name for program in programs for name in program.unwritten})
    yield counted("unwritten_outputs", ", ".join(unwritten) or "none", "Outputs not fully written")
    fidelity = max((program.fidelity for program in programs), key=_FIDELITIES.index)
    yield counted("fidelity", fidelity, "Fidelity of the emulated operations")


def _read_run(run: RunResult) -> Iterator[Fact]:
    provenance = Provenance.MEASURED if run.executor.startswith("trainium") else Provenance.EMULATED

    def seen(name: str, value: float, label: str, case: str | None = None) -> Fact:
        unit = "ratio" if isinstance(value, float) else ""
        return Fact(id=f"run.{name}", value=value, unit=unit, provenance=provenance, case=case, label=label)

    yield seen("cases", len(run.cases), "Case runs")
    yield seen(
        "cases_passed", sum(case.verdict is Verdict.CORRECT for case in run.cases), "Case runs that passed"
    )
    measures: tuple[tuple[str, str, Callable[[OutputError], float | None]], ...] = (
        ("worst_rel_l2", "Worst relative L2 error", lambda error: error.rel_l2),
        ("worst_row_rel_l2", "Worst relative L2 error of a row", lambda error: error.worst_row_rel_l2),
        ("worst_elementwise", "Worst error of an element", lambda error: error.worst_elementwise),
        ("error_over_tolerance", "Worst error over its tolerance", _measure_error),
        (
            "own_error_over_tolerance",
            "Worst error beyond the output's rounding, over what the tolerance leaves for it",
            measure_own_error,
        ),
    )
    for name, label, measure in measures:
        worst = _find_worst(run.cases, measure)
        if worst is not None:
            case, value = worst
            yield seen(name, value, label, None if case.kind is CaseKind.HIDDEN else case.case)


def _find_worst(
    cases: Iterable[CaseResult], measure: Callable[[OutputError], float | None]
) -> tuple[CaseResult, float] | None:
    """Return the case with the largest error and that error; NaN counts as infinite.

    None where an error of any case cannot be measured: what the others show could hide the worst.
    """
    worst: tuple[CaseResult, float] | None = None
    for case in cases:
        for error in case.errors:
            value = measure(error)
            if value is None:
                return None
            if math.isnan(value):
                value = math.inf
            if worst is None or value > worst[1]:
                worst = case, value
    return worst
