"""Leases under a clock that somebody sets: nobody keeps an item for longer than a lease lasts."""

from __future__ import annotations

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import PlaceState
from pipeline.store import Store
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import ANNA, BEN, DORA, PLAIN, Clock, add_waiting


@pytest.fixture
def desk(store: Store, open_desk: OpenDesk) -> Desk:
    add_waiting(store, "one")
    return open_desk()


@pytest.mark.parametrize("hours", [0.5, 2, 24, 24 * 3650])
def test_a_clock_that_jumps_ahead_and_back_leaves_no_lease_without_an_end(
    desk: Desk, open_desk: OpenDesk, clock: Clock, hours: float
) -> None:
    clock.pass_by(hours * 3600)
    held = desk.draw(ANNA, key="1")
    assert held is not None
    clock.pass_by(-hours * 3600)
    assert desk.draw(BEN, key="1") is None
    restarted = open_desk()
    for one in (desk, restarted):
        one.refresh()
        until = one.place("r-one", 0).lease_until
        assert until is not None
        assert (until - clock.now).total_seconds() == 30 * 60
        assert one.renew(ANNA, "r-one", 0, held.lease_id).lease_until == until, "whoever is at work keeps it"
    clock.pass_by(30 * 60)
    for one in (desk, restarted):
        one.refresh()
        assert one.place("r-one", 0).state is PlaceState.WAITING


def test_a_clock_that_jumps_ahead_costs_a_lease_and_no_text(desk: Desk, clock: Clock) -> None:
    held = desk.draw(ANNA, key="1")
    assert held is not None
    clock.pass_by(24 * 3600)
    desk.refresh()
    clock.pass_by(-24 * 3600)
    assert desk.place("r-one", 0).state is PlaceState.WAITING
    assert desk.renew(ANNA, "r-one", 0, held.lease_id).holder == "anna"


def test_a_shorter_lease_holds_for_what_is_held_already(desk: Desk, clock: Clock) -> None:
    held = desk.draw(ANNA, key="1")
    assert held is not None
    desk.change_settings(DORA, PLAIN.model_copy(update={"lease_minutes": 5}))
    desk.refresh()
    clock.pass_by(5 * 60)
    assert desk.draw(BEN, key="1") is not None
    with pytest.raises(DeskError) as refused:
        desk.renew(ANNA, "r-one", 0, held.lease_id)
    assert refused.value.code == "lease_lost"
