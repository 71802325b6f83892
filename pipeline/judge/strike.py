"""Statements whose evidence does not hold are taken out of a draft before anybody reads them.

A statement falls as a whole. Where one of its citations fails and others hold, the text was still written
with the failed one in mind, and no machine can tell which words rested on it; a statement that is mended
behind the judge's back would be nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.judge.answer import Draft
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.statements import Evidence, check_statement, collect_evidence
from pipeline.types import FeedbackItem, Score, Struck

__all__ = ["Checked", "strike_unsupported"]

#: Problems that an unscored criterion tells; one is enough to look it up.
_TOLD = 2
#: Problems that are kept of one statement; a text of nothing but figures has thousands.
_KEPT = 20


@dataclass(frozen=True, slots=True)
class Checked:
    """A draft after its citations were checked.

    Attributes:
        draft: What is left: struck remarks are gone, struck scores are unscored.
        struck: What was taken out, scores first.
        checked: How many citations were looked up.
    """

    draft: Draft
    struck: tuple[Struck, ...]
    checked: int


def strike_unsupported(
    draft: Draft,
    request: JudgeRequest,
    shown: Sequence[str],
    member: str,
    *,
    evidence: Evidence | None = None,
) -> Checked:
    """Return `draft` without the statements whose evidence does not exist.

    What is left has citations that exist and figures and names that are copied rightly; whether a citation
    supports its claim is not decided here. A remark that fails is gone. A score that fails, or that cites
    nothing for its level, is unscored: a level without evidence would be a guess. A score that is unscored
    already keeps its reason while that holds.

    Args:
        draft: As the judge wrote it.
        request: What the judge was told.
        shown: The code's lines as the judge saw them.
        member: Whose draft it is, as `Struck.member` names it.
        evidence: Collected for both, where several drafts are held to it; None to collect it here.
    """
    if evidence is None:
        evidence = collect_evidence(request, shown)
    struck: list[Struck] = []
    scores = [_check_score(score, evidence, member, struck) for score in draft.scores]
    feedback: list[FeedbackItem] = []
    for number, item in enumerate(draft.feedback, start=1):
        problems = check_statement(item.part, item.text, item.citations, evidence)
        if problems:
            struck.append(_strike(member, f"feedback item {number}", item.text, problems))
        else:
            feedback.append(item)
    checked = sum(len(score.citations) for score in draft.scores)
    checked += sum(len(item.citations) for item in draft.feedback)
    return Checked(Draft(scores=tuple(scores), feedback=tuple(feedback)), tuple(struck), checked)


def _check_score(score: Score, evidence: Evidence, member: str, struck: list[Struck]) -> Score:
    if score.level is None and not score.citations:
        problems = check_statement("next", score.reason, (), evidence)
    else:
        problems = check_statement("score", score.reason, score.citations, evidence)
    if not problems:
        return score
    struck.append(_strike(member, f"score {score.criterion}", score.reason, problems))
    told = "; ".join(problems[:_TOLD])
    return score.model_copy(
        update={
            "level": None,
            "confidence": None,
            "citations": (),
            "reason": f"its evidence did not hold: {told}",
        }
    )


def _strike(member: str, place: str, text: str, problems: Sequence[str]) -> Struck:
    return Struck(member=member, place=place, text=text, problems=tuple(dict.fromkeys(problems))[:_KEPT])
