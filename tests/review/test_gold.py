"""Gold items: agreement with known levels, for oneself and in aggregate."""

from __future__ import annotations

import pytest

from pipeline.review.errors import DeskError
from pipeline.review.gold import Accuracy, Gold
from pipeline.stats.intervals import wilson_interval
from pipeline.store import Store
from pipeline.types import (
    Account,
    Action,
    Answer,
    Assessment,
    Committed,
    DeskEvent,
    Planted,
    Purpose,
    SlotOpened,
)
from tests.review.desk_examples import ANNA, BEN, CARLA, DORA, VERA, Clock
from tests.store.examples import save_waiting


class Told:
    """Tells a store what happened, each event with an id of its own."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock, self._count = store, clock, 0

    def __call__(self, account: Account, name: str, action: Action, slot: int = 0) -> None:
        self._count += 1
        event = DeskEvent(
            id=f"e-{self._count}",
            review_id=f"r-{name}",
            slot=slot,
            actor=account.name,
            at=self._clock(),
            action=action,
        )
        self._store.desk.record([event])

    def answers(self, account: Account, name: str, slot: int, **levels: int | None) -> None:
        """Have somebody commit these levels in a place for gold."""
        self(DORA, name, SlotOpened(purpose=Purpose.GOLD), slot)
        self(account, name, commit(**levels), slot)


def commit(**levels: int | None) -> Committed:
    answers = {name: Answer(level=level, reason="unclear") for name, level in levels.items()}
    return Committed(assessment=Assessment(answers=answers), rubric="x", seconds=60)


@pytest.fixture
def told(store: Store, clock: Clock) -> Told:
    save_waiting(store, "a", "b")
    return Told(store, clock)


@pytest.fixture
def gold(store: Store, clock: Clock) -> Gold:
    return Gold(store, clock=clock)


def test_levels_are_compared_one_by_one(told: Told, gold: Gold) -> None:
    told(DORA, "a", Planted(levels={"clarity": 3, "speed": 2, "tail": 1, "docs": 4}))
    told.answers(ANNA, "a", 1, clarity=3, speed=1, tail=3, docs=None, other=0)
    told.answers(BEN, "a", 2, clarity=3, speed=2)
    figures = gold.figures(DORA)
    assert figures.people == 2
    assert figures.overall == Accuracy(items=2, levels=5, exact=3, within_one=4, unjudged=1)
    assert figures.by_criterion == {
        "clarity": Accuracy(2, 2, 2, 2, 0),
        "docs": Accuracy(1, 0, 0, 0, 1),
        "speed": Accuracy(2, 2, 1, 2, 0),
        "tail": Accuracy(1, 1, 0, 0, 0),
    }
    assert figures.overall.interval == wilson_interval(3, 5)
    assert not figures.overall.enough


def test_only_places_for_gold_count(told: Told, gold: Gold) -> None:
    told(ANNA, "a", commit(clarity=3))
    told(DORA, "a", SlotOpened(purpose=Purpose.NORMING), 1)
    told(BEN, "a", commit(clarity=3), 1)
    told(DORA, "a", Planted(levels={"clarity": 3}))
    assert gold.figures(DORA).overall.levels == 0
    assert gold.figures(DORA).overall.interval == wilson_interval(0, 0)


def test_the_newest_known_levels_count_and_none_are_none(told: Told, gold: Gold) -> None:
    told(DORA, "a", Planted(levels={"clarity": 3}))
    told.answers(ANNA, "a", 1, clarity=2)
    assert gold.figures(DORA).overall.exact == 0
    told(DORA, "a", Planted(levels={"clarity": 2}))
    assert gold.figures(DORA).overall.exact == 1
    told(DORA, "a", Planted(levels={}))
    assert gold.figures(DORA).overall.levels == 0


def test_ones_own_accuracy_is_that_of_earlier_days(told: Told, gold: Gold, clock: Clock) -> None:
    for name in ("a", "b"):
        told(DORA, name, Planted(levels={"clarity": 3}))
    told.answers(ANNA, "a", 1, clarity=3)
    told.answers(BEN, "a", 2, clarity=0)
    assert gold.own_accuracy(ANNA).levels == 0
    clock.pass_by(86_400)
    told.answers(ANNA, "b", 1, clarity=2)
    assert gold.own_accuracy(ANNA) == Accuracy(items=1, levels=1, exact=1, within_one=1, unjudged=0)
    assert gold.own_accuracy(CARLA).levels == 0


def test_twenty_levels_are_enough_for_a_rate(told: Told, gold: Gold) -> None:
    levels = {f"c{number:02}": 1 for number in range(20)}
    told(DORA, "a", Planted(levels=levels))
    told.answers(ANNA, "a", 1, **dict(list(levels.items())[:19]))
    assert not gold.figures(DORA).overall.enough
    told.answers(BEN, "a", 2, c00=1)
    assert gold.figures(DORA).overall.enough


def test_figures_of_everybody_are_for_those_who_see_progress(gold: Gold) -> None:
    gold.figures(VERA)
    for account in (ANNA, CARLA):
        with pytest.raises(DeskError) as refused:
            gold.figures(account)
        assert refused.value.code == "forbidden"
