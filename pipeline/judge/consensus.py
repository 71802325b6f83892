"""What a panel says together: one level per criterion, how far members lie apart, and whose words are used.

Every role has one vote, the middle of its own samples, so that many cheap samples never outvote the model
that was asked because they differed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low

from pipeline.judge.answer import Draft
from pipeline.types import Criterion, Rubric, Score, Struck, Vote

__all__ = ["Member", "agree", "choose_speaker", "find_dissent"]


@dataclass(frozen=True, slots=True)
class Member:
    """One answer of the panel, after its citations were checked.

    Attributes:
        role: ``judge``, ``second`` or ``arbiter``.
        name: Role, model and sample.
        draft: What is left of its answer.
        struck: What was taken out of it.
        checked: Citations that were looked up.
    """

    role: str
    name: str
    draft: Draft
    struck: tuple[Struck, ...]
    checked: int


def agree(members: Sequence[Member], rubric: Rubric) -> tuple[Score, ...]:
    """Return one score per criterion that a judge scores, in the rubric's order.

    The level is the lower median over the roles of each role's lower median: where the evidence leaves two
    levels, the lower one, as the rubric's readers are told. A role that mostly left it unscored votes for
    leaving it so, and half of such votes do. The reason and its citations are those of the last role's
    member that chose this level, the surest first. The confidence is that of the members who chose it, on
    average, times their share of all members.
    """
    return tuple(
        _agree_on(criterion, members) for criterion in rubric.criteria if criterion.source == "judge"
    )


def find_dissent(members: Sequence[Member], rubric: Rubric) -> list[str]:
    """Return the criteria on which the roles so far differ, unscored against scored included."""
    dissent = []
    for criterion in rubric.criteria:
        if criterion.source == "judge" and len(set(_role_levels(criterion.id, members).values())) > 1:
            dissent.append(criterion.id)
    return dissent


def choose_speaker(members: Sequence[Member], scores: Iterable[Score]) -> Member:
    """Return the member whose feedback is used: nearest to the agreed levels, then the last role asked.

    Raises:
        ValueError: If there is no member.
    """
    agreed = {score.criterion: score.level for score in scores}
    return min(
        reversed(members),
        key=lambda member: (not member.draft.feedback, _distance(member, agreed), len(member.struck)),
    )


def _agree_on(criterion: Criterion, members: Sequence[Member]) -> Score:
    given = [(member, _score_of(member, criterion.id)) for member in members]
    votes = tuple(
        Vote(member=member.name, level=score.level, confidence=score.confidence) for member, score in given
    )
    level = _middle(_role_levels(criterion.id, members).values())
    agreeing = [score for _, score in given if score.level == level]
    if not agreeing:
        # Roles that differ about scoring at all can settle on none that any single member chose.
        agreeing = [score for _, score in given if score.level is None]
    # The last role was asked because the earlier ones were unsure: of two equal answers its words are used.
    last = next(member.role for member, score in reversed(given) if score in agreeing)
    own = [score for member, score in given if member.role == last and score in agreeing]
    chosen = max(own, key=lambda score: score.confidence or 0.0)
    confidence = None
    if level is not None:
        sure = math.fsum(score.confidence or 0.0 for score in agreeing) / len(agreeing)
        confidence = round(sure * len(agreeing) / len(given), 6)
    return chosen.model_copy(
        update={
            "level": level,
            "confidence": confidence,
            "votes": votes,
            "citations": chosen.citations if level is not None else (),
        }
    )


def _role_levels(criterion: str, members: Sequence[Member]) -> dict[str, int | None]:
    by_role: dict[str, list[int | None]] = {}
    for member in members:
        by_role.setdefault(member.role, []).append(_score_of(member, criterion).level)
    return {role: _middle(levels) for role, levels in by_role.items()}


def _middle(levels: Iterable[int | None]) -> int | None:
    """Return the lower median, with unscored below every level."""
    found = median_low([-1 if level is None else level for level in levels])
    return None if found < 0 else found


def _score_of(member: Member, criterion: str) -> Score:
    return next(score for score in member.draft.scores if score.criterion == criterion)


def _distance(member: Member, agreed: dict[str, int | None]) -> int:
    """Levels between a member and the agreement; scored against unscored counts as one."""
    return sum(
        abs(score.level - level)
        if (level := agreed.get(score.criterion)) is not None and score.level is not None
        else int(score.level != level)
        for score in member.draft.scores
    )
