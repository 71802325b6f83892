"""Evidence made by hand: an honest submission to a small task, and the ways to change one thing about it."""

from __future__ import annotations

from typing import Any

from pipeline.checks import Evidence
from pipeline.types import (
    AxisConstraint,
    BuildResult,
    Case,
    CaseKind,
    CaseResult,
    Fact,
    Family,
    Fault,
    LineError,
    Numerics,
    OutputError,
    Owner,
    Pattern,
    Policy,
    ProfileResult,
    ProgramSummary,
    Provenance,
    RunResult,
    Study,
    Submission,
    Task,
    TensorSpec,
    Tolerance,
    Verdict,
    Work,
)

CODE = "import nki\n\n\n@nki.jit\ndef scale(x):\n    y = load(x)\n    return y\n"

CASES = (
    Case(name="small", kind=CaseKind.CHECK, axes={"M": 128}),
    Case(name="hard", kind=CaseKind.CHECK, axes={"M": 128}, distribution="large"),
    Case(name="big", kind=CaseKind.SCORED, axes={"M": 512}),
    Case(name="secret", kind=CaseKind.HIDDEN, axes={"M": 777}),
    Case(name="battery: impulse", kind=CaseKind.BATTERY, axes={"M": 160}, pattern=Pattern.IMPULSE),
)


def a_task(**changes: Any) -> Task:
    fields: dict[str, Any] = {
        "id": "scale",
        "title": "Scale",
        "family": Family.PERFORMANCE,
        "rubric": "performance_quality",
        "entry": "scale",
        "statement": "Double every element.",
        "dialects": ("nki",),
        "targets": ("trn2",),
        "toolchain": ("0.6.0",),
        "axes": {"M": AxisConstraint(maximum=1024)},
        "inputs": (TensorSpec(name="x", shape=("M",), dtype="float32"),),
        "outputs": (TensorSpec(name="out", shape=("M",), dtype="float32"),),
        "cases": CASES,
        "numerics": Numerics(),
        "work": Work(flops="M", bytes="8*M"),
        "reference": "",
        "starter": "",
        "policy": Policy(),
    }
    return Task(**{**fields, **changes})


def a_program(**changes: Any) -> ProgramSummary:
    fields: dict[str, Any] = {
        "axes": {"M": 128},
        "artifact": "0" * 64,
        "instructions": 3,
        "instructions_per_engine": {"dma": 2, "vector": 1},
        "operations": {"dma_copy": 2, "tensor_scalar": 1},
        "compute_dtypes": ("float32",),
        "sbuf_peak_bytes": 1024,
        "psum_peak_bytes": 0,
    }
    return ProgramSummary(**{**fields, **changes})


def a_build(*programs: ProgramSummary, **changes: Any) -> BuildResult:
    fields: dict[str, Any] = {
        "programs": programs or (a_program(), a_program(axes={"M": 512}), a_program(axes={"M": 777})),
        "executor": "emulator 1",
        "sandbox": "bubblewrap",
    }
    return BuildResult(**{**fields, **changes})


def a_failed_build(verdict: Verdict, message: str = "it failed", **fault: Any) -> BuildResult:
    fields: dict[str, Any] = {"owner": Owner.SUBMISSION, "code": "x", "message": message}
    return BuildResult(
        verdict=verdict, fault=Fault(**{**fields, **fault}), executor="emulator 1", sandbox="bubblewrap"
    )


#: What every output is held to unless a test says otherwise.
HELD = Tolerance(rel_l2=1e-4, row_rel_l2=2e-4, elementwise=1e-3, derivation=("by hand",))


def an_error(
    rel_l2: float = 1e-5,
    row: float = 1e-5,
    elementwise: float = 1e-5,
    rounding: float = 0.0,
    tolerance: Tolerance | None = HELD,
) -> OutputError:
    return OutputError(
        output="out",
        rel_l2=rel_l2,
        worst_row_rel_l2=row,
        worst_elementwise=elementwise,
        worst_index=(3,),
        got="1.0",
        expected="2.0",
        rounding_rel_l2=rounding,
        tolerance=tolerance,
    )


def a_case(name: str, verdict: Verdict = Verdict.CORRECT, message: str = "", **changes: Any) -> CaseResult:
    case = next(case for case in CASES if case.name == name)
    fields: dict[str, Any] = {
        "case": name,
        "kind": case.kind,
        "axes": case.axes,
        "seed": 0,
        "verdict": verdict,
        "message": message,
        "errors": (an_error(),),
    }
    return CaseResult(**{**fields, **changes})


def a_study(**changes: Any) -> Study:
    """Return a study of the smallest case: a precise kernel, whose rounding arises at line 6."""
    fields: dict[str, Any] = {
        "case": "small",
        "output": "out",
        "rel_l2": 1e-5,
        "float32_rel_l2": 5e-6,
        "bfloat16_rel_l2": 4e-3,
        "gpu_rel_l2": 2e-4,
        "exact_rel_l2": 1e-9,
        "targets": {"trn3": 1e-7, "trn1": 0.0},
        "lines": (
            LineError(line=6, operation="tensor_reduce", rel_l2=9e-6, share=0.831),
            LineError(line=5, operation="activation", rel_l2=4e-6, share=0.16),
            LineError(line=7, operation="dma_copy", rel_l2=1e-7, share=0.0001),
        ),
    }
    return Study(**{**fields, **changes})


def a_run(
    *cases: CaseResult,
    verdict: Verdict | None = None,
    executor: str = "emulator 1",
    study: Study | None = None,
) -> RunResult:
    results = cases or tuple(a_case(case.name) for case in CASES)
    worst = next((case.verdict for case in results if case.verdict is not Verdict.CORRECT), Verdict.CORRECT)
    return RunResult(
        verdict=verdict or worst, cases=results, executor=executor, sandbox="bubblewrap", study=study
    )


PROFILE = {
    "hbm_traffic_ratio": (1.0, "ratio"),
    "dma_bytes_per_partition": (4096, "bytes"),
    "matmul_mean_stationary": (128, "elements"),
    "matmul_mean_moving": (512, "elements"),
    "fp32_matmul_share": (0.0, "ratio"),
    "mean_free_size": (512, "elements"),
    "sbuf_peak_bytes": (22937, "bytes"),
    "sbuf_capacity_bytes": (229376, "bytes"),
    "psum_peak_bytes": (2048, "bytes"),
    "psum_capacity_bytes": (16384, "bytes"),
}


def a_profile(**changes: float | None) -> ProfileResult:
    """Return an excellent profile, with facts changed or, where None, left out."""
    values = {name: value for name, (value, _) in PROFILE.items()} | changes
    return ProfileResult(
        facts=tuple(
            Fact(
                id=f"profile.{name}",
                value=value,
                unit=PROFILE[name][1] if name in PROFILE else "ratio",
                provenance=Provenance.COUNTED,
                case="big",
                label=name.replace("_", " "),
            )
            for name, value in values.items()
            if value is not None
        )
    )


def a_submission(**changes: Any) -> Submission:
    return Submission(**{"id": "s-1", "task_id": "scale", "code": CODE, **changes})


def an_honest_answer(**changes: Any) -> Evidence:
    """Return evidence of a right and excellent submission, with stages changed."""
    fields: dict[str, Any] = {
        "task": a_task(),
        "submission": a_submission(),
        "build": a_build(),
        "run": a_run(),
        "profile": a_profile(),
    }
    return Evidence(**{**fields, **changes})
