"""What a panel says together, worked out by hand."""

from __future__ import annotations

import pytest

from pipeline.judge.answer import Draft
from pipeline.judge.consensus import Member, agree, choose_speaker, find_dissent
from pipeline.types import Citation, Criterion, FeedbackItem, Level, Overall, Rubric, Score, Struck

LINE = Citation(kind="lines", first_line=1, last_line=1, quote="import nki")


def a_rubric(*criteria: str) -> Rubric:
    return Rubric(
        id="r",
        version="v1",
        title="R",
        purpose="p",
        criteria=tuple(
            Criterion(
                id=name,
                title=name,
                question="?",
                weight=1,
                source="judge",
                evidence=("code",),
                levels=tuple(Level(level=level, anchor=f"anchor {level}") for level in range(5)),
            )
            for name in criteria
        ),
        overall=Overall(gates=(), pass_mark=0.5, minimum_scored_weight=0.5),
    )


def a_member(
    role: str, level: int | None, sure: float | None = 0.8, *, sample: int = 1, **more: object
) -> Member:
    score = Score(
        criterion="overlap",
        level=level,
        source="judge",
        reason=f"{role} {sample} says so",
        citations=(LINE,) if level is not None else (),
        confidence=sure if level is not None else None,
    )
    feedback = more.get("feedback", (FeedbackItem(part="next", text=f"by {role} {sample}"),))
    struck = more.get("struck", ())
    return Member(role, f"{role} m {sample}", Draft(scores=(score,), feedback=feedback), struck, 1)  # type: ignore[arg-type]


def agreed(*members: Member) -> Score:
    (score,) = agree(members, a_rubric("overlap"))
    return score


def test_one_member_is_taken_at_its_word() -> None:
    score = agreed(a_member("judge", 3, 0.6))
    assert (score.level, score.confidence, score.reason) == (3, 0.6, "judge 1 says so")
    assert score.citations == (LINE,)
    assert [vote.member for vote in score.votes] == ["judge m 1"]


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        ((1, 3, 3), 3),
        ((1, 2, 4), 2),
        ((1, 2), 1),
        ((0, 1, 2, 4), 1),
        ((None, 3, 3), 3),
        ((None, None, 3), None),
    ],
)
def test_samples_of_one_role_meet_at_their_lower_median(
    levels: tuple[int | None, ...], level: int | None
) -> None:
    members = [a_member("judge", given, sample=number) for number, given in enumerate(levels, start=1)]
    assert agreed(*members).level == level


def test_many_cheap_samples_do_not_outvote_the_roles_asked_after_them() -> None:
    cheap = [a_member("judge", 4, sample=number) for number in (1, 2, 3)]
    assert agreed(*cheap, a_member("second", 2), a_member("arbiter", 2)).level == 2


def test_two_roles_that_differ_leave_the_lower_level() -> None:
    score = agreed(a_member("judge", 3), a_member("second", 1))
    assert score.level == 1
    assert score.dispersion == 2
    assert score.reason == "second 1 says so"


def test_an_arbiter_settles_on_the_middle_and_its_words_are_used_when_it_is_there() -> None:
    score = agreed(a_member("judge", 4), a_member("second", 1), a_member("arbiter", 3))
    assert (score.level, score.reason) == (3, "arbiter 1 says so")


def test_confidence_is_that_of_the_agreeing_times_their_share() -> None:
    # Two of four chose level 2, sure 0.9 and 0.5: mean 0.7, share 0.5.
    members = [
        a_member("judge", 2, 0.9, sample=1),
        a_member("judge", 2, 0.5, sample=2),
        a_member("judge", 3, 1.0, sample=3),
        a_member("judge", 1, 1.0, sample=4),
    ]
    assert agreed(*members).confidence == pytest.approx(0.35)


def test_the_surest_of_equal_votes_gives_the_reason() -> None:
    score = agreed(a_member("judge", 2, 0.4, sample=1), a_member("judge", 2, 0.9, sample=2))
    assert score.reason == "judge 2 says so"


def test_unscored_by_all_stays_unscored_without_confidence_or_citations() -> None:
    score = agreed(a_member("judge", None), a_member("second", None))
    assert (score.level, score.confidence, score.citations, score.dispersion) == (None, None, (), 0)


def test_a_score_against_none_is_dissent_and_ends_unscored() -> None:
    members = [a_member("judge", None), a_member("second", 3)]
    assert find_dissent(members, a_rubric("overlap")) == ["overlap"]
    assert agreed(*members).level is None


def test_equal_roles_do_not_dissent_even_if_their_samples_differ() -> None:
    members = [a_member("judge", 2, sample=1), a_member("judge", 3, sample=2), a_member("second", 2)]
    assert find_dissent(members, a_rubric("overlap")) == []


def test_the_member_nearest_to_the_agreement_speaks_and_of_equals_the_last_asked() -> None:
    members = [a_member("judge", 4), a_member("second", 1), a_member("arbiter", 3)]
    assert choose_speaker(members, agree(members, a_rubric("overlap"))).role == "arbiter"
    members = [a_member("judge", 2), a_member("second", 2)]
    assert choose_speaker(members, agree(members, a_rubric("overlap"))).role == "second"


def test_a_member_with_nothing_left_to_say_does_not_speak() -> None:
    struck = (Struck(member="second m 1", place="feedback item 1", text="t", problems=("gone",)),)
    members = [a_member("judge", 3), a_member("second", 2, feedback=(), struck=struck)]
    assert choose_speaker(members, agree(members, a_rubric("overlap"))).role == "judge"


def test_criteria_that_checks_score_are_not_the_panels() -> None:
    rubric = a_rubric("overlap")
    checked = rubric.criteria[0].model_copy(update={"id": "traffic", "source": "check:hbm_traffic"})
    rubric = rubric.model_copy(update={"criteria": (checked, *rubric.criteria)})
    assert [score.criterion for score in agree([a_member("judge", 2)], rubric)] == ["overlap"]
