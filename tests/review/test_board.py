"""The board: events in, places out."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.board import Board
from pipeline.review.places import PlaceState
from pipeline.store.records import DeskItem
from pipeline.types import (
    Action,
    Claimed,
    Committed,
    DeskEvent,
    Finished,
    Purpose,
    Released,
    Reopened,
    Review,
    SlotOpened,
)
from tests.review.desk_examples import HASH, NOON, assess


def item(number: int) -> DeskItem:
    opened_at = NOON + timedelta(minutes=number)
    return DeskItem(
        review=Review(id=f"r-{number}", grading_id=f"g-{number}", reason="", opened_at=opened_at),
        submission_id=f"s-{number}",
        task_id=f"t-{number % 2}",
        origin="",
        destination=None,
        verdict=None,
        rubric=HASH,
        decided=False,
    )


def empty() -> Board:
    return Board(lambda item: item.review.opened_at.timestamp(), timedelta(minutes=30))


def event(number: int, review: int, slot: int, actor: str, action: Action) -> DeskEvent:
    at = NOON + timedelta(seconds=number)
    return DeskEvent(id=f"e-{number}", review_id=f"r-{review}", slot=slot, actor=actor, at=at, action=action)


COMMITTED = Committed(assessment=assess(), rubric=HASH, seconds=1)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Claimed, lease_id=st.sampled_from("ab")),
    st.builds(
        Released,
        lease_id=st.sampled_from("ab"),
        why=st.sampled_from(("expired", "skipped", "handed_back", "taken_back")),
    ),
    st.builds(SlotOpened, purpose=st.sampled_from(tuple(Purpose))),
    st.just(COMMITTED),
    st.just(Finished(assessment=assess(), seconds=1)),
    st.just(Reopened()),
)
histories = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(("anna", "ben")), actions), max_size=30
).map(lambda rows: [event(number, *row) for number, row in enumerate(rows)])


def outline(board: Board) -> list[object]:
    """All that can be read off a board."""
    slots = [
        (
            slot.id,
            slot.state,
            slot.holder,
            slot.lease_id,
            slot.purpose,
            sorted(slot.lapsed),
            sorted(slot.seen_by),
        )
        for name in sorted(board.sheets)
        for slot in board.sheets[name].slots.values()
    ]
    lists = [
        [slot.id for slot in slots]
        for slots in (board.list_waiting(), board.list_adjudications(), board.held.values())
    ]
    own = [
        [slot.id for slot in ask(name)]
        for name in ("anna", "ben")
        for ask in (board.list_begun, board.list_lapsed, board.list_finished)
    ]
    return [slots, lists, own]


@given(histories)
def test_any_history_is_taken_in_and_a_second_time_changes_nothing(history: list[DeskEvent]) -> None:
    board = empty()
    for number in range(3):
        board.add(item(number), "author")
    for one in history:
        board.apply(one)
    before = outline(board)
    for one in history:
        board.apply(one)
    assert outline(board) == before


@given(histories)
def test_what_is_known_of_a_review_first_makes_no_difference(history: list[DeskEvent]) -> None:
    late, early = empty(), empty()
    for number in range(3):
        early.add(item(number), "author")
    for one in history:
        early.apply(one)
        late.apply(one)
    for number in range(3):
        late.add(item(number), "author")
    # In which order somebody began what they have is known to the one that saw it happen only.
    assert outline(late)[0] == outline(early)[0]
    assert outline(late)[1][:2] == outline(early)[1][:2]  # type: ignore[index]


@given(histories, st.sets(st.integers(0, 2)))
def test_lists_and_counts_say_what_the_places_say(history: list[DeskEvent], closed: set[int]) -> None:
    board = empty()
    for number in range(3):
        board.add(item(number), f"author {number}")
    for one in history:
        board.apply(one)
    board.close(f"r-{number}" for number in closed)
    slots = [slot for sheet in board.sheets.values() for slot in sheet.slots.values()]
    queued = (Purpose.FIRST, Purpose.SECOND)
    waiting = [slot for slot in slots if slot.is_waiting and slot.purpose in queued]
    assert {slot.id for slot in board.list_waiting()} == {slot.id for slot in waiting}
    assert board.tally.count(lambda task_id: True, ()).total() == len(waiting)
    first_task = [slot for slot in waiting if slot.sheet.id != "r-1"]
    assert board.tally.count(lambda task_id: task_id == "t-0", ()).total() == len(first_task)
    others = [slot for slot in waiting if slot.sheet.id != "r-2"]
    assert board.tally.count(lambda task_id: True, ("author 2", "author 2", "nobody")).total() == len(others)
    held = [slot for slot in slots if slot.state is PlaceState.HELD and not slot.is_closed]
    assert set(board.held) == {slot.id for slot in held}
    for name in ("anna", "ben"):
        begun = [slot for slot in slots if slot.holder == name and slot.final is None and not slot.is_closed]
        assert {slot.id for slot in board.list_begun(name)} == {slot.id for slot in begun}
        for sheet in board.sheets.values():
            assert (name in sheet.people) == any(slot.holder == name for slot in sheet.slots.values())
