"""An adjudicator's form: what of two assessments stands, and why they differed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pipeline.types import Answer, Assessment, Cause, Criterion, Frozen, Pick

__all__ = ["CAUSES", "AdjudicationDraft", "Choice", "Reading", "list_choices", "read_picks"]

#: Why two people differed, in words.
CAUSES: Final[dict[Cause, str]] = {
    Cause.RUBRIC_UNCLEAR: "The anchor is unclear",
    Cause.RUBRIC_GAP: "The rubric does not cover it",
    Cause.SLIP: "A slip of one reviewer",
    Cause.MISSED_EVIDENCE: "One reviewer missed evidence",
    Cause.WRONG_EVIDENCE: "A check or tool was wrong",
    Cause.EDGE_CASE: "An edge case between two levels",
    Cause.OTHER: "Something else",
}

_NO_LEVEL: Final = "none"
_LONGEST_REASON: Final = 2000
_LONGEST_NOTE: Final = 20_000
_LONGEST_CHANGE: Final = 4000


class AdjudicationDraft(Frozen):
    """An adjudicator's form as it stands; the newest of a place and account counts."""

    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """One criterion with what the two said of it.

    Attributes:
        criterion: The criterion.
        answers: What each said, by letter; None where one said nothing.
        differs: Whether their levels differ.
    """

    criterion: Criterion
    answers: dict[str, Answer | None]
    differs: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a form says.

    Attributes:
        assessment: The adjudicator's levels and note.
        picks: Where each level comes from.
        rubric_change: What the rubric should say instead.
        problems: What is missing or wrong, one sentence each; with any the rest does not stand.
    """

    assessment: Assessment
    picks: dict[str, Pick]
    rubric_change: str
    problems: tuple[str, ...]


def list_choices(
    criteria: Sequence[Criterion], others: Sequence[tuple[str, Assessment]]
) -> tuple[Choice, ...]:
    """Return the criteria with both assessments: those that differ most come first."""
    choices = []
    for criterion in criteria:
        answers = {letter: assessment.answers.get(criterion.id) for letter, assessment in others}
        choices.append((_distance(answers), Choice(criterion, answers, _distance(answers) > 0)))
    return tuple(choice for _, choice in sorted(choices, key=lambda pair: -pair[0]))


def read_picks(values: Mapping[str, str], choices: Sequence[Choice]) -> Reading:
    """Return what the form's `values` say, with all that is missing or wrong."""
    answers: dict[str, Answer] = {}
    picks: dict[str, Pick] = {}
    problems: list[str] = []
    for choice in choices:
        name = choice.criterion.id
        try:
            source = _read_source(values.get(f"source-{name}", ""), choice)
            answers[name] = _read_answer(values, choice, source)
            picks[name] = Pick(source=source, cause=_read_cause(values, choice, source))
        except ValueError as error:
            problems.append(f"{choice.criterion.title}: {error}.")
    note, change = values.get("note", "").strip(), values.get("rubric_change", "").strip()
    if len(note) > _LONGEST_NOTE:
        problems.append(f"The note has {len(note)} characters; {_LONGEST_NOTE} fit.")
    if len(change) > _LONGEST_CHANGE:
        problems.append(f"The rubric's change has {len(change)} characters; {_LONGEST_CHANGE} fit.")
    return Reading(
        Assessment(answers=answers, note=note[:_LONGEST_NOTE]),
        picks,
        change[:_LONGEST_CHANGE],
        tuple(problems),
    )


def _distance(answers: Mapping[str, Answer | None]) -> int:
    """Return how far apart the levels are; one that could not be judged is as far as can be."""
    levels = [answer.level if answer is not None else None for answer in answers.values()]
    known = [level for level in levels if level is not None]
    if len(known) < len(levels):
        return 100 if known else 0
    return max(known) - min(known) if known else 0


def _read_source(text: str, choice: Choice) -> Literal["A", "B", "other"]:
    if text == "other":
        return "other"
    if text == "A" and choice.answers.get("A") is not None:
        return "A"
    if text == "B" and choice.answers.get("B") is not None:
        return "B"
    raise ValueError("pick A, B or another level")


def _read_answer(values: Mapping[str, str], choice: Choice, source: str) -> Answer:
    name = choice.criterion.id
    reason = values.get(f"reason-{name}", "").strip()
    if len(reason) > _LONGEST_REASON:
        raise ValueError(f"the reason has {len(reason)} characters; {_LONGEST_REASON} fit")
    if source != "other":
        taken = choice.answers[source]
        if taken is None:
            raise ValueError(f"{source} said nothing about it; pick another level")
        return Answer(level=taken.level, reason=reason or taken.reason)
    text = values.get(f"level-{name}", "")
    if text == _NO_LEVEL:
        if not reason:
            raise ValueError("say why it cannot be judged")
        return Answer(level=None, reason=reason)
    offered = {str(step.level): step.level for step in choice.criterion.levels}
    if text not in offered:
        raise ValueError(f"choose the other level from {', '.join(offered)}, or say that it cannot be judged")
    return Answer(level=offered[text], reason=reason)


def _read_cause(values: Mapping[str, str], choice: Choice, source: str) -> Cause:
    text = values.get(f"cause-{choice.criterion.id}", "")
    if text in set(Cause):
        return Cause(text)
    # Where both said the same and it stands, there is nothing to explain.
    if not text and not choice.differs and source != "other":
        return Cause.OTHER
    raise ValueError("choose why they differed" if choice.differs else "choose why neither stands")
