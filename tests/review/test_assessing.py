"""Drafts, blind and final assessments: what is asked of them, and that none of them is ever lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import Place, PlaceState
from pipeline.review.set_aside import find_set_aside
from pipeline.store import Store
from pipeline.types import (
    Account,
    Answer,
    Assessment,
    Cause,
    CheckStatus,
    Committed,
    FeedbackItem,
    LineComment,
    Objection,
    Pick,
    Revision,
    SavedDraft,
)
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import ANNA, BEN, DORA, HASH, Clock, add_waiting, assess, commit, finish


def draw(store: Store, desk: Desk, account: Account = ANNA) -> Place:
    place = desk.draw(account, key=f"draw {account.name}")
    assert place is not None
    return place


def draft(
    account: Account, revision: int, note: str = "", *, stage: str = "blind", seconds: float = 0
) -> SavedDraft:
    return SavedDraft(
        review_id="r-one",
        slot=0,
        account=account.name,
        revision=revision,
        assessment=Assessment(note=note),
        stage=stage,  # type: ignore[arg-type]
        active_seconds=seconds,
        saved_at="1999-01-01T00:00:00Z",  # type: ignore[arg-type]
    )


@pytest.fixture
def desk(store: Store, open_desk: OpenDesk) -> Desk:
    add_waiting(store, "one")
    return open_desk()


@pytest.fixture
def place(store: Store, desk: Desk) -> Place:
    return draw(store, desk)


def test_a_draft_is_there_again_after_a_restart(
    desk: Desk, place: Place, open_desk: OpenDesk, clock: Clock
) -> None:
    clock.pass_by(5)
    saved = desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "so far"))
    assert saved.saved_at == clock.now
    assert open_desk().open(ANNA, "r-one", 0).draft == saved


def test_saving_renews_the_lease(desk: Desk, place: Place, clock: Clock) -> None:
    for revision in range(3):
        clock.pass_by(20 * 60)
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, revision, f"{revision}"))
    assert desk.draw(BEN, key="1") is None


def test_the_older_of_two_windows_is_refused_and_the_newer_draft_stays(desk: Desk, place: Place) -> None:
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 7, "new"))
    with pytest.raises(DeskError, match="revision 7") as refused:
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, 7, "old"))
    assert refused.value.code == "stale_revision"
    current = desk.open(ANNA, "r-one", 0).draft
    assert current is not None
    assert current.assessment.note == "new"


def test_the_same_draft_again_is_no_conflict(desk: Desk, place: Place) -> None:
    first = desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "same"))
    assert desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "same")) == first


def test_a_late_draft_is_kept_and_the_place_leased_again(desk: Desk, place: Place, clock: Clock) -> None:
    clock.pass_by(3600)
    desk.refresh()
    assert desk.place("r-one", 0).state is PlaceState.WAITING
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "late"))
    assert desk.place("r-one", 0).holder == "anna"


def test_a_late_draft_is_kept_also_when_somebody_else_has_the_place(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(3600)
    draw(store, desk, BEN)
    with pytest.raises(DeskError) as refused:
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "late"))
    assert refused.value.code == "lease_lost"
    assert "another reviewer" in refused.value.fault.message
    assert "ben" not in str(refused.value)
    kept = store.desk.find_draft("r-one", 0, "anna")
    assert kept is not None
    assert kept.assessment.note == "late"
    assert desk.open(BEN, "r-one", 0).draft is None, "a draft is its writer's only"


def test_nobody_saves_a_draft_for_somebody_else_or_where_they_never_were(desk: Desk, place: Place) -> None:
    for account, theirs in ((BEN, draft(BEN, 1)), (BEN, draft(ANNA, 1))):
        with pytest.raises(DeskError) as refused:
            desk.save_draft(account, place.lease_id, theirs)
        assert refused.value.code == "forbidden"


def test_a_draft_of_absurd_length_is_refused(desk: Desk, place: Place) -> None:
    answers = {f"c{number}": Answer(level=None, reason="x" * 2000) for number in range(600)}
    with pytest.raises(DeskError, match="1,000,000") as refused:
        desk.save_draft(
            ANNA,
            place.lease_id,
            draft(ANNA, 1).model_copy(update={"assessment": Assessment(answers=answers)}),
        )
    assert refused.value.code == "invalid"


def test_work_is_recorded_never_longer_than_the_time_that_passed(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(100)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "a", seconds=40))
    clock.pass_by(20)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 2, "b", seconds=4040))
    assert [stretch.active_seconds for stretch in store.desk.list_activity("anna")] == [40, 20]
    assert desk.describe_queue(ANNA).seconds_today == 60


def test_seconds_of_a_commit_that_no_draft_told_are_recorded(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(100)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "a", seconds=45))
    clock.pass_by(100)
    commit(desk, ANNA, place)  # after 60 seconds of work
    clock.pass_by(100)
    finish(desk, ANNA, desk.open(ANNA, "r-one", 0))  # after 30 more
    assert [stretch.active_seconds for stretch in store.desk.list_activity("anna")] == [45, 15, 30]


def test_no_page_is_believed_more_than_the_time_that_passed(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(100)
    assert desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "a", seconds=5000)).active_seconds == 100
    clock.pass_by(10)
    commit(desk, ANNA, place, seconds=9000)
    clock.pass_by(20)
    finish(desk, ANNA, desk.open(ANNA, "r-one", 0), seconds=9000)
    done = desk.place("r-one", 0).submitted
    assert done is not None
    assert done.seconds == 110 + 20
    assert sum(stretch.active_seconds for stretch in store.desk.list_activity("anna")) == 130


def test_where_no_script_counts_a_pause_longer_than_idle_is_no_work(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(50)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "a"), counted=False)
    clock.pass_by(61)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 2, "b"), counted=False)
    clock.pass_by(30)
    commit(desk, ANNA, place, seconds=None)
    done = desk.place("r-one", 0).submitted
    assert done is not None
    assert done.seconds == 80


def test_a_refused_commit_costs_no_time(desk: Desk, place: Place, clock: Clock) -> None:
    clock.pass_by(100)
    with pytest.raises(DeskError):
        commit(desk, ANNA, place, Assessment(note="so far"), seconds=70)
    commit(desk, ANNA, place, seconds=70)
    done = desk.place("r-one", 0).submitted
    assert done is not None
    assert done.seconds == 70


def test_work_goes_on_counting_where_the_lease_ran_out_meanwhile(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(60)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "a", seconds=60))
    clock.pass_by(31 * 60)
    desk.refresh()
    saved = desk.save_draft(ANNA, place.lease_id, draft(ANNA, 2, "b", seconds=60 + 20 * 60))
    assert saved.active_seconds == 60 + 20 * 60


def test_a_commit_lists_everything_that_is_missing_or_wrong(store: Store, desk: Desk, place: Place) -> None:
    wrong = Assessment(
        answers={
            "clarity": Answer(level=9),
            "safety": Answer(level=None),
            "correct": Answer(level=4),
            "speed": Answer(level=1),
        },
        comments=(LineComment(first_line=2, last_line=4, text="past the end"),),
        objections=(Objection(check="nothing", reason="is wrong"),),
        passed=True,
        feedback=(),
    )
    with pytest.raises(DeskError) as refused:
        commit(desk, ANNA, place, wrong, picks={"clarity": Pick(source="A", cause=Cause.SLIP)})
    assert refused.value.code == "incomplete"
    for part in (
        "Clarity: level 9 is not offered (choose from 0, 1, 2, 3, 4)",
        "Safety: say why it cannot be judged",
        "Correct: a check settled it",
        "'speed' is no criterion",
        "lines 2 to 4 are not in the code, which has 3",
        "'nothing' is no check",
        "needs a note",
        "feedback is written after",
        "only an adjudication",
    ):
        assert part in refused.value.fault.message
    kept = store.desk.find_draft("r-one", 0, "anna")
    assert kept is not None
    assert kept.assessment == wrong, "a form without script sends everything at once: it is kept"
    assert desk.place("r-one", 0).state is PlaceState.HELD


def test_an_unanswered_criterion_is_named(desk: Desk, place: Place) -> None:
    with pytest.raises(DeskError, match="Clarity: no answer yet; Safety: no answer yet"):
        commit(desk, ANNA, place, Assessment())


def test_a_criterion_that_its_check_left_open_is_asked(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "open", correct=CheckStatus.UNKNOWN)
    add_waiting(store, "shut")
    desk = open_desk()
    assert desk.asked_criteria("r-open") == ("correct", "clarity", "safety")
    assert desk.asked_criteria("r-shut") == ("clarity", "safety")
    assert desk.settled_answers("r-open") == {}
    assert desk.settled_answers("r-shut") == {"correct": Answer(level=4, reason="all cases agree")}
    assert desk.rubric_of("r-open").content_hash() == HASH


def test_a_form_of_another_rubric_is_refused_and_kept(store: Store, desk: Desk, place: Place) -> None:
    with pytest.raises(DeskError) as refused:
        desk.commit(ANNA, "r-one", 0, place.lease_id, assess(), rubric="0" * 64, seconds=1, key="1")
    assert refused.value.code == "stale_rubric"
    kept = store.desk.find_draft("r-one", 0, "anna")
    assert kept is not None
    assert kept.assessment == assess()


def test_a_commit_is_for_good_and_the_same_request_is_the_same_commit(
    store: Store, desk: Desk, place: Place
) -> None:
    first = commit(desk, ANNA, place, assess(1, 2))
    assert first.state is PlaceState.COMMITTED
    assert commit(desk, ANNA, place, assess(4, 4)) == first, "the same key is the same request"
    with pytest.raises(DeskError) as refused:
        desk.commit(ANNA, "r-one", 0, place.lease_id, assess(4, 4), rubric=HASH, seconds=1, key="another")
    assert refused.value.code == "already_committed"
    with pytest.raises(DeskError) as refused:
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, 99))
    assert refused.value.code == "already_committed"
    events = [event for event in store.desk.list_events_of("r-one") if isinstance(event.action, Committed)]
    assert [event.action.assessment for event in events] == [assess(1, 2)]  # type: ignore[union-attr]


def test_a_commit_after_the_lease_ran_out_counts_if_nobody_has_the_place(
    desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(3600)
    desk.refresh()
    assert commit(desk, ANNA, place).state is PlaceState.COMMITTED


def test_a_commit_of_a_place_that_another_has_is_kept_as_a_draft(
    store: Store, desk: Desk, place: Place, clock: Clock
) -> None:
    clock.pass_by(3600)
    draw(store, desk, BEN)
    with pytest.raises(DeskError) as refused:
        commit(desk, ANNA, place, assess(1, 1))
    assert refused.value.code == "lease_lost"
    kept = store.desk.find_draft("r-one", 0, "anna")
    assert kept is not None
    assert kept.assessment == assess(1, 1)
    assert desk.place("r-one", 0).holder == "ben"


def test_a_place_that_is_committed_is_never_freed(desk: Desk, place: Place, clock: Clock) -> None:
    commit(desk, ANNA, place)
    clock.pass_by(100 * 3600)
    assert desk.draw(BEN, key="1") is None
    with pytest.raises(DeskError) as refused:
        desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="", skip=True)
    assert refused.value.code == "already_committed"
    assert desk.open(ANNA, "r-one", 0).state is PlaceState.COMMITTED


def test_the_final_assessment_comes_after_the_blind_one(desk: Desk, place: Place) -> None:
    with pytest.raises(DeskError) as refused:
        desk.finish(ANNA, "r-one", 0, assess(), revisions=(), seconds=1, key="1")
    assert refused.value.code == "not_committed"
    with pytest.raises(DeskError) as refused:
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, stage="final"))
    assert refused.value.code == "not_committed"


def test_every_level_that_changed_needs_its_cause(desk: Desk, place: Place, clock: Clock) -> None:
    clock.pass_by(60)
    committed = commit(desk, ANNA, place, assess(1, 2))
    with pytest.raises(DeskError, match="Clarity: say why its level changed"):
        finish(desk, ANNA, committed, assess(3, 2))
    wrong = Revision(criterion="clarity", before=1, after=4, cause=Cause.SLIP)
    extra = Revision(criterion="safety", before=2, after=3, cause=Cause.SLIP)
    with pytest.raises(DeskError) as refused:
        finish(desk, ANNA, committed, assess(3, 2), [wrong, extra])
    assert "Clarity: the revision does not match" in refused.value.fault.message
    assert "Safety: its level did not change" in refused.value.fault.message
    revision = Revision(criterion="clarity", before=1, after=3, cause=Cause.MISSED_EVIDENCE)
    clock.pass_by(30)
    done = finish(desk, ANNA, committed, assess(3, 2), [revision])
    assert done.submitted is not None
    assert done.submitted.blind == assess(1, 2)
    assert done.submitted.final == assess(3, 2)
    assert done.submitted.revisions == (revision,)
    assert done.submitted.seconds == 90


def test_a_feedback_item_needs_a_text(desk: Desk, place: Place) -> None:
    committed = commit(desk, ANNA, place)
    with pytest.raises(DeskError, match="has no text"):
        finish(desk, ANNA, committed, assess(feedback=(FeedbackItem(part="next", text=" "),)))


def test_a_final_assessment_is_taken_back_while_there_is_time(desk: Desk, place: Place, clock: Clock) -> None:
    committed = commit(desk, ANNA, place)
    done = finish(desk, ANNA, committed)
    assert done.undo_until == clock.now + timedelta(seconds=10)
    clock.pass_by(10)
    undone = desk.undo(ANNA, "r-one", 0, key="1")
    assert undone.state is PlaceState.COMMITTED
    assert desk.undo(ANNA, "r-one", 0, key="1") == undone
    assert finish(desk, ANNA, committed).state is PlaceState.COMMITTED, "a replayed form is the same request"
    desk.finish(ANNA, "r-one", 0, assess(), revisions=(), seconds=1, key="again")
    clock.pass_by(10.5)
    with pytest.raises(DeskError) as refused:
        desk.undo(ANNA, "r-one", 0, key="2")
    assert refused.value.code == "too_late"


def test_objections_and_flags_reach_the_leads_newest_first(desk: Desk, place: Place, clock: Clock) -> None:
    objection = Objection(check="correct", reason="the reference is wrong")
    desk.flag(ANNA, "r-one", 0, "looks copied", key="1")
    desk.flag(ANNA, "r-one", 0, "looks copied", key="1")
    clock.pass_by(1)
    commit(desk, ANNA, place, assess(objections=(objection,)))
    assert [event.action.kind for event in desk.list_flags()] == ["committed", "flagged"]
    with pytest.raises(DeskError) as refused:
        desk.flag(ANNA, "r-one", 0, "  ", key="2")
    assert refused.value.code == "invalid"


def test_everything_said_is_there_after_a_restart(
    desk: Desk, place: Place, open_desk: OpenDesk, clock: Clock
) -> None:
    finish(desk, ANNA, commit(desk, ANNA, place, assess(2, None, note="mind the tail")))
    desk.flag(ANNA, "r-one", 0, "look", key="1")
    desk.unblind(DORA, "r-one", "must know", key="1")
    before = desk.place("r-one", 0)
    again = open_desk()
    assert again.place("r-one", 0) == before
    assert again.list_flags() == desk.list_flags()
    assert again.describe_queue(ANNA) == desk.describe_queue(ANNA)


def test_an_old_page_of_an_item_drawn_again_is_told_so(store: Store, desk: Desk, place: Place) -> None:
    desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="", skip=False)
    desk.draw(ANNA, key="again")
    with pytest.raises(DeskError, match="this page is an old one") as refused:
        desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "from the old page"))
    assert refused.value.code == "lease_lost"
    current = desk.open(ANNA, "r-one", 0).draft
    assert current is not None
    assert current.assessment.note == "from the old page"


@pytest.mark.parametrize("reason", ["", "   ", "x" * 2001, "half \ud800"])
def test_what_the_desk_cannot_keep_is_refused_with_a_sentence(desk: Desk, place: Place, reason: str) -> None:
    with pytest.raises(DeskError) as refused:
        desk.flag(ANNA, "r-one", 0, reason, key="1")
    assert refused.value.code == "invalid"
    with pytest.raises(DeskError) as refused:
        desk.unblind(DORA, "r-one", reason, key="1")
    assert refused.value.code == "invalid"


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_absurd_seconds_are_refused(desk: Desk, place: Place, seconds: float) -> None:
    with pytest.raises(DeskError) as refused:
        desk.commit(ANNA, "r-one", 0, place.lease_id, assess(), rubric=HASH, seconds=seconds, key="1")
    assert refused.value.code == "invalid"


def test_one_form_sent_by_ten_clicks_is_one_commit(store: Store, desk: Desk, place: Place) -> None:
    start = threading.Barrier(10)

    def send(click: int) -> str:
        start.wait()
        try:
            return commit(desk, ANNA, place, assess(click % 5, 1)).state.value
        except DeskError as error:
            return error.code

    with ThreadPoolExecutor(10) as threads:
        assert set(threads.map(send, range(10))) == {"committed"}
    assert [event.action.kind for event in store.desk.list_events_of("r-one")] == ["claimed", "committed"]


# What is refused, and where its text is


def send(desk: Desk, place: Place, stage: str, said: Assessment, key: str, made_from: int | None) -> Place:
    """Commit or finish, as a window or a program does that knows that revision of the draft, or none."""
    if stage == "final":
        return desk.finish(ANNA, "r-one", 0, said, revisions=(), seconds=1, key=key, made_from=made_from)
    return desk.commit(
        ANNA, "r-one", 0, place.lease_id, said, rubric=HASH, seconds=1, key=key, made_from=made_from
    )


def texts(store: Store) -> tuple[str | None, str | None]:
    """Return the notes of the draft and of what was set aside."""
    kept = store.desk.find_draft("r-one", 0, "anna"), find_set_aside(store, "r-one", 0, "anna")
    draft, aside = (one.assessment.note if one else None for one in kept)
    return draft, aside


@pytest.mark.parametrize("stage", ["blind", "final"])
@pytest.mark.parametrize(
    ("made_from", "kept"),
    [
        (None, ("draft", "refused")),
        (4, ("draft", "refused")),
        (5, ("refused", None)),
        (6, ("refused", None)),
    ],
    ids=["unknown", "older", "the same", "newer"],
)
def test_what_is_refused_never_takes_the_place_of_a_newer_draft(
    store: Store,
    desk: Desk,
    place: Place,
    stage: str,
    made_from: int | None,
    kept: tuple[str, str | None],
) -> None:
    if stage == "final":
        commit(desk, ANNA, place)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 5, "draft", stage=stage))
    with pytest.raises(DeskError) as refused:
        send(desk, place, stage, Assessment(note="refused"), "1", made_from)
    assert refused.value.code == ("stale_revision" if made_from == 4 else "incomplete")
    assert texts(store) == kept
    current = store.desk.find_draft("r-one", 0, "anna")
    assert current is not None
    assert current.revision == 5


@pytest.mark.parametrize("stage", ["blind", "final"])
def test_an_older_window_is_told_and_may_insist(store: Store, desk: Desk, place: Place, stage: str) -> None:
    if stage == "final":
        commit(desk, ANNA, place)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 2, "newer", stage=stage))
    older = assess(note="older")
    with pytest.raises(DeskError, match="another window saved this item at 12:00:00 UTC"):
        send(desk, place, stage, older, "1", 1)
    done = send(desk, place, stage, older, "2", 2)
    assert done.submitted is not None
    assert (done.submitted.final if stage == "final" else done.submitted.blind) == older
    assert texts(store)[0] == "newer"


def late_draft(desk: Desk, place: Place, stage: str) -> None:
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 2, "late", stage=stage))


def late_sending(desk: Desk, place: Place, stage: str) -> None:
    send(desk, place, stage, assess(note="late"), "another", 7)


@pytest.mark.parametrize("write", [late_draft, late_sending])
def test_what_a_second_window_writes_after_the_commit_is_set_aside(
    store: Store, desk: Desk, place: Place, write: Callable[[Desk, Place, str], None]
) -> None:
    commit(desk, ANNA, place)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "final so far", stage="final"))
    with pytest.raises(DeskError) as refused:
        write(desk, place, "blind")
    assert refused.value.code == "already_committed"
    assert texts(store) == ("final so far", "late")


@pytest.mark.parametrize("write", [late_draft, late_sending])
def test_what_a_second_window_writes_after_the_end_is_set_aside(
    store: Store, desk: Desk, place: Place, write: Callable[[Desk, Place, str], None]
) -> None:
    finish(desk, ANNA, commit(desk, ANNA, place))
    with pytest.raises(DeskError) as refused:
        write(desk, place, "final")
    assert refused.value.code == "too_late"
    assert texts(store) == (None, "late")


def test_a_final_assessment_before_the_blind_one_costs_no_draft(
    store: Store, desk: Desk, place: Place
) -> None:
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "blind so far"))
    with pytest.raises(DeskError) as refused:
        send(desk, place, "final", assess(note="early"), "1", 1)
    assert refused.value.code == "not_committed"
    assert texts(store) == ("blind so far", "early")


def test_nothing_is_set_aside_that_stands_already_or_says_nothing(
    store: Store, desk: Desk, place: Place
) -> None:
    commit(desk, ANNA, place, assess(note="mine"))
    for late in (assess(note="mine"), Assessment()):
        with pytest.raises(DeskError):
            send(desk, place, "blind", late, f"again {late.note}", None)
    assert texts(store) == (None, None)


def test_what_is_set_aside_counts_no_time(store: Store, desk: Desk, place: Place, clock: Clock) -> None:
    clock.pass_by(100)
    desk.save_draft(ANNA, place.lease_id, draft(ANNA, 1, "draft", seconds=60))
    clock.pass_by(100)
    with pytest.raises(DeskError):
        send(desk, place, "blind", Assessment(note="a program's"), "1", None)
    assert [stretch.active_seconds for stretch in store.desk.list_activity("anna")] == [60]
