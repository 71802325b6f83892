"""What the author of a submission is told, in plain words and apart from any format.

Only what concerns the author is in here: no votes, no confidence, nothing that was struck, no name of a
model, a reviewer or a machine, and of a failure of ours no more than that it was ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.checks import CHECKS
from pipeline.judge.citations import split_lines
from pipeline.report.collect import Detail
from pipeline.report.numerals import show_grade
from pipeline.report.precision import Precision, find_precision
from pipeline.report.remarks import Cited, Remark, cite_all, group_by_line, make_remark
from pipeline.types import (
    CheckStatus,
    Criterion,
    Fact,
    OverallGrade,
    Provenance,
    Rubric,
    Score,
    Verdict,
)

__all__ = ["AuthorView", "Level", "compose_author_view"]

_PARTS: Final = {"works": "What works", "change": "What must change", "next": "Next step"}

_VERDICTS: Final[dict[Verdict | None, str]] = {
    None: "It was not graded yet.",
    Verdict.CORRECT: "It is right on every case, the hidden ones included.",
    Verdict.INCORRECT: "It runs, but its results are wrong on at least one case.",
    Verdict.COMPILE_ERROR: "It does not compile.",
    Verdict.ILLEGAL_ON_TARGET: "It compiles, but the chip or its compiler would refuse it.",
    Verdict.RUNTIME_ERROR: "It stops with an error before it has a result.",
    Verdict.TIMEOUT: "It did not end in the time that the task allows.",
    Verdict.TOO_LARGE: "It needs more than a submission to this task may use.",
    Verdict.NO_DEVICE_WORK: "It does none of its work on the device.",
    Verdict.UNSUPPORTED: "We could not judge it: it uses something that our emulator does not know."
    " That is our gap, not yours.",
    Verdict.SUSPECT: "Its results do not come about the way the task asks for, so a person looks at it.",
    Verdict.INFRASTRUCTURE: "We could not grade it: something failed on our side. It costs you nothing.",
}

#: What each origin of a number means to a reader.
_ORIGINS: Final = {
    Provenance.MEASURED: "taken on a device",
    Provenance.MEASURED_IMPORTED: "taken on a device elsewhere and brought in",
    Provenance.MODELLED: "from a formula or a schedule, not from a device",
    Provenance.EMULATED: "from values that were computed on a CPU, not on a device",
    Provenance.COUNTED: "read off the compiled program, and exact for it",
}


@dataclass(frozen=True, slots=True)
class Level:
    """A criterion that was scored.

    Attributes:
        title: What it is called.
        weight: Its share of the rubric's weight, 0..1.
        level: The level given.
        best: The best there is.
        anchor: What one sees at this level.
        reason: Why this one; empty where a reviewer gave it, whose comment stands for all.
        by: Who gave it.
        cited: What the reason rests on.
    """

    title: str
    weight: float
    level: int
    best: int
    anchor: str
    reason: str
    by: str
    cited: tuple[Cited, ...]


@dataclass(frozen=True, slots=True)
class AuthorView:
    """All that one author is told about one submission.

    Attributes:
        task: Title of the task.
        submission: Id of the submission.
        final: Whether the grade is released.
        standing: Draft or final, and who decided.
        drafted: How levels and remarks came about.
        verdict: What the submission came to.
        headline: The overall grade in one sentence.
        decisive: What decides it, one sentence each.
        comment: A reviewer's words; may be empty.
        parts: Remarks by heading, in the order to read them; parts without any are left out.
        levels: Criteria that were scored.
        unscored: Titles of those that were not, with the reason that they share.
        costless: Whether the grade is made of what is scored, so that the rest costs nothing.
        remarks: Remarks and reasons that cite code, by the last line they cite.
        facts: Facts that something cites.
        origins: Origins of those facts, each with what it means.
        lines: The code.
        anchor: Prefix of the ids of lines in a page.
        passed: Whether it passes; None where that is not decided.
        precision: The errors of one output on a case that is not hidden; None where none were studied.
    """

    task: str
    submission: str
    final: bool
    standing: str
    drafted: str
    verdict: str
    headline: str
    decisive: tuple[str, ...]
    comment: str
    parts: dict[str, tuple[Remark, ...]]
    levels: tuple[Level, ...]
    unscored: tuple[tuple[str, str], ...]
    costless: bool
    remarks: dict[int, tuple[Remark, ...]]
    facts: tuple[Fact, ...]
    origins: dict[str, str]
    lines: tuple[str, ...]
    anchor: str
    passed: bool | None
    precision: Precision | None


def compose_author_view(detail: Detail) -> AuthorView:
    """Return what the author of a grading is told; of a grading that was not released, the draft."""
    lines = tuple(split_lines(detail.submission.code.removesuffix("\n"))) if detail.submission.code else ()
    known = {fact.id: fact for fact in detail.facts}
    verdict = detail.grade.verdict if detail.grade else detail.summary.verdict
    parts = {
        title: tuple(
            make_remark(_PARTS[item.part], item, known, len(lines))
            for item in detail.feedback
            if item.part == part
        )
        for part, title in _PARTS.items()
    }
    rows = tuple(_list_levels(detail, known))
    told = [fact for fact in detail.facts if fact.id in set(_list_cited_facts(detail))]
    return AuthorView(
        task=detail.task.title if detail.task else detail.submission.task_id,
        submission=detail.submission.id,
        final=detail.grade is not None,
        standing=_say_standing(detail),
        drafted=_say_drafter(detail),
        verdict=_VERDICTS[verdict],
        headline=_say_overall(detail.overall, detail.rubric, verdict),
        decisive=tuple(_say_decisive(detail, verdict)),
        comment=detail.grade.comment.strip() if detail.grade else "",
        parts={title: remarks for title, remarks in parts.items() if remarks},
        levels=rows,
        unscored=tuple(_list_unscored(detail)),
        costless=detail.overall is None or not detail.overall.closed_gates,
        remarks=group_by_line(detail, known, parts, len(lines)),
        facts=tuple(told),
        origins={
            fact.provenance.value: _ORIGINS[fact.provenance]
            for fact in sorted(told, key=lambda fact: list(_ORIGINS).index(fact.provenance))
        },
        lines=lines,
        anchor=detail.summary.grading_id,
        passed=detail.overall.passed if detail.overall else None,
        precision=find_precision(detail.run),
    )


def _say_standing(detail: Detail) -> str:
    grade = detail.grade
    if grade is not None:
        on = f"{grade.released_at.day} {grade.released_at:%B %Y}"
        if grade.decided_by == "gates":
            return f"Final, released on {on}. Facts decided it."
        if grade.decided_by == "certificate":
            return f"Final, released on {on}. Drafts of this kind were found to agree with expert reviewers."
        return f"Final, released on {on}. A reviewer decided it."
    state = detail.summary.state
    if state == "waiting":
        return "Draft. A person reads it before anything is decided, and may change it."
    if state == "decided":
        return "Draft. A person has decided, and the final grade follows."
    if state == "held":
        return "Not graded yet. We try again; you need not do anything."
    return "Draft. Work on it has not ended."


def _say_drafter(detail: Detail) -> str:
    if detail.judgment is None:
        return ""
    levels = any(score.source == "judge" and score.level is not None for score in detail.judgment.scores)
    # A model that leaves every level open writes remarks all the same.
    if levels or (detail.judgment.usage and detail.judgment.fault is None):
        return "Drafted by a language model; a machine checked that what it cites exists."
    return "Written by rules from checked facts."


def _say_overall(overall: OverallGrade | None, rubric: Rubric | None, verdict: Verdict | None) -> str:
    if overall is None or (overall.value is None and overall.passed is None):
        silent = verdict in (None, Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE)
        return "There is no overall grade." if silent else "There is no overall grade yet."
    word = {True: "Passed", False: "Not passed", None: "Not decided"}[overall.passed]
    if overall.closed_gates:
        return f"{word}."
    mark = f"; {rubric.overall.pass_mark:.2f} passes" if rubric else ""
    value = f", overall {show_grade(overall.value)}" if overall.value is not None else ""
    return f"{word}{value}{mark}."


def _say_decisive(detail: Detail, verdict: Verdict | None) -> Iterator[str]:
    """Yield what the overall grade turns on."""
    overall, rubric = detail.overall, detail.rubric
    if overall is None or rubric is None:
        return
    reports = {report.check: report for report in detail.reports}
    if (
        detail.grade is not None
        and overall.passed is not None
        and overall.passed is not _follow(overall, rubric)
    ):
        yield "A reviewer decided otherwise than the levels alone would; the comment says why."
    changes = " ".join(item.text.lower() for item in detail.feedback if item.part == "change")
    for gate in overall.closed_gates:
        reason = reports[gate].reason if gate in reports else ""
        because = f" ({reason})" if reason and reason.lower() not in changes else ""
        yield f"A requirement is not met, and that decides alone: {_title_of(gate)}{because}."
    if overall.closed_gates:
        return
    if verdict in (Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE, None):
        return
    for gate in rubric.overall.gates:
        if gate in reports and reports[gate].status is CheckStatus.UNKNOWN:
            yield f"We could not decide a requirement: {_title_of(gate)}, because {reports[gate].reason}."
    share = f"{overall.scored_weight:.0%} of the rubric's weight is scored"
    if overall.value is None:
        needed = rubric.overall.minimum_scored_weight
        if overall.scored_weight < needed:
            yield f"{share}; an overall grade needs {needed:.0%}."
        return
    yield f"Every requirement is met. {share}, and the grade is the weighted mean of those levels."


def _follow(overall: OverallGrade, rubric: Rubric) -> bool | None:
    """Return what the levels alone make of a grade."""
    if overall.closed_gates:
        return False
    return None if overall.value is None else overall.value >= rubric.overall.pass_mark


def _title_of(check: str) -> str:
    return CHECKS[check].title if check in CHECKS else check.replace("_", " ")


def _list_levels(detail: Detail, known: dict[str, Fact]) -> Iterator[Level]:
    criteria = detail.rubric.criteria if detail.rubric else ()
    total = sum(criterion.weight for criterion in criteria) or 1.0
    scores = {score.criterion: score for score in detail.scores}
    for criterion in criteria:
        score = scores.get(criterion.id)
        if score is None or score.level is None:
            continue
        reviewed = score.source.startswith("reviewer:")
        yield Level(
            title=criterion.title,
            weight=criterion.weight / total,
            level=score.level,
            best=max(step.level for step in criterion.levels),
            anchor=" ".join(next((s.anchor for s in criterion.levels if s.level == score.level), "").split()),
            # A reviewer's reason names the reviewer where there is no comment.
            reason="" if reviewed else score.reason,
            by=_say_scorer(score),
            cited=cite_all(score.citations, known, len(split_lines(detail.submission.code))),
        )


def _say_scorer(score: Score) -> str:
    if score.source.startswith("reviewer:"):
        return "Decided by a reviewer"
    return "Settled by a check" if score.source.startswith("check:") else "Drafted by a language model"


def _list_unscored(detail: Detail) -> Iterator[tuple[str, str]]:
    scores = {score.criterion: score for score in detail.scores}
    titles: dict[str, list[str]] = {}
    for criterion in detail.rubric.criteria if detail.rubric else ():
        score = scores.get(criterion.id)
        if score is not None and score.level is None:
            titles.setdefault(_say_why_unscored(criterion, score, detail), []).append(criterion.title)
    yield from (("; ".join(sharing), why) for why, sharing in titles.items())


def _say_why_unscored(criterion: Criterion, score: Score, detail: Detail) -> str:
    """Return why a criterion has no level; a judge's own words would tell of its insides."""
    overall, judgment = detail.overall, detail.judgment
    if criterion.check is not None:
        return score.reason
    if overall is not None and overall.closed_gates:
        return "it is looked at once every requirement is met"
    if judgment is not None and judgment.fault is not None:
        return "our draft failed, which is no fault of yours and costs you nothing"
    if judgment is not None and judgment.judge.startswith("rules"):
        return "it needs a reader of the code, and this was written from facts alone"
    return "our draft gave no reason that could be checked, and we do not guess"


def _list_cited_facts(detail: Detail) -> Iterator[str]:
    cited = [item.citations for item in detail.feedback]
    cited += [score.citations for score in detail.scores if score.level is not None]
    yield from (citation.fact for citations in cited for citation in citations if citation.fact is not None)
