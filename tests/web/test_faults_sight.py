"""What pages give away: nobody can tell a planted or an audited item from any other."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import DeskSettings, Purpose
from pipeline.web.context import Options
from tests.web.conftest import ClientFactory
from tests.web.reviews import commit, draw, finish

PLAIN = DeskSettings(second_review_rate=0, gold_rate=0, audit_rate=0, undo_seconds=0)


def plant_one(desk: Desk, accounts: Accounts) -> str:
    """Have ben decide a review, and dora plant it as the next item that anybody is served."""
    ben, dora = accounts.find("ben"), accounts.find("dora")
    assert ben is not None
    assert dora is not None
    desk.change_settings(dora, PLAIN)
    place = draw(desk, ben)
    review_id = place.item.review.id
    finish(desk, ben, commit(desk, ben, place, level=3, note="BEN-SAID-THIS"))
    desk.decide(review_id)
    desk.plant(dora, review_id, dict.fromkeys(desk.asked_criteria(review_id), 3), key="plant it")
    desk.change_settings(dora, PLAIN.model_copy(update={"gold_rate": 1}))
    return review_id


def test_the_history_of_a_gold_item_looks_open_to_whoever_was_served_it(
    desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    review_id = plant_one(desk, accounts)
    anna = accounts.find("anna")
    assert anna is not None
    place = draw(desk, anna)
    assert (place.item.review.id, place.purpose) == (review_id, Purpose.GOLD)
    browser = client("anna")
    committed = commit(desk, anna, place, level=2)
    before_the_end = browser.get(f"/history/{review_id}").text
    finish(desk, anna, committed)
    for page in (before_the_end, browser.get(f"/history/{review_id}").text):
        assert "left out until the review is decided" in page
        assert "gold" not in page.lower()
        assert "BEN-SAID-THIS" not in page
        assert "Decided" not in page


def test_the_history_does_not_say_how_old_an_item_is_before_the_commit(
    desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    """A gold item was opened long before whatever else is served on that day."""
    plant_one(desk, accounts)
    anna = accounts.find("anna")
    assert anna is not None
    place = draw(desk, anna)
    page = client("anna").get(f"/history/{place.item.review.id}").text
    assert "Review opened" in page
    assert f"{place.item.review.opened_at:%Y-%m-%dT%H:%M}" not in page.partition("Claimed")[0]


def test_whoever_reviewed_an_item_before_is_not_told_that_it_became_a_gold_item(
    desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    review_id = plant_one(desk, accounts)
    page = client("ben").get(f"/history/{review_id}").text
    assert "BEN-SAID-THIS" in page
    assert "gold" not in page.lower()
    assert "gold" in client("dora").get(f"/history/{review_id}").text.lower()


@pytest.mark.parametrize("name", ["anna", "carla"])
def test_the_lists_of_batches_name_no_grading_to_people_who_review(
    store: Store, client: ClientFactory, name: str
) -> None:
    """The id of a review follows from that of its grading: who sees both learns which items are audits."""
    (batch,) = store.list_batches()
    page = client(name).get(f"/batches/{batch.id}/gradings").text
    gradings = [row.grading_id for row in store.list_gradings()]
    assert "4 gradings" in page
    assert not [grading_id for grading_id in gradings if grading_id in page]
    lead = client("dora").get(f"/batches/{batch.id}/gradings").text
    assert all(grading_id in lead for grading_id in gradings)


class TestBehindAProxy:
    """Where a proxy says who is there."""

    @pytest.fixture
    def options(self) -> Options:
        return Options(identity_header="X-Remote-User", trusted_proxies=("127.0.0.0/8",))

    def test_a_name_that_a_browser_slipped_in_beside_the_proxys_is_believed_by_nobody(
        self, app: FastAPI
    ) -> None:
        client = TestClient(app, client=("127.0.0.1", 1), follow_redirects=False)
        alone = client.get("/queue", headers=[("X-Remote-User", "anna")])
        assert alone.status_code == 200
        twice = client.get("/admin", headers=[("X-Remote-User", "dora"), ("X-Remote-User", "anna")])
        assert twice.status_code == 403
