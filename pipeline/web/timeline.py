"""The history of one review as rows that are only ever added: who did what, when, and by which version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pipeline.report.collect import Detail
from pipeline.report.numerals import show_grade
from pipeline.types import (
    Assessment,
    Claimed,
    Commented,
    Committed,
    Decision,
    DeskEvent,
    Finished,
    Flagged,
    Grade,
    Judgment,
    Planted,
    Purpose,
    Released,
    Reopened,
    Review,
    Revision,
    Score,
    SlotOpened,
    Unblinded,
    hash_text,
)
from pipeline.web.sight import Sight

__all__ = ["LevelLine", "Row", "compose_timeline"]

_RELEASES: Final = {
    "expired": "Lease ran out",
    "skipped": "Skipped",
    "handed_back": "Handed back",
    "taken_back": "Taken back by a lead",
}

_OPENINGS: Final = {
    Purpose.FIRST: "First review opened",
    Purpose.SECOND: "Second review opened",
    Purpose.ADJUDICATION: "Adjudication opened",
    Purpose.GOLD: "Served as a gold item",
    Purpose.NORMING: "Norming place opened",
}

#: Versions that say nothing about what the judge thinks, in the order in which they shape a grading.
_PLAIN_VERSIONS: Final = (
    "task",
    "rubric",
    "executor",
    "target",
    "toolchain",
    "numerics",
    "comparison",
    "checks",
)
_JUDGE_VERSIONS: Final = ("judge", "prompt", "confidence", "policy")


@dataclass(frozen=True, slots=True)
class LevelLine:
    """One criterion's level, as somebody gave it.

    Attributes:
        title: The criterion.
        level: The level, or ``not scored``.
        reason: Why; may be empty.
    """

    title: str
    level: str
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that happened.

    Attributes:
        anchor: Id of the row in the page; it stays the same for good.
        at: When, in UTC; None for what happened before the review was opened.
        who: Who did it.
        title: What happened.
        version: By which version of what.
        lines: More about it, one sentence or pair each.
        levels: The levels that were given.
    """

    anchor: str
    at: datetime | None
    who: str
    title: str
    version: str = ""
    lines: tuple[str, ...] = ()
    levels: tuple[LevelLine, ...] = ()


def compose_timeline(
    detail: Detail,
    review: Review,
    events: Sequence[DeskEvent],
    decision: Decision | None,
    *,
    rubrics: Mapping[str, str],
    viewer: str,
    sight: Sight,
) -> tuple[Row, ...]:
    """Return the rows of a review that `viewer` may see, oldest first; `rubrics` names them by their hash."""
    titles = {criterion.id: criterion.title for criterion in detail.rubric.criteria} if detail.rubric else {}
    timed = [_open_row(review, sight)]
    for event in events:
        if _is_about_gold(event) and not sight.gold:
            continue
        if sight.people or event.actor == viewer:
            timed.append(
                _event_row(event, rubrics, titles, shows_levels=sight.others or event.actor == viewer)
            )
    if sight.others and decision is not None:
        timed.append(_decision_row(decision, titles))
    # A grade that stood alone was released before chance chose it for a review, and shows what it came to.
    if detail.grade is not None and sight.judge and (sight.others or review.kind == "audit"):
        timed.append(_grade_row(detail.grade, titles))
    timed.sort(key=lambda row: row.at or review.opened_at)
    return (*_before(detail, sight, titles), *timed)


