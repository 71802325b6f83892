"""How the vocabulary becomes rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import from_json

from pipeline.store.records import Document, GradingSummary, StageRecord
from pipeline.store.transport import Command, Insert, Row
from pipeline.types import (
    Batch,
    CaseResult,
    CheckReport,
    Decision,
    Fact,
    Finding,
    Frozen,
    Grade,
    Grading,
    Review,
    Route,
    Score,
    Submission,
    Verdict,
)

__all__ = [
    "batch_commands",
    "decision_commands",
    "document_commands",
    "grade_commands",
    "grading_commands",
    "read_stage",
    "read_summary",
    "review_commands",
    "route_commands",
    "stage_commands",
    "submission_commands",
]


class _Details(Frozen):
    """The parts of a stage record that also have tables of their own."""

    facts: tuple[Fact, ...]
    reports: tuple[CheckReport, ...]
    scores: tuple[Score, ...]
    cases: tuple[CaseResult, ...]


_VERDICTS = frozenset(str(verdict) for verdict in Verdict)
_SCORES = TypeAdapter(tuple[Score, ...])


def document_commands(documents: Iterable[Document]) -> list[Command]:
    """Return what stores `documents`."""
    return [Insert("documents", [(d.sha256, d.kind, d.id, d.version, d.text) for d in documents])]


def submission_commands(submissions: Iterable[Submission]) -> list[Command]:
    """Return what stores `submissions`."""
    rows = [
        (s.id, s.task_id, str(s.refusal.verdict) if s.refusal else None, s.model_dump_json())
        for s in submissions
    ]
    return [Insert("submissions", cast(list[Row], rows))]


def grading_commands(gradings: Iterable[Grading]) -> list[Command]:
    """Return what stores `gradings`."""
    rows = [(g.id, g.submission_id, g.fingerprint.content_hash(), g.model_dump_json()) for g in gradings]
    return [Insert("gradings", cast(list[Row], rows))]


def batch_commands(batch: Batch) -> list[Command]:
    """Return what stores `batch`, its items and its rejections."""
    items = [
        (batch.id, position, item.grading_id, item.submission_id, item.origin, item.author)
        for position, item in enumerate(batch.items)
    ]
    rejections = [
        (batch.id, position, r.origin, str(r.fault.owner), r.fault.code, str(r.fault))
        for position, r in enumerate(batch.rejections)
    ]
    return _filled(
        Insert("batches", [(batch.id, batch.opened_at, batch.model_dump_json())]),
        Insert("batch_items", cast(list[Row], items)),
        Insert("rejections", cast(list[Row], rejections)),
    )


def stage_commands(record: StageRecord) -> list[Command]:
    """Return what stores `record`: the memo row and, in the same breath, the analysts' rows."""
    verdict, overall, passed = _summarise(record.output)
    details = _Details(
        facts=record.facts, reports=record.reports, scores=record.scores, cases=record.cases
    ).model_dump_json()
    summary = (verdict, overall, passed, _read_confidence(record))
    stage = (record.stage, record.key, record.output, details, record.seconds, *summary)
    facts = (*record.facts, *(fact for report in record.reports for fact in report.facts))
    findings = [finding for report in record.reports for finding in report.findings]

    def rows(values: Iterable[tuple[Any, ...]]) -> list[Row]:
        return [(record.stage, record.key, position, *value) for position, value in enumerate(values)]

    return _filled(
        Insert("facts", rows(_fact_values(fact) for fact in facts)),
        Insert("check_reports", rows((r.check, str(r.status), r.reason) for r in record.reports)),
        Insert(
            "findings",
            rows((f.check, str(f.severity), str(f.owner), f.message, _lines(f), f.facts) for f in findings),
        ),
        Insert(
            "scores",
            rows((s.criterion, s.level, s.source, s.reason, s.confidence) for s in record.scores),
        ),
        Insert("case_results", rows(_case_values(case) for case in record.cases)),
        Insert("stages", [stage]),
    )


