"""A batch built by hand: one submission of every standing, one of them as hostile as text can be."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from pipeline.report.collect import Collector, Detail
from pipeline.store import Document, StageRecord, Store
from pipeline.types import (
    Admission,
    AxisConstraint,
    Batch,
    BatchItem,
    BuildResult,
    Case,
    CaseKind,
    CaseResult,
    CheckReport,
    CheckStatus,
    Citation,
    Confidence,
    Criterion,
    Decision,
    Destination,
    ErrorPicture,
    Fact,
    Family,
    Fault,
    FeedbackItem,
    Finding,
    Fingerprint,
    Frozen,
    Grade,
    Grading,
    Inspection,
    Judgment,
    Level,
    Numerics,
    OutputError,
    Overall,
    OverallGrade,
    Owner,
    ProgramSummary,
    Provenance,
    Rejection,
    Review,
    Route,
    Rubric,
    RunResult,
    Score,
    Severity,
    Struck,
    Study,
    Submission,
    Task,
    TensorSpec,
    Tolerance,
    Verdict,
    Vote,
    Work,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BATCH = "b-0123456789abcdef"
ATTACK = "</pre></span><script>alert('owned')</script>"
CODE = "import nki\n\n\ndef scale(x):\n    return 2 * x\n"

TASK = Task(
    id="scale",
    title="Scale a tensor",
    family=Family.NUMERICS,
    rubric="numerical_correctness",
    entry="scale",
    statement="Return twice the input.",
    dialects=("nki",),
    targets=("trn2",),
    toolchain=("0.6",),
    axes={"N": AxisConstraint(maximum=4096)},
    inputs=(TensorSpec(name="x", shape=("N",), dtype="float32"),),
    outputs=(TensorSpec(name="out", shape=("N",), dtype="float32"),),
    cases=(Case(name="plain", kind=CaseKind.CHECK, axes={"N": 128}),),
    numerics=Numerics(rel_l2=1e-5, row_rel_l2=1e-5, elementwise=1e-5, reason="one rounding"),
    work=Work(flops="N", bytes="8*N"),
    reference="",
    starter="",
)
RUBRIC = Rubric(
    id="numerical_correctness",
    version="v7",
    title="Numerical correctness",
    purpose="Whether the numbers are right.",
    criteria=(
        Criterion(
            id="error_margin",
            title="Error margin",
            question="How far below the tolerance is the error?",
            weight=3,
            source="check:error_margin",
            evidence=("run.worst_rel_l2",),
            levels=tuple(Level(level=level, anchor=f"margin anchor {level}") for level in range(5)),
        ),
        Criterion(
            id="explained",
            title="Explained",
            question="Does the author say why?",
            weight=1,
            source="judge",
            evidence=("code",),
            levels=tuple(Level(level=level, anchor=f"explanation anchor {level}") for level in range(5)),
        ),
    ),
    overall=Overall(gates=("correct",), pass_mark=0.7, minimum_scored_weight=0.5),
)
FINGERPRINT = Fingerprint(
    task=TASK.content_hash(),
    rubric=RUBRIC.content_hash(),
    prompt="p",
    judge="rules 1",
    executor="emulator 1",
    target="trn2",
    toolchain="0.6",
    numerics="numpy 2",
    comparison="1",
    checks="1",
    confidence="1",
    policy="gates 1",
    isolated=True,
)
PROGRAM = ProgramSummary(
    axes={"N": 128},
    artifact="0" * 64,
    instructions=3,
    instructions_per_engine={"dma": 2, "vector": 1},
    operations={"dma_copy": 2, "tensor_scalar": 1},
    compute_dtypes=("float32",),
    sbuf_peak_bytes=512,
    psum_peak_bytes=0,
)
ERROR = Fact(
    id="run.worst_rel_l2",
    value=1.25e-7,
    unit="ratio",
    provenance=Provenance.EMULATED,
    case="plain",
    label="Worst relative L2 error",
)


#: Of 128 elements 120 are correctly rounded, 5 within one ulp, 2 within two and one is gross.
PICTURE = ErrorPicture(
    ulp_edges=(0.0, 0.5, 1.0, 2.0, 4.0, math.inf),
    ulp_counts=(120, 5, 2, 0, 1),
    map=((0.0, 0.05, 0.3, 0.3), (0.7, 0.0, 0.0, 2.5)),
    map_shape=(2, 64),
)
STUDY = Study(
    case="plain",
    output="out",
    rel_l2=1.25e-7,
    float32_rel_l2=1e-7,
    bfloat16_rel_l2=4e-3,
    gpu_rel_l2=2e-4,
    picture=PICTURE,
)


def fill(store: Store) -> None:
    """Store one batch of six submissions, one rejection and everything that led to their grades."""
    store.save_documents([_document("task", TASK), _document("rubric", RUBRIC)])
    submissions = {
        "correct": Submission(id="s-correct", task_id="scale", code=CODE),
        "hostile": Submission(
            id="s-hostile", task_id="scale", code=f"# {ATTACK}\nx = '\x1b[31m\u202e'\n", received=ATTACK
        ),
        "syntax": Submission(id="s-syntax", task_id="scale", code="def scale(x:\n"),
        "binary": Submission(
            id="s-binary",
            task_id="scale",
            code="",
            refusal=Admission(verdict=Verdict.COMPILE_ERROR, fault=_fault("binary", "the file is binary")),
        ),
        "held": Submission(id="s-held", task_id="scale", code=CODE + "# held\n"),
        "open": Submission(id="s-open", task_id="scale", code=CODE + "# open\n"),
    }
    store.save_submissions(list(submissions.values()))
    store.save_gradings(
        [Grading(id=f"g-{name}", submission_id=f"s-{name}", fingerprint=FINGERPRINT) for name in submissions]
    )
    store.open_batch(
        Batch(
            id=BATCH,
            opened_at=NOON,
            items=tuple(
                BatchItem(
                    grading_id=f"g-{name}",
                    submission_id=f"s-{name}",
                    origin=f"in/{ATTACK if name == 'hostile' else name}.py",
                )
                for name in submissions
            ),
            rejections=(
                Rejection(origin="in/lost.py", fault=_fault("unknown_task", "its task is not known")),
            ),
        )
    )
    _store_correct(store)
    _store_hostile(store)
    _store_settled(store, "syntax", "compile_error: line 1: '(' was never closed", built=True)
    _store_settled(store, "binary", "the file is binary", built=False)
    store.save_route("g-held", _route(Destination.HOLD, "not graded: the sandbox broke"))
    store.flush()


def decide(store: Store) -> None:
    """Let a person decide the correct submission, and release its grade."""
    store.decide(
        Decision(
            review_id="r-correct",
            reviewer="ada",
            levels={"explained": 2},
            comment=f"Fine. {ATTACK}",
            decided_at=NOON,
        )
    )
    draft = _judgment("correct")
    store.save_grade(
        Grade(
            grading_id="g-correct",
            verdict=Verdict.CORRECT,
            scores=draft.scores,
            overall=draft.overall,
            feedback=draft.feedback,
            decided_by="ada",
            comment="Fine.",
            released_at=NOON,
        )
    )
    store.flush()


def _store_correct(store: Store) -> None:
    run = RunResult(
        verdict=Verdict.CORRECT,
        cases=(
            _case("plain", CaseKind.CHECK, {"N": 128}, "output 'out' agrees", held="sums of 128 terms"),
            _case("secret tail", CaseKind.HIDDEN, {"N": 1009}, "agrees at N 1009", held="sums of 1009 terms"),
        ),
        executor="emulator 1",
        sandbox="bubblewrap",
        study=STUDY,
    )
    inspection = Inspection(
        verdict=Verdict.CORRECT,
        facts=(ERROR,),
        reports=(
            CheckReport(check="correct", status=CheckStatus.PASSED, reason="both case runs are right"),
            CheckReport(check="speed_of_light", status=CheckStatus.UNKNOWN, reason="nothing timed it"),
            CheckReport(
                check="hbm_traffic",
                status=CheckStatus.FAILED,
                reason="reads everything twice",
                findings=(
                    Finding(
                        check="hbm_traffic",
                        severity=Severity.WARNING,
                        message="Line 5 reads x again.",
                        lines=(5,),
                    ),
                ),
            ),
        ),
        sandbox="bubblewrap",
    )
    _store_stages(
        store,
        "correct",
        BuildResult(programs=(PROGRAM,), executor="emulator 1", sandbox="bubblewrap"),
        run,
        inspection,
        _judgment("correct"),
    )
    _wait(store, "correct", "no certificate covers this judge yet")


def _store_hostile(store: Store) -> None:
    fault = _fault("wrong", f"{ATTACK}\x1b[31m")
    judgment = Judgment(
        judge="rules 1",
        scores=(Score(criterion="error_margin", level=0, source="check:error_margin", reason=ATTACK),),
        feedback=(FeedbackItem(part="change", text=ATTACK),),
        overall=OverallGrade(value=0.0, passed=False, reason=ATTACK, scored_weight=0.75),
        struck=(Struck(member="judge m 1", place="feedback item 2", text=ATTACK, problems=(ATTACK,)),),
        findings=(
            Finding(check="judge", severity=Severity.WARNING, message=ATTACK, owner=Owner.JUDGE, lines=(1,)),
        ),
    )
    inspection = Inspection(
        verdict=Verdict.INCORRECT,
        fault=fault,
        reports=(CheckReport(check="correct", status=CheckStatus.FAILED, reason=ATTACK),),
        sandbox="bubblewrap",
    )
    build = BuildResult(programs=(PROGRAM,), log=ATTACK, executor="emulator 1", sandbox="bubblewrap")
    run = RunResult(
        verdict=Verdict.INCORRECT,
        cases=(_case("plain", CaseKind.CHECK, {"N": 128}, ATTACK, Verdict.INCORRECT),),
        executor="emulator 1",
        sandbox="bubblewrap",
    )
    _store_stages(store, "hostile", build, run, inspection, judgment)
    _wait(store, "hostile", f"wrong on the emulator: {ATTACK}")


def _store_settled(store: Store, name: str, message: str, *, built: bool) -> None:
    """Store a grade that facts settled: a compile error."""
    fault = _fault("syntax_error", message)
    inspection = Inspection(
        verdict=Verdict.COMPILE_ERROR,
        fault=fault,
        reports=(CheckReport(check="compiles", status=CheckStatus.FAILED, reason=message),),
        sandbox="bubblewrap" if built else "none",
    )
    judgment = Judgment(
        judge="rules 1",
        scores=(
            Score(
                criterion="error_margin", level=None, source="check:error_margin", reason="it does not run"
            ),
        ),
        feedback=(FeedbackItem(part="change", text="Close the bracket."),),
        overall=OverallGrade(value=0.0, passed=False, reason="gate 'compiles' is closed", scored_weight=0.0),
    )
    build = BuildResult(
        verdict=Verdict.COMPILE_ERROR, fault=fault, executor="emulator 1", sandbox="bubblewrap"
    )
    _store_stages(store, name, build if built else None, None, inspection, judgment)
    store.save_route(f"g-{name}", _route(Destination.ACCEPT, f"settled by facts: {message}"))
    store.save_grade(
        Grade(
            grading_id=f"g-{name}",
            verdict=Verdict.COMPILE_ERROR,
            scores=judgment.scores,
            overall=judgment.overall,
            feedback=judgment.feedback,
            decided_by="gates",
            released_at=NOON,
        )
    )


def _judgment(name: str) -> Judgment:
    fact = Citation(kind="fact", fact="run.worst_rel_l2", value="1.25e-07")
    line = Citation(kind="lines", first_line=5, last_line=5, quote="    return 2 * x")
    return Judgment(
        judge="rules 1",
        scores=(
            Score(
                criterion="error_margin",
                level=4,
                source="check:error_margin",
                reason="far below",
                citations=(fact,),
                confidence=1.0,
            ),
            Score(
                criterion="explained",
                level=None,
                source="judge",
                reason="needs a reader",
                votes=(
                    Vote(member="judge m 1", level=3, confidence=0.5),
                    Vote(member="second n 1", level=None),
                ),
            ),
        ),
        feedback=(
            FeedbackItem(part="works", text="The error is small.", citations=(fact,)),
            FeedbackItem(part="next", text=f"Say why in {name}.", citations=(line,)),
        ),
        overall=OverallGrade(value=1.0, passed=True, reason="reaches the pass mark", scored_weight=0.75),
        usage={"calls": 2},
        citations_checked=7,
    )


def _store_stages(
    store: Store,
    name: str,
    build: BuildResult | None,
    run: RunResult | None,
    inspection: Inspection,
    judgment: Judgment,
) -> None:
    results: dict[str, Frozen | None] = {
        "build": build,
        "run": run,
        "inspect": inspection,
        "judge": judgment,
        "assess": Confidence(value=0.75, reason="three quarters of the weight are scored"),
    }
    for stage, result in results.items():
        if result is not None:
            store.record_stage(
                StageRecord(stage=stage, key=f"k-{name}", output=result.model_dump_json(), seconds=0.1)
            )
    store.link_stages(
        f"g-{name}", {stage: f"k-{name}" for stage, result in results.items() if result is not None}
    )


def _wait(store: Store, name: str, reason: str) -> None:
    store.save_route(f"g-{name}", _route(Destination.REVIEW, reason))
    store.open_review(Review(id=f"r-{name}", grading_id=f"g-{name}", reason=reason, opened_at=NOON))


def _case(
    name: str,
    kind: CaseKind,
    axes: dict[str, int],
    message: str,
    verdict: Verdict = Verdict.CORRECT,
    held: str = "",
) -> CaseResult:
    error = OutputError(
        output="out",
        rel_l2=1e-7,
        worst_row_rel_l2=1e-7,
        worst_elementwise=1e-7,
        worst_index=(0,),
        got="1",
        expected="1",
        tolerance=Tolerance(rel_l2=1e-5, row_rel_l2=1e-5, elementwise=1e-5, derivation=(held,)),
    )
    return CaseResult(
        case=name,
        kind=kind,
        axes=axes,
        seed=0,
        verdict=verdict,
        message=message,
        errors=(error,) if held else (),
    )


def _route(destination: Destination, reason: str) -> Route:
    return Route(destination=destination, reason=reason, policy="gates 1")


def _fault(code: str, message: str) -> Fault:
    return Fault(owner=Owner.SUBMISSION, code=code, message=message, where="kernel.py:1", line=1)


def _document(kind: str, model: Task | Rubric) -> Document:
    return Document(
        kind=kind, id=model.id, version="", sha256=model.content_hash(), text=model.model_dump_json()
    )


def load(store: Store, name: str) -> Detail:
    """Return everything about one of the gradings."""
    return Collector(store).load_detail(store.load_summary(f"g-{name}"))
