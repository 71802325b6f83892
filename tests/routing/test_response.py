"""What chance drew and nobody answered is counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.review.labels import read_labels
from pipeline.routing.observations import observe, read_scopes
from pipeline.routing.response import Response, measure_response
from pipeline.store import Store
from pipeline.types import Scope
from tests.review.desk_examples import FINGERPRINT, copy_store
from tests.routing.crowd import POLICY
from tests.routing.stream import fill_stream


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


def response_of(store: Store, **changed: str) -> Response:
    scope = Scope.of(FINGERPRINT.model_copy(update=changed))
    assert scope in read_scopes(store)
    return measure_response(store, observe(store, scope, read_labels(store), POLICY))


def test_drawn_submissions_without_an_answer_are_counted_scope_by_scope(store: Store) -> None:
    fill_stream(store, 30, 12, twice=4)
    other = FINGERPRINT.model_copy(update={"judge": "another"})
    fill_stream(store, 8, 8, twice=0, fingerprint=other, seed=2)
    assert response_of(store) == Response(drawn=30, waiting=18)
    assert response_of(store, judge="another") == Response(drawn=8, waiting=0)


def test_where_nobody_drew_nothing_waits(store: Store) -> None:
    fill_stream(store, 6, 2, twice=2, calibration=None)
    assert response_of(store) == Response(drawn=0, waiting=0)
