"""The rules judge: deterministic, free, offline; the baseline that every later judge is measured against."""

from __future__ import annotations

from pipeline.judge.feedback import write_feedback
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.scoring import grade_overall, score_checks
from pipeline.types import Criterion, Judgment, Score

__all__ = ["RulesJudge"]


class RulesJudge:
    """Scores what facts settle and leaves the rest unscored; reads no code and believes no comment."""

    @property
    def id(self) -> str:
        """Name and version; it has no parameters."""
        return "rules 2"

    @property
    def in_flight(self) -> int:
        """More than there are workers, so that none of these ever waits for a commit."""
        return 32

    @property
    def spending(self) -> None:
        """Nothing, ever."""

    @property
    def stopped(self) -> None:
        """Never: it asks nobody."""

    async def fetch(self) -> bool:
        """Nothing: it never defers."""
        return False

    async def aclose(self) -> None:
        """Nothing to let go of."""

    async def judge(self, request: JudgeRequest) -> Judgment:
        """Return the levels that checks settle, a reason for every other criterion, and feedback."""
        settled = {
            score.criterion: score for score in score_checks(request.rubric, request.reports, request.facts)
        }
        scores = tuple(
            settled.get(criterion.id) or _leave_to_reader(criterion) for criterion in request.rubric.criteria
        )
        overall = grade_overall(request.rubric, scores, request.reports)
        return Judgment(
            judge=self.id,
            scores=scores,
            feedback=write_feedback(request, scores, overall),
            overall=overall,
        )


def _leave_to_reader(criterion: Criterion) -> Score:
    return Score(
        criterion=criterion.id,
        level=None,
        source=criterion.source,
        reason="it needs a reader of the code, and the rules judge reads facts alone",
    )
