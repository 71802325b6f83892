"""Timesheets: what people are paid by adds up, and nobody is held against another."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.errors import DeskError
from pipeline.review.timesheets import (
    Pace,
    export_timesheet,
    make_timesheet,
    read_all_timesheets,
    read_timesheet,
)
from pipeline.review.working_time import count_active_seconds
from pipeline.store import Store
from pipeline.types import (
    Account,
    Action,
    Activity,
    Assessment,
    Committed,
    DeskEvent,
    Finished,
    Purpose,
    Role,
    SlotOpened,
)
from tests.review.desk_examples import ANNA, BEN, CARLA, DORA, NOON, VERA
from tests.store.examples import save_waiting

MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)


def stretch(
    start: datetime, seconds: float, active: float | None = None, item: str = "r-a", account: str = "anna"
) -> Activity:
    return Activity(
        account=account,
        review_id=item,
        slot=0,
        started_at=start,
        ended_at=start + timedelta(seconds=seconds),
        active_seconds=seconds if active is None else active,
    )


# Idle time


def at(*seconds: float) -> list[datetime]:
    return [NOON + timedelta(seconds=second) for second in seconds]


@pytest.mark.parametrize(
    ("beats", "active"),
    [((), 0), ((5,), 0), ((0, 10, 20), 20), ((0, 60), 60), ((0, 61), 0), ((0, 30, 200, 230, 230), 60)],
    ids=["none", "one", "steady", "the longest pause", "too long a pause", "away for a while"],
)
def test_a_pause_longer_than_idle_is_no_work(beats: tuple[float, ...], active: float) -> None:
    assert count_active_seconds(at(*beats), idle_seconds=60) == active


def test_signs_of_life_may_come_in_any_order() -> None:
    assert count_active_seconds(at(40, 0, 20), idle_seconds=60) == 40


@given(st.lists(st.floats(0, 1e5), min_size=1), st.floats(1, 3600))
def test_active_time_is_no_more_than_passed(seconds: list[float], idle: float) -> None:
    active = count_active_seconds(at(*seconds), idle)
    assert 0 <= active <= max(seconds) - min(seconds) + 1e-3


# Days and weeks


def test_days_and_weeks_add_up() -> None:
    sheet = make_timesheet(
        "anna",
        [
            stretch(NOON, 600),
            stretch(NOON + timedelta(hours=1), 300, active=100, item="r-b"),
            stretch(NOON + timedelta(hours=2), 60),
            stretch(NOON + timedelta(days=6), 30),
            stretch(NOON + timedelta(days=7), 40),
        ],
    )
    assert [week.name for week in sheet.weeks] == ["2026-W50", "2026-W49"]
    assert [week.monday for week in sheet.weeks] == [date(2026, 12, 7), date(2026, 11, 30)]
    assert [week.seconds for week in sheet.weeks] == [40, 790]
    monday, sunday = sheet.weeks[1].days
    assert (monday.day, monday.seconds) == (date(2026, 11, 30), 760)
    assert [(work.review_id, work.seconds) for work in monday.work] == [("r-a", 660), ("r-b", 100)]
    assert monday.work[0].ended_at == NOON + timedelta(hours=2, seconds=60)
    assert (sunday.day, sunday.seconds) == (date(2026, 12, 6), 30)
    assert sheet.seconds == 830


def test_work_over_midnight_is_split_in_proportion() -> None:
    sheet = make_timesheet("anna", [stretch(MIDNIGHT - timedelta(seconds=300), 400, active=200)])
    assert [(day.day, day.seconds) for day in sheet.weeks[0].days] == [
        (date(2026, 11, 30), 150),
        (date(2026, 12, 1), 50),
    ]


def test_a_day_is_one_of_universal_time() -> None:
    tokyo = datetime.fromisoformat("2026-12-01T08:00:00+09:00")
    sheet = make_timesheet("anna", [stretch(tokyo, 60)])
    assert sheet.weeks[0].days[0].day == date(2026, 11, 30)


def test_two_items_open_at_once_are_not_worked_at_twice() -> None:
    sheet = make_timesheet(
        "anna", [stretch(NOON, 600), stretch(NOON + timedelta(seconds=300), 600, item="r-b")]
    )
    (day,) = sheet.weeks[0].days
    assert [work.seconds for work in day.work] == [600, 600]
    assert day.seconds == 900


@given(
    st.lists(
        st.tuples(st.integers(0, 100_000), st.integers(0, 90_000), st.floats(0, 2), st.sampled_from("ab")),
        max_size=20,
    )
)
def test_no_day_has_more_work_than_hours(parts: list[tuple[int, int, float, str]]) -> None:
    sheet = make_timesheet(
        "anna",
        [
            stretch(NOON + timedelta(seconds=start), length, active=length * share, item=item)
            for start, length, share, item in parts
        ],
    )
    for week in sheet.weeks:
        for day in week.days:
            assert 0 <= day.seconds <= 86_400 + 1e-6
            assert day.seconds <= sum(work.seconds for work in day.work) + 1e-6


def test_nobody_without_work_has_weeks() -> None:
    assert make_timesheet("anna", []).weeks == ()


def test_one_reads_ones_own_sheet_from_a_day_on(store: Store) -> None:
    for start in (NOON, NOON + timedelta(days=1)):
        store.desk.add_activity(stretch(start, 60))
        store.desk.add_activity(stretch(start, 100, account="ben"))
    assert read_timesheet(store, ANNA).seconds == 120
    assert read_timesheet(store, ANNA, since=date(2026, 12, 1)).seconds == 60
    assert read_timesheet(store, CARLA).weeks == ()


def test_everybodys_hours_are_a_leads_to_see(store: Store) -> None:
    for name in ("ben", "anna"):
        store.desk.add_activity(stretch(NOON, 60, account=name))
    assert [sheet.account for sheet in read_all_timesheets(store, DORA)] == ["anna", "ben"]
    for account in (ANNA, CARLA, VERA):
        with pytest.raises(DeskError) as refused:
            read_all_timesheets(store, account)
        assert refused.value.code == "forbidden"


def test_the_export_has_a_row_per_day_oldest_first() -> None:
    sheets = [
        make_timesheet("anna", [stretch(NOON + timedelta(days=7), 5400), stretch(NOON, 90, item="r-b")]),
        make_timesheet("ben", [stretch(NOON, 1), stretch(NOON + timedelta(minutes=1), 1, item="r-b")]),
    ]
    assert export_timesheet(sheets).split("\r\n") == [
        "account,week,day,items,active_seconds,active_hours",
        "anna,2026-W49,2026-11-30,1,90,0.03",
        "anna,2026-W50,2026-12-07,1,5400,1.5",
        "ben,2026-W49,2026-11-30,2,2,0.0",
        "",
    ]


# How long a task takes


def record(store: Store, account: Account, name: str, *actions: Action, slot: int = 0, key: str = "") -> None:
    store.desk.record(
        [
            DeskEvent(
                id=f"{account.name}-{name}-{slot}-{number}{key}",
                review_id=f"r-{name}",
                slot=slot,
                actor=account.name,
                at=NOON,
                action=action,
            )
            for number, action in enumerate(actions)
        ]
    )


def blind(seconds: float) -> Committed:
    return Committed(assessment=Assessment(), rubric="x", seconds=seconds)


def final(seconds: float) -> Finished:
    return Finished(assessment=Assessment(), seconds=seconds)


def reviewed(store: Store, people: list[Account], count: int) -> None:
    """Have `people` in turn review `count` submissions, which take 100 s, 101 s and so on."""
    names = [f"{number:02}" for number in range(count)]
    save_waiting(store, *names)
    for number, name in enumerate(names):
        record(store, people[number % len(people)], name, blind(90 + number), final(10))


def test_a_task_has_a_median_of_everybody_and_ones_own(store: Store) -> None:
    reviewed(store, [ANNA, BEN, CARLA], 21)
    (pace,) = Pace(store).compare(ANNA)
    assert (pace.task_id, pace.reviews, pace.median_seconds) == ("matmul_tiled", 21, 110)
    assert (pace.mine, pace.my_median_seconds) == (7, 109)
    (others,) = Pace(store).compare(DORA)
    assert (others.mine, others.my_median_seconds) == (0, None)


def test_few_reviews_have_no_median(store: Store) -> None:
    reviewed(store, [ANNA, BEN, CARLA], 19)
    (pace,) = Pace(store).compare(ANNA)
    assert (pace.reviews, pace.median_seconds) == (19, None)


def test_two_peoples_reviews_have_no_median_for_it_would_tell_the_others(store: Store) -> None:
    reviewed(store, [ANNA, BEN], 30)
    (pace,) = Pace(store).compare(ANNA)
    assert (pace.reviews, pace.median_seconds) == (30, None)


def test_new_reviews_are_taken_in_and_a_final_that_is_made_again_counts_once(store: Store) -> None:
    pace = Pace(store)
    assert pace.compare(ANNA) == []
    save_waiting(store, "a", "b")
    record(store, ANNA, "a", blind(100), final(10))
    assert pace.compare(ANNA)[0].my_median_seconds == 110
    record(store, ANNA, "a", final(30), key="again")
    record(store, ANNA, "b", blind(200))
    assert pace.compare(ANNA)[0].my_median_seconds == 165


@pytest.mark.parametrize("purpose", [Purpose.ADJUDICATION, Purpose.NORMING])
def test_adjudications_and_norming_are_no_reviews(store: Store, purpose: Purpose) -> None:
    save_waiting(store, "a")
    desk = Account(name="desk", role=Role.VIEWER)
    record(store, desk, "a", SlotOpened(purpose=purpose), slot=1)
    record(store, ANNA, "a", blind(500), slot=1)
    record(store, BEN, "a", blind(100))
    assert [pace.reviews for pace in Pace(store).compare(ANNA)] == [1]
