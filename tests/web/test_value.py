"""What leads are told of the order of the queue, and that reviewers are told nothing of it."""

from __future__ import annotations

import re

import pytest

from pipeline.review.accounts import Accounts
from pipeline.store import Document, StageRecord, Store
from pipeline.types import Confidence
from tests.review.desk_examples import ANNA, RUBRIC, TASK
from tests.review.labelled import Teller, add_review
from tests.web.api_caller import caller, key
from tests.web.conftest import WAITING, ClientFactory
from tests.web.test_admin import SETTINGS, find
from tests.web.test_api import CallerFactory

__all__ = ["caller"]

#: Of a draft, and the value that it leaves: so odd that nothing else looks like them.
CONFIDENCE, VALUE = "0.123457", "0.876543"


@pytest.fixture
def doubted(store: Store) -> None:
    """Every draft is trusted as far as `CONFIDENCE`."""
    for number, state in enumerate(store.list_reviews()):
        output = Confidence(value=float(CONFIDENCE), reason="tests").model_dump_json()
        store.record_stage(StageRecord(stage="assess", key=f"odd-{number}", output=output, seconds=0.1))
        store.link_stages(state.review.grading_id, {"assess": f"odd-{number}"})
    assert {item.confidence for _, item in store.desk.list_items()} == {float(CONFIDENCE)}


@pytest.fixture
def paced(store: Store) -> None:
    """Twenty reviews are done, of a minute up to the commit and half a minute from there to the end."""
    for kind, model in (("rubric", RUBRIC), ("task", TASK)):
        document = Document(
            kind=kind, id=model.id, version="", sha256=model.content_hash(), text=model.model_dump_json()
        )
        store.save_documents([document])
    teller = Teller(store)
    for number in range(20):
        add_review(store, f"n{number}")
        teller.commit(ANNA, f"n{number}", seconds=60, clarity=3, safety=3)
        teller.finish(ANNA, f"n{number}", seconds=30, clarity=3, safety=3)
    teller.keep()


def offer(accounts: Accounts, name: str, hours: float | None) -> None:
    person = find(accounts, name)
    accounts.change(find(accounts, "dora"), person.model_copy(update={"hours_tonight": hours}))


def test_a_reviewer_is_told_neither_confidence_nor_value(doubted: None, client: ClientFactory) -> None:
    anna = client("anna")
    address = anna.post("/draw", data={"key": "the first draw"}).headers["Location"]
    review_id = address.split("/")[2]
    pages = ["/queue", address, f"/history/{review_id}", "/timesheet", "/"]
    texts = {page: anna.get(page, follow_redirects=True).text for page in pages}
    assert review_id in texts[address]
    for page, text in texts.items():
        assert CONFIDENCE not in text, page
        assert VALUE not in text, page


def test_a_program_is_told_neither_confidence_nor_value(doubted: None, caller: CallerFactory) -> None:
    anna, dora = caller("anna"), caller("dora")
    place = anna.ask("POST", "/queue/draw", {"key": key()})["place"]
    path = f"/places/{place['review_id']}/{place['slot']}"
    told = [anna.ask("GET", asked) for asked in ("/queue", f"{path}/item", f"{path}/evidence")]
    told.append(dora.ask("GET", "/places"))
    for text in map(str, (place, *told)):
        assert CONFIDENCE not in text
        assert VALUE not in text


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (0.05, "room for about 2 of 4; the 2 most valuable come first"),
        (0.01, "there is no room for any of the 4"),
        (0.1, None),
        (None, None),
    ],
)
def test_leads_are_told_when_the_hours_of_tonight_do_not_fit_all(
    paced: None, client: ClientFactory, accounts: Accounts, hours: float | None, said: str | None
) -> None:
    assert len(WAITING) == 4
    offer(accounts, "anna", hours)
    page = " ".join(re.sub("<[^>]+>", " ", client("dora").get("/progress").text).split())
    if said is None:
        assert "Not all of it fits" not in page
    else:
        assert f"Not all of it fits into the hours offered tonight: {said}" in page


def test_without_value_hours_the_longest_wait_is_said_to_come_first(
    paced: None, client: ClientFactory, accounts: Accounts
) -> None:
    dora = client("dora")
    dora.post("/admin/settings", data={**SETTINGS, "value_hours": "0"})
    offer(accounts, "anna", 0.05)
    assert "room for about 2 of 4; the 2 that wait longest come first." in dora.get("/progress").text
