"""What is made before anybody asks for it."""

from __future__ import annotations

import itertools

from fastapi import FastAPI

from pipeline.review.desk import Desk
from pipeline.web.preparation import Preparation
from pipeline.web.services import reading_of
from tests.web.conftest import WAITING


def test_each_step_makes_a_little_of_what_is_at_the_front_of_the_queue(app: FastAPI, desk: Desk) -> None:
    # Every look at this clock is a minute later than the last: a step has time for one page.
    minutes = itertools.count(step=60)
    preparation = Preparation(app, clock=lambda: float(next(minutes)))
    upcoming = desk.list_upcoming(10)
    assert len(upcoming) == len(WAITING)
    preparation.step()
    preparation.step()
    assert [reading_of(app).prepare(item) for item in upcoming] == [False, False, True, True]


def test_a_step_with_time_makes_all_of_it(app: FastAPI, desk: Desk) -> None:
    Preparation(app, clock=lambda: 0.0).step()
    assert not any(reading_of(app).prepare(item) for item in desk.list_upcoming(10))
