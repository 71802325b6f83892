"""What is missing from an assessment, or wrong with it: all of it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline.review.errors import DeskError
from pipeline.review.material import Settled
from pipeline.types import Answer, Assessment, Criterion, Pick, Revision

__all__ = ["refuse_incomplete", "require_complete_blind", "require_complete_final"]


def require_complete_blind(
    assessment: Assessment,
    settled: Settled,
    picks: Mapping[str, Pick],
    others: Mapping[str, Assessment] | None,
) -> None:
    """Hold a blind assessment to what it must say.

    Args:
        assessment: The assessment.
        settled: What checks settled, and the rubric.
        picks: Where each level comes from, of an adjudication.
        others: What it adjudicates between, as A and B; None for any other review.

    Raises:
        DeskError: ``incomplete``, with everything that is missing or wrong.
    """
    problems = list(_judge(assessment, settled))
    if assessment.feedback is not None:
        problems.append("feedback is written after the blind assessment, when the draft is shown")
    problems += _judge_picks(assessment, settled, picks, others)
    refuse_incomplete(problems)


def require_complete_final(
    assessment: Assessment, settled: Settled, blind: Assessment, revisions: Sequence[Revision]
) -> None:
    """Hold a final assessment to what it must say: each level that changed with its cause.

    Raises:
        DeskError: ``incomplete``, with everything that is missing or wrong.
    """
    problems = list(_judge(assessment, settled))
    if assessment.feedback is not None and any(not item.text.strip() for item in assessment.feedback):
        problems.append("a feedback item has no text")
    problems += _judge_revisions(assessment, settled, blind, revisions)
    refuse_incomplete(problems)


def refuse_incomplete(problems: Sequence[str]) -> None:
    """Refuse, if there are any problems.

    Raises:
        DeskError: ``incomplete``.
    """
    if problems:
        raise DeskError(
            "incomplete", "; ".join(problems), "complete these and send it again; what you wrote is kept"
        )


def _judge(assessment: Assessment, settled: Settled) -> Iterator[str]:
    asked = set(settled.asked)
    for criterion in settled.rubric.criteria:
        if criterion.id in asked:
            yield from _judge_answer(criterion, assessment.answers.get(criterion.id))
        elif criterion.id in assessment.answers:
            yield f"{criterion.title}: a check settled it; object to the check instead"
    known = {criterion.id for criterion in settled.rubric.criteria}
    yield from (
        f"{name[:80]!r} is no criterion of this rubric" for name in assessment.answers if name not in known
    )
    for comment in assessment.comments:
        if not comment.first_line <= comment.last_line <= settled.line_count:
            yield (
                f"lines {comment.first_line} to {comment.last_line} are not in the code,"
                f" which has {settled.line_count}"
            )
        if not comment.text.strip():
            yield f"the comment at line {comment.first_line} has no text"
    for objection in assessment.objections:
        if objection.check not in settled.checks:
            yield f"{objection.check[:80]!r} is no check of this submission"
    if assessment.passed is not None and not assessment.note.strip():
        yield "overruling pass or fail needs a note that says why"


def _judge_answer(criterion: Criterion, answer: Answer | None) -> Iterator[str]:
    offered = [step.level for step in criterion.levels]
    if answer is None:
        yield f"{criterion.title}: no answer yet"
    elif answer.level is None:
        if not answer.reason.strip():
            yield f"{criterion.title}: say why it cannot be judged"
    elif answer.level not in offered:
        yield f"{criterion.title}: level {answer.level} is not offered (choose from {_list(sorted(offered))})"


def _judge_picks(
    assessment: Assessment,
    settled: Settled,
    picks: Mapping[str, Pick],
    others: Mapping[str, Assessment] | None,
) -> Iterator[str]:
    if others is None:
        if picks:
            yield "only an adjudication says whose levels it takes"
        return
    for criterion in settled.rubric.criteria:
        if criterion.id not in settled.asked:
            continue
        pick, answer = picks.get(criterion.id), assessment.answers.get(criterion.id)
        if pick is None:
            yield f"{criterion.title}: say whether A, B or another level holds"
        elif pick.source != "other" and answer is not None:
            taken = others[pick.source].answers.get(criterion.id) if pick.source in others else None
            if taken is None or taken.level != answer.level:
                yield f"{criterion.title}: the level is not the one that {pick.source} gave"
    yield from (
        f"{name[:80]!r} is nothing to pick a level for" for name in picks if name not in settled.asked
    )


def _judge_revisions(
    assessment: Assessment, settled: Settled, blind: Assessment, revisions: Sequence[Revision]
) -> Iterator[str]:
    given = {revision.criterion: revision for revision in revisions}
    if len(given) < len(revisions):
        yield "a criterion has two revisions"
    for criterion in settled.rubric.criteria:
        before, after = blind.answers.get(criterion.id), assessment.answers.get(criterion.id)
        if criterion.id not in settled.asked or before is None or after is None:
            continue
        revision = given.pop(criterion.id, None)
        if before.level == after.level:
            if revision is not None and revision.before != revision.after:
                yield f"{criterion.title}: its level did not change, yet a revision says so"
        elif revision is None:
            yield f"{criterion.title}: say why its level changed"
        elif (revision.before, revision.after) != (before.level, after.level):
            yield f"{criterion.title}: the revision does not match the change"
    for name in given:
        yield f"{name[:80]!r} has nothing to revise"


def _list(levels: Sequence[int]) -> str:
    return ", ".join(map(str, levels))
