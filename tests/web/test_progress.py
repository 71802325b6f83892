"""Progress: every number says what it rests on and leads to the reviews behind it."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account, Cause, DeskSettings, Revision
from pipeline.web.progress_lists import ProgressLists
from tests.web.conftest import WAITING, ClientFactory
from tests.web.reviews import assess, commit, draw, new_key, review_all


def _account(accounts: Accounts, name: str) -> Account:
    account = accounts.find(name)
    assert account is not None
    return account


@pytest.fixture
def agreeing(desk: Desk, accounts: Accounts) -> None:
    """Anna and ben review everything and agree, except that ben is one level higher; all is decided."""
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    review_all(desk, _account(accounts, "anna"), 3)
    review_all(desk, _account(accounts, "ben"), 4)
    assert len(desk.decide_due()) == len(WAITING)


def test_an_untouched_queue_shows_what_waits_and_no_figure_out_of_nothing(
    desk: Desk, client: ClientFactory
) -> None:
    vera = client("vera")
    page = vera.get("/progress").text
    assert f'<a href="/progress/reviews?kind=waiting">{len(WAITING)}</a>' in page
    assert "No submission has two reviews yet." in page
    assert "nan" not in page.lower()
    listed = vera.get("/progress/reviews?kind=waiting").text
    for place in desk.list_places():
        assert place.item.review.id in listed


def test_every_number_leads_to_a_list_that_has_as_many(agreeing: None, client: ClientFactory) -> None:
    dora = client("dora")
    page = dora.get("/progress").text
    links = re.findall(r'<a href="(/progress/reviews[^"]*)">(\d+)</a>', page)
    assert any("kind=people" in link for link, _ in links)
    assert any("kind=finished" in link for link, _ in links)
    for link, count in links:
        answer = dora.get(html.unescape(link))
        assert answer.status_code == 200, link
        assert f": {count}</h1>" in answer.text, link


def test_of_few_reviews_no_rate_is_shown_but_the_levels_are(agreeing: None, client: ClientFactory) -> None:
    page = client("dora").get("/progress").text
    assert "too few" in page
    # Anna's 3 against ben's 4, in row 3 and column 4: three kernels have one rubric and one has another.
    assert set(re.findall(r'first=3&amp;second=4">(\d)</a>', page)) == {"3", "1"}
    assert "first=4&amp;second=3" not in page


def test_levels_of_an_open_review_are_in_no_list(
    desk: Desk, accounts: Accounts, store: Store, client: ClientFactory
) -> None:
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=3600.0),
    )
    review_all(desk, _account(accounts, "anna"), 3)
    review_all(desk, _account(accounts, "ben"), 4)
    criterion = desk.asked_criteria(desk.list_places()[0].item.review.id)[0]
    rubric = desk.rubric_of(desk.list_places()[0].item.review.id)
    name = f"{rubric.id} {rubric.version}"
    assert ProgressLists(store).compared("people", name, criterion, None, "dora") == []


def test_changes_are_listed_with_their_cause(
    desk: Desk, accounts: Accounts, store: Store, client: ClientFactory
) -> None:
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=0.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    anna = _account(accounts, "anna")
    place = commit(desk, anna, draw(desk, anna), 3)
    review_id = place.item.review.id
    first = desk.asked_criteria(review_id)[0]
    changed = assess(desk, review_id, 3)
    answers = {**changed.answers, first: changed.answers[first].model_copy(update={"level": 2})}
    desk.finish(
        anna,
        review_id,
        place.slot,
        changed.model_copy(update={"answers": answers}),
        revisions=(Revision(criterion=first, before=3, after=2, cause=Cause.SLIP),),
        seconds=5,
        key=new_key(),
    )
    desk.decide(review_id)
    page = client("dora").get("/progress/reviews?kind=changed&cause=slip").text
    assert f"{first}: 3 → 2, slip" in page
    assert f'href="/history/{review_id}"' in page
    assert ": 0</h1>" in client("dora").get("/progress/reviews?kind=changed&cause=edge_case").text


@pytest.mark.parametrize(
    "query",
    ["kind=none", "kind=committed&day=soon", "kind=people&first=9&second=1", "kind=changed&cause=x", ""],
)
def test_a_query_that_means_nothing_is_refused(client: ClientFactory, query: str) -> None:
    assert client("dora").get(f"/progress/reviews?{query}").status_code == 422


def test_reviewers_do_not_see_it_and_viewers_see_no_person(agreeing: None, client: ClientFactory) -> None:
    for name in ("anna", "carla"):
        assert client(name).get("/progress").status_code == 403
        assert client(name).get("/progress/reviews?kind=waiting").status_code == 403
    page = client("vera").get("/progress").text
    assert "Fast, and with all of the judge" not in page
    main = page[page.index("<main") :]
    assert "anna" not in main
    assert "ben" not in re.findall(r"\w+", main)


def test_todays_work_is_in_todays_row(agreeing: None, client: ClientFactory) -> None:
    today = datetime.now(UTC).date().isoformat()
    page = client("dora").get(f"/progress/reviews?kind=committed&day={today}").text
    assert f": {2 * len(WAITING)}</h1>" in page or ": 0</h1>" in page  # the latter at midnight
