"""Small, valid things to store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pipeline.store import StageRecord, Store
from pipeline.types import (
    Batch,
    BatchItem,
    CaseKind,
    CaseResult,
    CheckReport,
    CheckStatus,
    Decision,
    Destination,
    Fact,
    FeedbackItem,
    Finding,
    Fingerprint,
    Grade,
    Grading,
    OutputError,
    OverallGrade,
    Provenance,
    Review,
    Route,
    Score,
    Severity,
    Submission,
    Verdict,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
FINGERPRINT = Fingerprint(
    task="t1",
    rubric="r1",
    prompt="p1",
    judge="rules 1",
    executor="emulator 1",
    target="trn2",
    toolchain="0.3",
    numerics="numpy 2",
    comparison="1",
    checks="1",
    confidence="1",
    policy="gates 1",
    isolated=True,
)
ROUTE = Route(destination=Destination.REVIEW, reason="no certificate covers it", policy="gates 1")


def submission(name: str) -> Submission:
    return Submission(id=f"s-{name}", task_id="matmul_tiled", code=f"# {name}\n")


def grading(name: str) -> Grading:
    return Grading(id=f"g-{name}", submission_id=f"s-{name}", fingerprint=FINGERPRINT)


def batch(name: str, *members: str) -> Batch:
    items = tuple(
        BatchItem(grading_id=f"g-{member}", submission_id=f"s-{member}", origin=f"{member}.py")
        for member in members
    )
    return Batch(id=f"b-{name}", opened_at=NOON, items=items)


def stage(name: str, stage: str = "run") -> StageRecord:
    return StageRecord(
        stage=stage,
        key=f"k-{name}",
        output='{"verdict": "correct", "overall": {"value": 0.75, "passed": true}}',
        seconds=0.25,
        facts=(
            Fact(id="run.worst_rel_l2", value=1e-6, unit="ratio", provenance=Provenance.EMULATED),
            Fact(id="profile.hbm_read_bytes", value=4096, unit="bytes", provenance=Provenance.COUNTED),
        ),
        reports=(
            CheckReport(
                check="legal",
                status=CheckStatus.PASSED,
                reason="nothing that the chip refuses",
                findings=(
                    Finding(
                        check="legal",
                        severity=Severity.INFO,
                        message="uses 64 of 128 partitions",
                        lines=(3, 4),
                        facts=("profile.hbm_read_bytes",),
                    ),
                ),
            ),
        ),
        scores=(Score(criterion="clarity", level=None, source="judge", reason="no judge"),),
        cases=(
            CaseResult(
                case="square",
                kind=CaseKind.CHECK,
                axes={"M": 128},
                seed=0,
                verdict=Verdict.CORRECT,
                message="agrees",
                errors=(
                    OutputError(
                        output="out",
                        rel_l2=1e-6,
                        worst_row_rel_l2=2e-6,
                        worst_elementwise=3e-6,
                        worst_index=(0, 1),
                        got="1.0",
                        expected="1.0",
                    ),
                ),
            ),
        ),
    )


def review(name: str) -> Review:
    return Review(id=f"r-{name}", grading_id=f"g-{name}", reason=ROUTE.reason, opened_at=NOON)


def decision(name: str, reviewer: str = "ada") -> Decision:
    return Decision(
        review_id=f"r-{name}", reviewer=reviewer, levels={"clarity": 3}, comment="fine", decided_at=NOON
    )


def grade(name: str) -> Grade:
    return Grade(
        grading_id=f"g-{name}",
        verdict=Verdict.CORRECT,
        scores=(Score(criterion="clarity", level=3, source="judge", reason="reads well"),),
        overall=OverallGrade(value=0.8, passed=True, reason="above 0.6", scored_weight=1.0),
        feedback=(FeedbackItem(part="works", text="It is right."),),
        decided_by="ada",
        released_at=NOON,
    )


def save_waiting(store: Store, *names: str) -> None:
    """Store everything of gradings that wait for a person, as the graph does."""
    for name in names:
        store.save_submissions([submission(name)])
        store.save_gradings([grading(name)])
        store.record_stage(stage(name))
        store.link_stages(f"g-{name}", {"run": f"k-{name}"})
        store.save_route(f"g-{name}", ROUTE)
        store.open_review(review(name))
        store.flush()


def database(folder: Path) -> Path:
    return folder / "grades.duckdb"
