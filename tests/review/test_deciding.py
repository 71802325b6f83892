"""When reviews differ, who decides then, and what the decision says."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import Place, ReviewStanding
from pipeline.review.queue import conclude
from pipeline.store import Store
from pipeline.types import (
    Account,
    Assessment,
    Cause,
    CheckStatus,
    Citation,
    Decision,
    Destination,
    FeedbackItem,
    Inspection,
    Judgment,
    LineComment,
    Pick,
    Purpose,
)
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    EVE,
    NOON,
    PLAIN,
    RUBRIC,
    Clock,
    add_waiting,
    assess,
    commit,
    finish,
    review_once,
)


def two_reviews(store: Store, desk: Desk, one: Assessment, two: Assessment) -> Place:
    add_waiting(store, "one", destination=Destination.SECOND_REVIEW)
    desk.refresh()
    review_once(desk, ANNA, one)
    return review_once(desk, BEN, two)


def decide_due(desk: Desk, clock: Clock) -> Decision:
    clock.pass_by(11)
    (decision,) = desk.decide_due()
    return decision


def test_one_review_decides_alone_once_it_can_no_longer_be_taken_back(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = review_once(desk, ANNA, assess(2, None, note="mind the tail"))
    assert place.standing is ReviewStanding.CONCLUDED
    clock.pass_by(10)
    assert desk.decide_due() == []
    clock.pass_by(1)
    assert desk.list_due() == ["r-one"]
    (decision,) = desk.decide_due()
    assert decision == Decision(
        review_id="r-one",
        reviewer="anna",
        levels={"clarity": 2},
        unjudged={"safety": "safety cannot be seen"},
        comment="mind the tail",
        decided_at=clock.now,
    )
    assert store.find_decision("r-one") == decision
    assert desk.place("r-one", 0).standing is ReviewStanding.DECIDED
    with pytest.raises(DeskError) as refused:
        desk.undo(ANNA, "r-one", 0, key="1")
    assert refused.value.code == "already_decided"
    with pytest.raises(DeskError) as refused:
        desk.decide("r-one")
    assert refused.value.code == "already_decided"


def test_of_two_levels_the_lower_counts_and_of_one_and_none_the_one(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    desk = open_desk()
    place = two_reviews(store, desk, assess(3, None, note="a"), assess(4, 3, note="b"))
    assert place.standing is ReviewStanding.CONCLUDED
    decision = decide_due(desk, clock)
    assert (decision.levels, decision.unjudged) == ({"clarity": 3, "safety": 3}, {})
    assert (decision.reviewer, decision.comment, decision.passed) == ("anna, ben", "a\n\nb", None)


def test_what_neither_could_judge_is_unjudged(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(3, None), assess(3, None))
    decision = decide_due(desk, clock)
    assert (decision.levels, decision.unjudged) == ({"clarity": 3}, {"safety": "safety cannot be seen"})


def test_a_second_review_is_waited_for(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    add_waiting(store, "one", destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    assert review_once(desk, ANNA).standing is ReviewStanding.OPEN
    clock.pass_by(3600)
    assert desk.decide_due() == []
    with pytest.raises(DeskError) as refused:
        desk.decide("r-one")
    assert refused.value.code == "incomplete"


@pytest.mark.parametrize(
    ("one", "two", "differ"),
    [
        (assess(3, 3), assess(4, 2), False),
        (assess(3, 3), assess(3, 1), True),  # two levels apart
        # (20 + 10 * 2 + 10 * 2) / 100 = 0.6 passes, (20 + 10 * 2 + 10 * 1) / 100 = 0.5 does not.
        (assess(2, 2), assess(2, 1), True),
        (assess(2, 1), assess(1, 2), False),  # both fail
        (assess(3, 3), assess(3, 3, passed=False, note="copied"), True),
        (assess(3, 3), assess(None, None), False),  # who cannot judge differs from nobody
    ],
)
def test_two_differ_from_two_levels_on_or_when_one_passes_what_the_other_fails(
    store: Store, open_desk: OpenDesk, one: Assessment, two: Assessment, differ: bool
) -> None:
    desk = open_desk()
    place = two_reviews(store, desk, one, two)
    assert place.standing is (ReviewStanding.DIFFERS if differ else ReviewStanding.CONCLUDED)
    opened = [place.slot for place in desk.list_places() if place.purpose is Purpose.ADJUDICATION]
    assert opened == ([2] if differ else [])


def test_where_both_pass_it_the_lower_levels_do_not_fail_it(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    desk = open_desk()
    # (20 + 10 * 3 + 10 * 1) / 100 = 0.6 both ways passes; 2 and 1... the lower of each: (20 + 10 + 20) / 100.
    place = two_reviews(store, desk, assess(3, 1), assess(2, 2))
    assert place.standing is ReviewStanding.CONCLUDED
    decision = decide_due(desk, clock)
    assert decision.levels == {"clarity": 2, "safety": 1}
    assert (decision.passed, decision.comment) == (True, "Every review passes it.")


def adjudicate(desk: Desk, account: Account = CARLA, **picks: str) -> Place:
    place = desk.draw(account, key="adjudicate")
    assert place is not None
    assert place.purpose is Purpose.ADJUDICATION
    sources = {name: Pick(source=source, cause=Cause.SLIP) for name, source in picks.items()}  # type: ignore[arg-type]
    levels = {"A": 0, "B": 0, "other": 2}
    others = dict(desk.others(account, "r-one"))
    for name in others:
        level = others[name].answers["clarity"].level
        assert level is not None
        levels[name] = level
    blind = assess(levels[picks["clarity"]], levels[picks["safety"]])
    return commit(desk, account, place, blind, picks=sources, rubric_change="say what a tail is")


def test_an_adjudication_decides_alone(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(0, 0), assess(4, 4))
    clock.pass_by(11)
    assert desk.decide_due() == []
    place = adjudicate(desk, clarity="A", safety="other")
    assert finish(desk, CARLA, place).standing is ReviewStanding.CONCLUDED
    taken = dict(desk.others(CARLA, "r-one"))["A"].answers["clarity"].level
    decision = decide_due(desk, clock)
    assert decision.reviewer == "carla (adjudication)"
    assert decision.levels == {"clarity": taken, "safety": 2}


def test_the_two_are_a_and_b_for_good_and_their_names_are_not_told(store: Store, open_desk: OpenDesk) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(0, 0), assess(4, 4))
    desk.draw(CARLA, key="1")
    others = desk.others(CARLA, "r-one")
    assert [name for name, _ in others] == ["A", "B"]
    assert sorted(said.answers["clarity"].level or 0 for _, said in others) == [0, 4]
    assert open_desk().others(CARLA, "r-one") == others


def test_chance_chooses_who_is_a(store: Store, open_desk: OpenDesk) -> None:
    for number in range(6):
        add_waiting(store, f"n{number}", destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    for account, level in ((ANNA, 0), (BEN, 4)):
        for _ in range(6):
            review_once(desk, account, assess(level, level))
    firsts = set()
    for number in range(6):
        place = desk.draw(CARLA, key=str(number))
        assert place is not None
        review_id = place.item.review.id
        firsts.add(desk.others(CARLA, review_id)[0][1].answers["clarity"].level)
        desk.hand_back(CARLA, review_id, place.slot, place.lease_id, reason="", skip=True)
    assert firsts == {0, 4}


def test_others_are_shown_to_whoever_adjudicates_and_after_the_decision_only(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(3, 3), assess(3, 2))
    for account in (ANNA, BEN, CARLA, DORA, EVE):
        with pytest.raises(DeskError) as refused:
            desk.others(account, "r-one")
        assert refused.value.code == "forbidden"
    decide_due(desk, clock)
    assert [said for _, said in desk.others(ANNA, "r-one")] == [assess(3, 2)]


def test_an_adjudication_says_where_each_level_comes_from(store: Store, open_desk: OpenDesk) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(0, 0), assess(4, 4))
    place = desk.draw(CARLA, key="1")
    assert place is not None
    pick = Pick(source="A", cause=Cause.EDGE_CASE)
    with pytest.raises(DeskError) as refused:
        commit(desk, CARLA, place, assess(2, 2), picks={"clarity": pick, "correct": pick})
    for part in (
        "Clarity: the level is not the one that A gave",
        "Safety: say whether A, B",
        "'correct' is nothing",
    ):
        assert part in refused.value.fault.message


def test_taking_back_may_end_the_difference_and_nobody_adjudicates_then(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    desk = open_desk()
    two_reviews(store, desk, assess(4, 4), assess(3, 3))
    desk.undo(BEN, "r-one", 1, key="1")
    assert desk.place("r-one", 0).standing is ReviewStanding.OPEN
    assert desk.draw(CARLA, key="1") is None


def test_nothing_is_taken_back_once_somebody_adjudicates(store: Store, open_desk: OpenDesk) -> None:
    desk = open_desk()
    place = two_reviews(store, desk, assess(0, 0), assess(4, 4))
    desk.draw(CARLA, key="1")
    with pytest.raises(DeskError) as refused:
        desk.undo(BEN, "r-one", place.slot, key="1")
    assert refused.value.code == "too_late"


def test_leads_hold_decisions_back_and_release_them_one_by_one(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk(PLAIN.model_copy(update={"hold_release": True}))
    review_once(desk, ANNA)
    clock.pass_by(11)
    assert desk.decide_due() == []
    assert desk.place("r-one", 0).standing is ReviewStanding.CONCLUDED
    assert desk.decide("r-one").reviewer == "anna"


def test_remarks_on_lines_reach_the_author_with_the_feedback(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    comment = LineComment(first_line=2, last_line=3, text="this loads twice")
    review_once(desk, ANNA, assess(comments=(comment,)))
    decision = decide_due(desk, clock)
    assert decision.feedback == (
        FeedbackItem(part="works", text="It runs."),
        FeedbackItem(
            part="change",
            text="this loads twice",
            citations=(Citation(kind="lines", first_line=2, last_line=3, quote="second\nthird"),),
        ),
    )


def test_edited_feedback_and_unjudged_criteria_are_what_is_released(
    store: Store, open_desk: OpenDesk
) -> None:
    add_waiting(store, "one")
    store.decide(
        Decision(
            review_id="r-one",
            reviewer="anna",
            levels={"clarity": 4},
            unjudged={"safety": "the file is cut off"},
            feedback=(FeedbackItem(part="next", text="hand in the whole file"),),
            decided_at=NOON,
        )
    )
    grading = store.load_grading("g-one")
    stages = store.list_stages("g-one")
    found = {name: store.find_stage(name, key) for name, key in stages.items()}
    assert found["inspect"] is not None
    assert found["judge"] is not None
    inspection = Inspection.model_validate_json(found["inspect"].output)
    draft = Judgment.model_validate_json(found["judge"].output)
    grade = conclude(store, grading, RUBRIC, inspection, draft, "r-one")
    assert [item.text for item in grade.feedback] == ["hand in the whole file"]
    assert [(score.criterion, score.level) for score in grade.scores] == [
        ("correct", 4),
        ("clarity", 4),
        ("safety", None),
    ]
    assert grade.scores[2].reason == "the file is cut off"
    # 20 + 40 of the 60 that are scored: all of it.
    assert grade.overall.value == 1.0


def test_a_closed_gate_stays_closed(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    add_waiting(store, "one", correct=CheckStatus.FAILED, destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    review_once(desk, ANNA, assess(4, 4))
    assert review_once(desk, BEN, assess(3, 3)).standing is ReviewStanding.CONCLUDED
    assert decide_due(desk, clock).passed is None


def test_a_decision_made_elsewhere_ends_every_place_of_its_review(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one", destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    store.decide(Decision(review_id="r-one", reviewer="root", levels={}, decided_at=NOON + timedelta(days=1)))
    desk.refresh()
    assert desk.draw(BEN, key="1") is None
    assert desk.list_places() == []
    assert desk.describe_queue(ANNA).mine == ()
    with pytest.raises(DeskError) as refused:
        commit(desk, ANNA, place, assess(1, 1))
    assert refused.value.code == "already_decided"
    kept = store.desk.find_draft("r-one", 0, "anna")
    assert kept is not None
    assert kept.assessment == assess(1, 1)
    assert open_desk().draw(BEN, key="2") is None


def test_a_decision_made_elsewhere_at_the_same_moment_stands(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    review_once(desk, ANNA)
    theirs = Decision(review_id="r-one", reviewer="root", levels={}, decided_at=NOON)
    store.decide(theirs)
    clock.pass_by(11)
    assert desk.decide_due() == []
    assert store.find_decision("r-one") == theirs
    assert desk.place("r-one", 0).standing is ReviewStanding.DECIDED
