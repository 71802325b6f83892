"""The value of a review: what is served first, and that the order tells nobody what they are not to know."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.desk import Desk
from pipeline.review.value import audit_value, queue_key, review_value
from pipeline.store import StageRecord, Store
from pipeline.types import Confidence, Destination, Purpose, Review
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    NOON,
    PLAIN,
    add_accepted,
    add_waiting,
    assess,
    review_once,
)

shares = st.floats(0, 1)
chances = st.floats(0, 1, exclude_max=True)
minutes = st.integers(0, 60 * 24 * 60)

BY_VALUE = PLAIN.model_copy(update={"value_hours": 168.0})
BY_AGE = PLAIN.model_copy(update={"value_hours": 0.0})


def tell_confidence(store: Store, name: str, value: float | None, key: str = "1") -> None:
    """Keep how far the draft of a grading can be trusted."""
    output = Confidence(value=value, reason="tests").model_dump_json()
    store.record_stage(StageRecord(stage="assess", key=f"assess-{name}-{key}", output=output, seconds=0.1))
    store.link_stages(f"g-{name}", {"assess": f"assess-{name}-{key}"})


def add_drafted(store: Store, name: str, confidence: float | None, *, day: int) -> str:
    """Keep a grading that waits since `day`, with a draft that can be trusted so far."""
    review_id = add_waiting(store, name, minute=day)
    tell_confidence(store, name, confidence)
    return review_id


def order_of(desk: Desk) -> list[str]:
    return [item.review.id.removeprefix("r-") for item in desk.list_upcoming(1000)]


@pytest.mark.parametrize(
    ("confidence", "value"),
    [
        (0.0, 1.0),
        (0.25, 0.75),
        (0.875, 0.125),
        (None, 1.0),
        # Facts alone settled it, and they are what the route doubts.
        (1.0, 1.0),
        (-0.5, 1.0),
        (math.nan, 1.0),
        (math.inf, 1.0),
    ],
)
def test_the_value_is_what_the_confidence_leaves_open(confidence: float | None, value: float) -> None:
    assert review_value(confidence) == value


@pytest.mark.parametrize(
    ("chance", "value"), [(0.0, 0.1), (0.24, 0.1), (0.25, 0.4), (0.5, 0.4), (0.75, 1.0), (0.999, 1.0)]
)
def test_an_audit_gets_the_value_of_another_review_by_chance(chance: float, value: float) -> None:
    assert audit_value(chance, [0.1, 0.4, 0.4, 1.0]) == value


def test_an_audit_that_is_alone_gets_any_value() -> None:
    assert audit_value(0.3, []) == 0.3


@given(st.lists(shares, min_size=1).map(sorted), chances)
def test_the_value_of_an_audit_is_one_that_others_have(others: list[float], chance: float) -> None:
    assert audit_value(chance, others) in others


@given(shares, shares, shares, shares, minutes, st.integers(0, 168), st.booleans())
def test_what_waits_longer_than_the_value_hours_is_never_overtaken(
    value: float,
    other_value: float,
    chance: float,
    other_chance: float,
    age: int,
    hours: int,
    drawn: bool,
) -> None:
    # An hour of chance, a quarter of one that audits are ahead, and a second for rounding.
    later = NOON + timedelta(hours=hours + 1.25, seconds=1, minutes=age)
    first = queue_key(NOON, value, chance=chance, drawn=False, value_hours=hours)
    second = queue_key(later, other_value, chance=other_chance, drawn=drawn, value_hours=hours)
    assert first < second


def test_the_key_is_counted_by_hand() -> None:
    # Two hours of waiting for half the value, half an hour of chance against it, a quarter ahead as an audit.
    plain = queue_key(NOON, 0.5, chance=0.5, drawn=False, value_hours=4)
    audit = queue_key(NOON, 0.5, chance=0.5, drawn=True, value_hours=4)
    assert plain - NOON.timestamp() == -2 * 3600 + 1800
    assert plain - audit == 900


def test_the_most_doubtful_is_served_first(store: Store, open_desk: OpenDesk) -> None:
    add_drafted(store, "sure", 0.9, day=0)
    add_drafted(store, "unsure", 0.3, day=1)
    add_drafted(store, "unknown", None, day=2)
    desk = open_desk(BY_VALUE)
    # Of 7 days: 0.1 is 0.7 days ahead, 0.7 is 4.9 and 1 is 7.
    assert order_of(desk) == ["unknown", "unsure", "sure"]
    place = desk.draw(ANNA, key="1")
    assert place is not None
    assert place.item.review.id == "r-unknown"


def test_a_grade_without_a_draft_is_worth_most(store: Store, open_desk: OpenDesk) -> None:
    add_drafted(store, "unsure", 0.3, day=0)
    add_waiting(store, "undrafted", minute=2)
    # 0.7 * 7 = 4.9 days ahead against 7, and two days later.
    assert order_of(open_desk(BY_VALUE)) == ["undrafted", "unsure"]


def test_without_value_hours_the_longest_wait_is_served_first(store: Store, open_desk: OpenDesk) -> None:
    for day, confidence in enumerate((0.9, None, 0.1)):
        add_drafted(store, f"day{day}", confidence, day=day)
    assert order_of(open_desk(BY_AGE)) == ["day0", "day1", "day2"]


def test_what_is_worth_little_comes_up_with_age(store: Store, open_desk: OpenDesk) -> None:
    add_drafted(store, "sure", 0.9, day=0)
    add_drafted(store, "unsure", 0.0, day=10)
    # 0.7 days ahead against 7, and ten days earlier.
    assert order_of(open_desk(BY_VALUE)) == ["sure", "unsure"]


def test_a_changed_setting_holds_at_once_and_after_a_restart(store: Store, open_desk: OpenDesk) -> None:
    add_drafted(store, "sure", 0.9, day=0)
    add_drafted(store, "unsure", 0.0, day=1)
    desk = open_desk(BY_AGE)
    assert order_of(desk) == ["sure", "unsure"]
    desk.change_settings(DORA, BY_VALUE)
    assert order_of(desk) == ["unsure", "sure"]
    assert order_of(open_desk(BY_VALUE)) == ["unsure", "sure"]
    assert desk.describe_queue(ANNA).waiting == 2
    for _ in range(2):
        review_once(desk, ANNA)
    assert desk.draw(ANNA, key="nothing is left behind on the board") is None
    desk.change_settings(DORA, BY_AGE)
    assert order_of(desk) == []


def test_a_setting_changed_by_another_process_holds_after_the_next_look(
    store: Store, open_desk: OpenDesk
) -> None:
    add_drafted(store, "sure", 0.9, day=0)
    add_drafted(store, "unsure", 0.0, day=1)
    desk = open_desk(BY_AGE)
    store.desk.save_record("settings", "desk", BY_VALUE)
    desk.refresh()
    assert order_of(desk) == ["unsure", "sure"]


def test_a_second_review_stands_right_behind_its_first(store: Store, open_desk: OpenDesk) -> None:
    for number, confidence in enumerate((0.9, 0.5, 0.1)):
        add_waiting(store, f"n{number}", minute=number, destination=Destination.SECOND_REVIEW)
        tell_confidence(store, f"n{number}", confidence)
    for settings, order in ((BY_VALUE, ["n2", "n1", "n0"]), (BY_AGE, ["n0", "n1", "n2"])):
        assert order_of(open_desk(settings)) == [name for name in order for _ in range(2)]
    desk = open_desk(BY_VALUE)
    first, second = desk.draw(ANNA, key="1"), desk.draw(BEN, key="2")
    assert first is not None
    assert second is not None
    assert (first.item.review.id, first.purpose) == ("r-n2", Purpose.FIRST)
    assert (second.item.review.id, second.purpose) == ("r-n2", Purpose.SECOND)


def test_adjudications_go_by_value_too(store: Store, open_desk: OpenDesk) -> None:
    for name, confidence, day in (("sure", 0.9, 0), ("unsure", 0.0, 1)):
        add_waiting(store, name, minute=day, destination=Destination.SECOND_REVIEW)
        tell_confidence(store, name, confidence)
    desk = open_desk(BY_VALUE)
    for account, level in ((ANNA, 0), (BEN, 4)):
        for _ in range(2):
            review_once(desk, account, assess(level, level))
    place = desk.draw(CARLA, key="1")
    assert place is not None
    assert (place.item.review.id, place.purpose) == ("r-unsure", Purpose.ADJUDICATION)
    desk.hand_back(CARLA, place.item.review.id, place.slot, place.lease_id, reason="", skip=False)
    desk.change_settings(DORA, BY_AGE)
    place = desk.draw(CARLA, key="2")
    assert place is not None
    assert place.item.review.id == "r-sure"


@pytest.mark.parametrize(
    ("confidences", "drawn"),
    [
        ((None,), {"kind": "audit"}),
        ((0.9,), {"kind": "audit"}),
        ((0.1, 0.9), {"kind": "audit"}),
        ((0.0, 0.3, 0.6, None), {"kind": "audit"}),
        ((0.0, 0.3, 0.6, None), {"calibration": 0.2}),
    ],
    ids=lambda given: "-".join(given) if isinstance(given, dict) else f"{len(given)} values",
)
def test_what_chance_drew_stands_among_the_others_as_early_and_as_late(
    store: Store,
    open_desk: OpenDesk,
    confidences: tuple[float | None, ...],
    drawn: dict[str, object],
) -> None:
    for number in range(40):
        add_drafted(store, f"routed{number}", confidences[number % len(confidences)], day=100)
        name = f"drawn{number}"
        add_accepted(store, name)
        tell_confidence(store, name, 1.0 if "kind" in drawn else 0.99)
    for number in range(40):
        name = f"drawn{number}"
        store.open_review(
            Review.model_validate(
                {"id": f"r-{name}", "grading_id": f"g-{name}", "reason": "", "opened_at": NOON, **drawn}
            )
        )
    names = order_of(open_desk(BY_VALUE))
    early = sum(name.startswith("drawn") for name in names[:40])
    # 20 by chance with a standard deviation of 2.2, and some more for their head start of 15 minutes.
    assert 16 <= early <= 32


def test_the_newest_confidence_counts(store: Store) -> None:
    add_drafted(store, "one", 0.9, day=0)
    tell_confidence(store, "one", 0.25, key="2")
    add_drafted(store, "none", None, day=1)
    add_waiting(store, "undrafted", minute=2)
    found = {item.review.id: item.confidence for _, item in store.desk.list_items()}
    assert found == {"r-one": 0.25, "r-none": None, "r-undrafted": None}


def test_what_is_no_number_is_no_confidence(store: Store) -> None:
    add_waiting(store, "odd")
    for key, output in (("1", '{"value": "nonsense"}'), ("2", '{"value": {"a": 1}}'), ("3", "[]")):
        store.record_stage(StageRecord(stage="assess", key=f"odd-{key}", output=output, seconds=0.1))
        store.link_stages("g-odd", {"assess": f"odd-{key}"})
        ((_, item),) = store.desk.list_items()
        assert item.confidence is None


def test_no_file_or_page_made_of_an_item_bears_its_confidence(store: Store, open_desk: OpenDesk) -> None:
    add_drafted(store, "one", 0.123457, day=0)
    ((_, item),) = store.desk.list_items()
    assert item.confidence == 0.123457
    place = open_desk().draw(ANNA, key="1")
    assert place is not None
    for text in (item.model_dump_json(), repr(item), repr(item.model_dump()), repr(place)):
        assert "0.123457" not in text
        assert "confidence" not in text