def _before(detail: Detail, sight: Sight, titles: Mapping[str, str]) -> Iterator[Row]:
    made = detail.fingerprint
    code = detail.submission.code
    size = f"{code.count(chr(10)) + (not code.endswith(chr(10)))} lines" if code else "no code"
    yield Row(
        "received",
        None,
        "desk",
        "Received",
        detail.submission.id,
        (f"Task {detail.submission.task_id}, {size}",),
    )
    names = _PLAIN_VERSIONS + (_JUDGE_VERSIONS if sight.judge else ())
    versions = tuple(f"{name}: {_shorten(getattr(made, name))}" for name in names)
    isolated = "ran in a sandbox" if made.isolated else "ran without a sandbox"
    verdict = detail.inspection.verdict.value.replace("_", " ") if detail.inspection else "none"
    yield Row(
        "graded",
        None,
        "grader",
        f"Graded: {verdict}",
        f"fingerprint {_shorten(made.content_hash())}" if sight.judge else "",
        (
            *versions,
            isolated,
            *(str(fault) for fault in detail.faults if sight.judge or fault.owner != "judge"),
        ),
    )
    if detail.inspection is not None:
        yield Row(
            "findings",
            None,
            "checks",
            _count_findings(detail),
            _shorten(made.checks),
            tuple(_say_findings(detail)),
        )
    if not sight.judge:
        return
    if detail.judgment is not None:
        yield _draft_row(detail.judgment, titles)
    if detail.route is not None:
        trust = (f"Confidence: {detail.confidence.reason}",) if detail.confidence else ()
        where = detail.route.destination.value.replace("_", " ")
        yield Row(
            "route", None, "policy", f"Routed to {where}", detail.route.policy, (detail.route.reason, *trust)
        )


def _count_findings(detail: Detail) -> str:
    counts: dict[str, int] = {}
    for report in detail.reports:
        counts[report.status.value] = counts.get(report.status.value, 0) + 1
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"Checked: {said}" if said else "Checked"


def _say_findings(detail: Detail) -> Iterator[str]:
    for report in detail.reports:
        for finding in report.findings:
            lines = f" (lines {', '.join(map(str, finding.lines))})" if finding.lines else ""
            yield f"{finding.severity.value}: {finding.check.replace('_', ' ')}: {finding.message}{lines}"


def _is_about_gold(event: DeskEvent) -> bool:
    action = event.action
    return isinstance(action, Planted) or (isinstance(action, SlotOpened) and action.purpose is Purpose.GOLD)


def _draft_row(judgment: Judgment, titles: Mapping[str, str]) -> Row:
    struck = f"{len(judgment.struck)} statements struck" if judgment.struck else ""
    lines = (f"Overall {show_grade(judgment.overall.value)}: {judgment.overall.reason}", struck)
    return Row(
        "draft",
        None,
        "judge",
        "Drafted by the judge",
        judgment.judge,
        tuple(line for line in lines if line),
        tuple(_level_of(score, titles) for score in judgment.scores),
    )


def _open_row(review: Review, sight: Sight) -> Row:
    chance = f"Chance chose it, with probability {review.probability:.2g}" if review.probability else ""
    lines = (chance, review.reason) if sight.judge else ()
    # A gold item was opened long before others in the queue: the date would give it away.
    opened_at = review.opened_at if sight.people else None
    return Row("opened", opened_at, "desk", "Review opened", review.id, tuple(line for line in lines if line))


def _event_row(
    event: DeskEvent, rubrics: Mapping[str, str], titles: Mapping[str, str], *, shows_levels: bool
) -> Row:
    anchor = "e-" + hash_text(event.id)[:12]
    title, version, lines = _say_action(event, rubrics)
    levels: tuple[LevelLine, ...] = ()
    if isinstance(event.action, Committed | Finished):
        if shows_levels:
            levels = _levels_of(event.action.assessment, titles)
            lines = (*lines, *_say_assessment(event.action.assessment))
            if isinstance(event.action, Finished):
                lines = (*lines, *(_say_revision(one, titles) for one in event.action.revisions))
            else:
                picks = event.action.picks.items()
                lines = (
                    *lines,
                    *(
                        f"{titles.get(name, name)}: took {pick.source}, {_readable(pick.cause)}"
                        for name, pick in picks
                    ),
                )
        else:
            lines = (*lines, "The levels are shown once the review is decided.")
    return Row(anchor, event.at, event.actor, title, version, lines, levels)


