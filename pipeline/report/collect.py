"""Everything that the store knows about one grading or one batch, as one value each.

The command line's ``show`` and the batch report both read through here, so that they cannot tell different
stories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from pipeline.store import GradingSummary, ReviewState, StageRecord, Store
from pipeline.types import (
    Batch,
    BuildResult,
    CheckReport,
    CheckStatus,
    Citation,
    Confidence,
    Fact,
    Fault,
    FeedbackItem,
    Fingerprint,
    Frozen,
    Grade,
    Inspection,
    Judgment,
    OverallGrade,
    Route,
    Rubric,
    RunResult,
    Score,
    Submission,
    Task,
)

__all__ = ["Collector", "Detail"]

Model = TypeVar("Model", bound=Frozen)


@dataclass(frozen=True, slots=True)
class Detail:
    """One grading with all that led to it; what has not happened (yet) is None or empty.

    Attributes:
        summary: The grading in one line.
        submission: What was handed in.
        fingerprint: How it was graded.
        task: The task, as it was when the grading was made.
        rubric: The rubric, likewise.
        build: Outcome of tracing.
        run: Outcome of the cases.
        inspection: The verdict, the facts and what the checks say.
        judgment: The draft.
        confidence: How far the draft can be trusted.
        route: Where the grading went, and why.
        reviews: Its places in the queue, with the decisions.
        grade: What was released.
    """

    summary: GradingSummary
    submission: Submission
    fingerprint: Fingerprint
    task: Task | None
    rubric: Rubric | None
    build: BuildResult | None
    run: RunResult | None
    inspection: Inspection | None
    judgment: Judgment | None
    confidence: Confidence | None
    route: Route | None
    reviews: tuple[ReviewState, ...]
    grade: Grade | None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts of the inspection, then those that checks established themselves."""
        if self.inspection is None:
            return ()
        own = (fact for report in self.inspection.reports for fact in report.facts)
        known = {fact.id: fact for fact in (*self.inspection.facts, *own)}
        return tuple(known.values())

    @property
    def scores(self) -> tuple[Score, ...]:
        """The released scores, else the draft's."""
        if self.grade is not None:
            return self.grade.scores
        return self.judgment.scores if self.judgment else ()

    @property
    def overall(self) -> OverallGrade | None:
        """The released overall grade, else the draft's."""
        if self.grade is not None:
            return self.grade.overall
        return self.judgment.overall if self.judgment else None

    @property
    def feedback(self) -> tuple[FeedbackItem, ...]:
        """The released feedback, else the draft's."""
        if self.grade is not None:
            return self.grade.feedback
        return self.judgment.feedback if self.judgment else ()

    @property
    def cited_lines(self) -> tuple[int, ...]:
        """Every line of the code that something points at, 1-based, ascending."""
        lines: set[int] = set()
        for citation in self._citations():
            if citation.kind == "lines" and citation.first_line is not None:
                lines.update(_line_range(citation, self.line_count))
        if self.inspection is not None:
            if self.inspection.fault is not None and self.inspection.fault.line is not None:
                lines.add(self.inspection.fault.line)
            for report in self.inspection.reports:
                for finding in report.findings:
                    lines.update(finding.lines)
        return tuple(sorted(line for line in lines if 1 <= line <= self.line_count))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What went wrong, each once, in the order of the stages."""
        results = (self.submission.refusal, self.build, self.run, self.inspection, self.judgment)
        found = (result.fault for result in results if result is not None)
        return tuple(dict.fromkeys(fault for fault in found if fault is not None))

    @property
    def reports(self) -> tuple[CheckReport, ...]:
        """What the checks say: failures first, then what passed, then what had no evidence."""
        if self.inspection is None:
            return ()
        order = (CheckStatus.FAILED, CheckStatus.PASSED, CheckStatus.UNKNOWN)
        return tuple(sorted(self.inspection.reports, key=lambda report: order.index(report.status)))

    @property
    def line_count(self) -> int:
        """Lines of the code; a last line feed starts no line."""
        code = self.submission.code.removesuffix("\n")
        return code.count("\n") + 1 if code else 0

    def _citations(self) -> Iterator[Citation]:
        for item in self.feedback:
            yield from item.citations
        for score in self.scores:
            yield from score.citations


def _line_range(citation: Citation, line_count: int) -> range:
    first = citation.first_line or 1
    last = citation.last_line if citation.last_line is not None else first
    # A citation is a judge's word: without the bound, lines 1 to 10**12 would fill the memory.
    return range(max(first, 1), min(last, line_count) + 1)


class Collector:
    """Reads gradings out of a store; tasks and rubrics, which many gradings share, are parsed once.

    Args:
        store: Where to read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[str, Frozen | None] = {}

    def load_batch(self, batch_id: str) -> tuple[Batch, tuple[GradingSummary, ...]]:
        """Return a batch and its gradings, in the order of their tasks and origins.

        Raises:
            KeyError: If the store knows no such batch.
        """
        batch = self._store.load_batch(batch_id)
        # One submission can lie in a batch twice, under two names; it is graded once and listed once.
        summaries: dict[str, GradingSummary] = {}
        for summary in self._store.list_gradings(batch_id):
            before = summaries.setdefault(summary.grading_id, summary)
            if before.origin != summary.origin:
                origin = f"{before.origin}, {summary.origin}"
                summaries[summary.grading_id] = before.model_copy(update={"origin": origin})
        ordered = sorted(summaries.values(), key=lambda summary: (summary.task_id, summary.origin))
        return batch, tuple(ordered)

    def load_detail(self, summary: GradingSummary) -> Detail:
        """Return all that is known about the grading that `summary` names."""
        store, grading_id = self._store, summary.grading_id
        grading = store.load_grading(grading_id)
        stages = {stage: store.find_stage(stage, key) for stage, key in store.list_stages(grading_id).items()}
        return Detail(
            summary=summary,
            submission=store.load_submission(grading.submission_id),
            fingerprint=grading.fingerprint,
            task=self._find_document(grading.fingerprint.task, Task),
            rubric=self._find_document(grading.fingerprint.rubric, Rubric),
            build=_parse(stages.get("build"), BuildResult),
            run=_parse(stages.get("run"), RunResult),
            inspection=_parse(stages.get("inspect"), Inspection),
            judgment=_parse(stages.get("judge"), Judgment),
            confidence=_parse(stages.get("assess"), Confidence),
            route=store.load_route(grading_id),
            reviews=tuple(store.list_reviews_of(grading_id)),
            grade=store.load_grade(grading_id),
        )

    def _find_document(self, sha256: str, kind: type[Model]) -> Model | None:
        if sha256 not in self._documents:
            document = self._store.find_document(sha256)
            self._documents[sha256] = kind.model_validate_json(document.text) if document else None
        found = self._documents[sha256]
        return found if isinstance(found, kind) else None


def _parse(record: StageRecord | None, kind: type[Model]) -> Model | None:
    return None if record is None else kind.model_validate_json(record.output)
