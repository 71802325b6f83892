"""Reviews made through the desk itself, for tests whose pages show what came of them."""

from __future__ import annotations

import uuid

from pipeline.review.desk import Desk
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Answer, Assessment


def new_key() -> str:
    return uuid.uuid4().hex


def assess(desk: Desk, review_id: str, level: int, note: str = "", reason: str = "") -> Assessment:
    """Return an assessment that gives every asked criterion `level`."""
    answers = {name: Answer(level=level, reason=reason) for name in desk.asked_criteria(review_id)}
    return Assessment(answers=answers, note=note)


def draw(desk: Desk, account: Account) -> Place:
    place = desk.draw(account, key=new_key())
    assert place is not None
    return place


def commit(desk: Desk, account: Account, place: Place, level: int, note: str = "", reason: str = "") -> Place:
    review_id = place.item.review.id
    return desk.commit(
        account,
        review_id,
        place.slot,
        place.lease_id,
        assess(desk, review_id, level, note, reason),
        rubric=place.item.rubric,
        seconds=60.0,
        key=new_key(),
    )


def finish(desk: Desk, account: Account, place: Place) -> Place:
    """Finish a committed place as it was committed."""
    assert place.submitted is not None
    return desk.finish(
        account,
        place.item.review.id,
        place.slot,
        place.submitted.blind,
        revisions=(),
        seconds=10.0,
        key=new_key(),
    )


def review_all(desk: Desk, account: Account, level: int, note: str = "", reason: str = "") -> list[Place]:
    """Assess everything that `account` is served, at `level`."""
    done: list[Place] = []
    while (place := desk.draw(account, key=new_key())) is not None:
        assert len(done) < 50
        if place.state is PlaceState.HELD:
            place = commit(desk, account, place, level, note, reason)
        done.append(finish(desk, account, place))
    return done