def read_stage(row: Row) -> StageRecord:
    """Return the record behind a row of ``stages``."""
    stage, key, output, details, seconds = row[:5]
    parts = _Details.model_validate_json(details)
    return StageRecord(
        stage=stage,
        key=key,
        output=output,
        seconds=seconds,
        facts=parts.facts,
        reports=parts.reports,
        scores=parts.scores,
        cases=parts.cases,
    )


def review_commands(review: Review) -> list[Command]:
    """Return what puts `review` into the queue."""
    row = (
        review.id,
        review.grading_id,
        review.reason,
        review.opened_at,
        review.kind,
        review.model_dump_json(),
    )
    return [Insert("reviews", [row])]


def decision_commands(decision: Decision) -> list[Command]:
    """Return what stores `decision`."""
    row = (
        decision.review_id,
        decision.reviewer,
        decision.passed,
        json.dumps(decision.levels, sort_keys=True),
        decision.comment,
        decision.decided_at,
        decision.model_dump_json(),
    )
    return [Insert("decisions", [row])]


def route_commands(grading_id: str, route: Route) -> list[Command]:
    """Return what stores `route` as the newest of its grading."""
    row = (grading_id, str(route.destination), route.reason, route.policy, route.model_dump_json())
    return [Insert("routes", [row])]


def grade_commands(grade: Grade) -> list[Command]:
    """Return what stores `grade` as the newest of its grading."""
    row = (
        grade.grading_id,
        str(grade.verdict),
        grade.overall.value,
        grade.overall.passed,
        _SCORES.dump_json(grade.scores).decode(),
        grade.model_dump_json(include={"feedback"}),
        grade.decided_by,
        grade.comment,
        grade.model_dump_json(),
    )
    return [Insert("grades", [row])]


def read_summary(row: Row) -> GradingSummary:
    """Return the line about one grading behind a row of a query for summaries."""
    grading, submission, task, origin, author, *standing = row
    state, verdict, overall, passed, destination, reason, review = standing
    return GradingSummary(
        grading_id=grading,
        submission_id=submission,
        task_id=task or "",
        origin=origin or "",
        author=author or "",
        state=state,
        verdict=verdict,
        overall=overall,
        passed=passed,
        destination=destination,
        reason=reason or "",
        review_id=review,
    )


def _filled(*inserts: Insert) -> list[Command]:
    return [insert for insert in inserts if insert.rows]


def _fact_values(fact: Fact) -> tuple[Any, ...]:
    value = fact.value
    number = float(value) if isinstance(value, bool | int | float) else None
    # Facts are many and their values small: what a float prints as is what JSON takes, save NaN and infinity.
    plain = type(value) is int or (type(value) is float and math.isfinite(value))
    return (
        fact.id,
        repr(value) if plain else json.dumps(value),
        number,
        fact.unit,
        str(fact.provenance),
        fact.case,
        fact.label,
    )


def _lines(finding: Finding) -> list[int]:
    # They come out of the submission's process: any integer is possible, and a column has 32 bits.
    return [line for line in finding.lines if 0 < line < 2**31]


def _case_values(case: CaseResult) -> tuple[Any, ...]:
    worst = max((error.rel_l2 for error in case.errors), default=None)
    return case.case, str(case.kind), case.seed, str(case.verdict), case.message, worst


def _read_confidence(record: StageRecord) -> float | None:
    """Return how far the draft can be trusted where that is what `record` is about, 0..1."""
    if record.stage != "assess":
        return None
    output = from_json(record.output)
    value = output.get("value") if isinstance(output, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _summarise(output: str) -> tuple[str | None, float | None, bool | None]:
    """Return the verdict, the overall number and pass or fail that a stage's `output` states, if any."""
    if '"verdict"' not in output and '"overall"' not in output:
        return None, None, None  # Most stages have neither, and parsing costs more than looking.
    value = from_json(output)
    if not isinstance(value, dict):
        return None, None, None
    verdict, overall = value.get("verdict"), value.get("overall")
    number, passed = (
        (overall.get("value"), overall.get("passed")) if isinstance(overall, dict) else (None, None)
    )
    return (
        verdict if verdict in _VERDICTS else None,
        float(number) if isinstance(number, int | float) else None,
        passed if isinstance(passed, bool) else None,
    )