def _say_action(event: DeskEvent, rubrics: Mapping[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Return title, version and further lines of an event, without any level."""
    place = f"place {event.slot}"
    match event.action:
        case SlotOpened(purpose=purpose, probability=probability, reason=reason):
            chance = f"Drawn with probability {probability:.2g}" if probability is not None else ""
            said = tuple(line for line in (chance, reason) if line)
            return _OPENINGS[purpose], place, said
        case Claimed():
            return "Claimed", place, ()
        case Released(why=why, reason=reason):
            return _RELEASES[why], place, (reason,) if reason else ()
        case Flagged(reason=reason):
            return "Flagged", place, (reason,)
        case Committed(rubric=rubric, seconds=seconds, picks=picks, rubric_change=change):
            title = "Adjudicated" if picks else "Blind assessment committed"
            wish = (f"The rubric should change: {change}",) if change else ()
            made_under = f"rubric {rubrics.get(rubric) or _shorten(rubric)}"
            return title, made_under, (f"{seconds / 60:.1f} active minutes", *wish)
        case Finished(seconds=seconds):
            return "Final assessment", place, (f"{seconds / 60:.1f} active minutes",)
        case Reopened():
            return "Final assessment taken back", place, ()
        case Unblinded(reason=reason):
            return "Told who wrote it", place, (reason,)
        case Planted(levels=levels):
            return ("Made a gold item" if levels else "No gold item any more"), place, ()
        case Commented(text=text):
            return "Remark to colleagues", place, (text,)


def _say_assessment(assessment: Assessment) -> Iterator[str]:
    if assessment.passed is not None:
        yield f"Overruled as {'passed' if assessment.passed else 'not passed'}"
    if assessment.note:
        yield f"Note: {assessment.note}"
    for comment in assessment.comments:
        span = (
            f"{comment.first_line}"
            if comment.first_line == comment.last_line
            else f"{comment.first_line}–{comment.last_line}"
        )
        yield f"Line {span}: {comment.text}"
    for objection in assessment.objections:
        yield f"Objects to {objection.check.replace('_', ' ')}: {objection.reason}"


def _say_revision(revision: Revision, titles: Mapping[str, str]) -> str:
    before, after = (_say_level(level, "cannot judge") for level in (revision.before, revision.after))
    remark = f": {revision.remark}" if revision.remark else ""
    title = titles.get(revision.criterion, revision.criterion)
    return f"{title}: {before} → {after}, {_readable(revision.cause)}{remark}"


def _decision_row(decision: Decision, titles: Mapping[str, str]) -> Row:
    levels = [LevelLine(titles.get(name, name), str(level), "") for name, level in decision.levels.items()]
    levels += [
        LevelLine(titles.get(name, name), "not scored", why) for name, why in decision.unjudged.items()
    ]
    overruled = {True: ("Overruled as passed",), False: ("Overruled as not passed",), None: ()}[
        decision.passed
    ]
    comment = (decision.comment,) if decision.comment else ()
    return Row(
        "decision",
        decision.decided_at,
        decision.reviewer,
        "Decided",
        "",
        (*overruled, *comment),
        tuple(levels),
    )


def _grade_row(grade: Grade, titles: Mapping[str, str]) -> Row:
    passed = {True: "passed", False: "not passed", None: "pass or fail not decided"}[grade.overall.passed]
    return Row(
        "released",
        grade.released_at,
        grade.decided_by,
        f"Released: {show_grade(grade.overall.value)}, {passed}",
        "",
        (grade.overall.reason,),
        tuple(_level_of(score, titles) for score in grade.scores),
    )


def _level_of(score: Score, titles: Mapping[str, str]) -> LevelLine:
    return LevelLine(
        titles.get(score.criterion, score.criterion), _say_level(score.level, "unscored"), score.reason
    )


def _levels_of(assessment: Assessment, titles: Mapping[str, str]) -> tuple[LevelLine, ...]:
    return tuple(
        LevelLine(titles.get(name, name), _say_level(answer.level, "cannot judge"), answer.reason)
        for name, answer in assessment.answers.items()
    )


def _say_level(level: int | None, none: str) -> str:
    return none if level is None else str(level)


def _readable(word: str) -> str:
    return word.replace("_", " ")


def _shorten(text: str) -> str:
    """Return a content hash in a length that people compare; anything else stays."""
    is_hash = len(text) == 64 and all(sign in "0123456789abcdef" for sign in text)
    return text[:12] if is_hash else text
