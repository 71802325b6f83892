"""Whether two people differ, and the decision that final assessments make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from pipeline.judge.scoring import grade_overall
from pipeline.review.material import Settled
from pipeline.types import (
    Answer,
    Assessment,
    Citation,
    Decision,
    FeedbackItem,
    LineComment,
    OverallGrade,
    Score,
)

__all__ = ["find_difference", "grade_assessment", "merge"]

#: From this distance between two levels of one criterion a third person decides.
_TOO_FAR: Final = 2


def find_difference(settled: Settled, finals: Sequence[Assessment]) -> str:
    """Return how final assessments differ too much for a merge; empty where they agree well enough.

    They differ where two levels of one criterion lie two or more apart, or where one passes what another
    fails. Somebody who could not judge differs from nobody.
    """
    for name in settled.asked:
        levels = [level for final in finals if (level := _level(final, name)) is not None]
        if levels and max(levels) - min(levels) >= _TOO_FAR:
            return f"the levels of {name} are {max(levels) - min(levels)} apart"
    if len(_outcomes(settled, finals)) > 1:
        return "one passes what another fails"
    return ""


def merge(
    settled: Settled,
    finals: Sequence[Assessment],
    *,
    review_id: str,
    reviewer: str,
    decided_at: datetime,
    drafted: Callable[[], tuple[FeedbackItem, ...]],
    quote: Callable[[int, int], str],
) -> Decision:
    """Return the decision that `finals` make: of two levels the lower, of one and none the one.

    Where all who said so pass it, or all fail it, the decision does too, also where the lower levels alone
    would turn the result.

    Args:
        settled: What checks settled.
        finals: One final assessment, or several that do not differ.
        review_id: Of the review.
        reviewer: Who decides.
        decided_at: When.
        drafted: Gives the judge's feedback, which line comments are added to.
        quote: Gives lines of the code.
    """
    answers = {name: _merge_answers([final.answers.get(name) for final in finals]) for name in settled.asked}
    merged = Assessment(answers={name: answer for name, answer in answers.items() if answer is not None})
    comment = "\n\n".join(dict.fromkeys(final.note.strip() for final in finals if final.note.strip()))
    passed = _agree(settled, finals, merged)
    if passed is not None and not comment:
        comment = f"{'Every' if len(finals) > 1 else 'The'} review {'passes' if passed else 'fails'} it."
    return Decision(
        review_id=review_id,
        reviewer=reviewer,
        levels={name: answer.level for name, answer in merged.answers.items() if answer.level is not None},
        unjudged={name: answer.reason for name, answer in merged.answers.items() if answer.level is None},
        passed=passed,
        comment=comment[:20_000],
        feedback=_feedback(finals, drafted, quote),
        decided_at=decided_at,
    )


def grade_assessment(settled: Settled, assessment: Assessment) -> OverallGrade:
    """Return the overall grade that an assessment makes, its overruling of pass or fail included."""
    scores = [
        Score(criterion=name, level=answer.level, source="reviewer", reason=answer.reason)
        for name, answer in assessment.answers.items()
    ]
    overall = grade_overall(settled.rubric, (*settled.scores, *scores), settled.reports)
    return overall if assessment.passed is None else overall.model_copy(update={"passed": assessment.passed})


def _level(assessment: Assessment, name: str) -> int | None:
    answer = assessment.answers.get(name)
    return answer.level if answer else None


def _outcomes(settled: Settled, finals: Sequence[Assessment]) -> set[bool]:
    outcomes = (grade_assessment(settled, final).passed for final in finals)
    return {passed for passed in outcomes if passed is not None}


def _merge_answers(answers: Sequence[Answer | None]) -> Answer | None:
    given = [answer for answer in answers if answer is not None]
    levelled = [answer for answer in given if answer.level is not None]
    if levelled:
        return min(levelled, key=lambda answer: answer.level if answer.level is not None else 0)
    if not given:
        return None
    reasons = dict.fromkeys(answer.reason.strip() for answer in given)
    return Answer(level=None, reason="; ".join(reasons)[:2000])


def _agree(settled: Settled, finals: Sequence[Assessment], merged: Assessment) -> bool | None:
    """Return what pass or fail to put over the merged levels; None where they say the same themselves."""
    outcomes = _outcomes(settled, finals)
    if len(outcomes) != 1:
        return None
    (passed,) = outcomes
    return passed if grade_assessment(settled, merged).passed != passed else None


def _feedback(
    finals: Sequence[Assessment],
    drafted: Callable[[], tuple[FeedbackItem, ...]],
    quote: Callable[[int, int], str],
) -> tuple[FeedbackItem, ...] | None:
    """Return the edited feedback and the remarks on lines; None where nobody wrote any."""
    edited = next((final.feedback for final in finals if final.feedback is not None), None)
    remarks = dict.fromkeys(comment for final in finals for comment in final.comments)
    if not remarks:
        return edited
    base = edited if edited is not None else drafted()
    return (*base, *(_remark(comment, quote) for comment in remarks))


def _remark(comment: LineComment, quote: Callable[[int, int], str]) -> FeedbackItem:
    cited = Citation(
        kind="lines",
        first_line=comment.first_line,
        last_line=comment.last_line,
        quote=quote(comment.first_line, comment.last_line),
    )
    return FeedbackItem(part="change", text=comment.text, citations=(cited,))
