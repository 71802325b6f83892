"""What the rules judge tells an author: what works, what must change and why, and the next step.

Every sentence is made of findings, reasons and anchors that exist; a number in it is a cited fact. Nothing is
praised without evidence, and nothing is held against the author that is not the author's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pipeline.judge.citations import cite_fact, cite_line
from pipeline.judge.protocol import JudgeRequest
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Citation,
    Criterion,
    FeedbackItem,
    Finding,
    OverallGrade,
    Owner,
    Score,
    Severity,
    Verdict,
)

__all__ = ["write_feedback"]

#: Levels from which on a criterion counts as something that works.
_GOOD = 3


def write_feedback(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> tuple[FeedbackItem, ...]:
    """Return the remarks on one submission: what works, changes by severity, the next step.

    Args:
        request: What the judge was told.
        scores: One per criterion, in the rubric's order.
        overall: Made of `scores`.
    """
    return (
        *_say_what_works(request, scores, overall),
        *_say_what_must_change(request, overall),
        *_say_what_comes_next(request, scores, overall),
    )


def _say_what_works(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> Iterator[FeedbackItem]:
    """Yield what facts witness: checks that the rubric asks about, at a level that deserves saying.

    While a gate is closed only what the gates say is worth saying, such as how many cases pass already.
    """
    levels = {score.source.removeprefix("check:"): score.level for score in scores}
    gates = request.rubric.overall.gates
    for report in request.reports:
        if overall.closed_gates:
            worth_saying = report.check in gates
        else:
            level = levels.get(report.check)
            asked = report.check in gates or level is not None
            worth_saying = report.status is CheckStatus.PASSED and asked and (level is None or level >= _GOOD)
        for finding in report.findings:
            if worth_saying and finding.severity is Severity.INFO:
                yield _remark("works", finding.message, _cite(finding, request))


def _say_what_must_change(request: JudgeRequest, overall: OverallGrade) -> Iterator[FeedbackItem]:
    """Yield every finding against the submission, errors first.

    A warning counts where the rubric asks for its check; while a gate is closed, only from a gate: a legal
    but doubtful instruction may be what makes the answer wrong.
    """
    findings = [
        finding
        for report in request.reports
        for finding in report.findings
        if finding.owner is Owner.SUBMISSION
    ]
    asked = set(request.rubric.overall.gates)
    if not overall.closed_gates:
        asked |= {criterion.check for criterion in request.rubric.criteria if criterion.check is not None}
    said: set[str] = set()
    for severity in (Severity.ERROR, Severity.WARNING):
        for finding in findings:
            if severity is Severity.WARNING and finding.check not in asked:
                continue
            if finding.severity is severity and finding.message not in said:
                said.add(finding.message)
                yield _remark("change", _name_lines(finding) + finding.message, _cite(finding, request))


def _say_what_comes_next(
    request: JudgeRequest, scores: Sequence[Score], overall: OverallGrade
) -> Iterator[FeedbackItem]:
    reports = {report.check: report for report in request.reports}
    if overall.closed_gates:
        closed = reports[overall.closed_gates[0]]
        yield _remark("next", _explain_gate(closed, request), ())
        return
    if overall.value is None and request.verdict.value in ("unsupported", "infrastructure"):
        yield _remark(
            "next",
            f"Nothing for you to do, the grader could not judge your kernel: {overall.reason}",
            (),
        )
        return
    improvable = _find_improvement(request.rubric.criteria, scores)
    if improvable is not None:
        criterion, score = improvable
        anchors = {level.level: level.anchor for level in criterion.levels}
        aim = max(anchors) if criterion.scale is None else (score.level or 0) + 1
        yield _remark(
            "next",
            f"{criterion.title} gains most: it stands at level {score.level} because {score.reason}."
            f" Level {aim} reads: {anchors[aim]}",
            score.citations,
        )
    reasons: dict[str, list[str]] = {}
    for criterion, score in zip(request.rubric.criteria, scores, strict=True):
        if score.level is None:
            reasons.setdefault(score.reason, []).append(criterion.title)
    for reason, titles in reasons.items():
        yield _remark("next", f"Not scored by this judge: {'; '.join(titles)} ({reason})", ())


def _explain_gate(closed: CheckReport, request: JudgeRequest) -> str:
    if closed.check == "compiles" and request.submission.refusal is not None:
        return "Hand in one kernel as plain Python; nothing can be judged before."
    if closed.check == "compiles" and request.verdict is Verdict.RUNTIME_ERROR:
        return "Make it run for every shape that the task allows first; nothing else can be judged before."
    steps = {
        "compiles": "Make it compile for every shape first; nothing else can be judged before.",
        "legal": "Bring it within the target's rules first; the chip's compiler would refuse it as it is.",
        "authentic": "Let the tracer record the kernel; a person looks at this submission.",
        "device_work": "Move the computation into NKI operations first.",
        "input_dependence": "Compute every output from the inputs; a person looks at this submission.",
        "inputs_preserved": "Write results to a tensor of your own; a person looks at this submission.",
        "output_written": "Write the whole output first; its values are looked at after that.",
        "correct": "Make every case right first; how well the kernel is made counts only after that.",
        "compute_precision": "Raise the precision first: within tolerance is not enough where the task names"
        " a dtype.",
    }
    return steps.get(closed.check, f"Mend this first: {closed.reason}")


def _find_improvement(
    criteria: Sequence[Criterion], scores: Sequence[Score]
) -> tuple[Criterion, Score] | None:
    """Return the scored criterion that costs the grade most, or None when every one is at its best."""
    given = {score.criterion: score for score in scores}
    lost: list[tuple[float, Criterion, Score]] = []
    for criterion in criteria:
        score = given.get(criterion.id)
        best = max(level.level for level in criterion.levels)
        if score is not None and score.level is not None and score.level < best:
            lost.append((criterion.weight * (best - score.level) / best, criterion, score))
    if not lost:
        return None
    _, criterion, score = max(lost, key=lambda entry: entry[0])
    return criterion, score


def _cite(finding: Finding, request: JudgeRequest) -> tuple[Citation, ...]:
    known = {fact.id: fact for fact in request.facts}
    lines = (cite_line(request.submission.code, line) for line in finding.lines)
    facts = (cite_fact(known[name]) for name in finding.facts if name in known)
    return (*(citation for citation in lines if citation is not None), *facts)


def _name_lines(finding: Finding) -> str:
    if not finding.lines:
        return ""
    noun = "line" if len(finding.lines) == 1 else "lines"
    return f"{noun} {', '.join(map(str, finding.lines))}: "


def _remark(
    part: Literal["works", "change", "next"], text: str, citations: tuple[Citation, ...]
) -> FeedbackItem:
    sentence = text.strip()
    first = sentence.split(maxsplit=1)[0]
    # A name such as nl.arange stays as it is written.
    if first.isalpha():
        sentence = sentence[0].upper() + sentence[1:]
    if not sentence.endswith((".", "!", "?")):
        sentence += "."
    return FeedbackItem(part=part, text=sentence, citations=citations)
