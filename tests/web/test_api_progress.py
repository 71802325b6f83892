"""Progress and agreement over the API: the page's figures for leads and viewers, and what is behind each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.types import Account, DeskSettings
from tests.web.api_caller import Caller, caller
from tests.web.conftest import WAITING
from tests.web.reviews import review_all

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]


@pytest.fixture
def agreeing(desk: Desk, accounts: Accounts) -> None:
    """Anna says 3 and ben 4 of everything, and all is decided."""
    people: dict[str, Account] = {account.name: account for account in accounts.list()}
    plain = DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0)
    desk.change_settings(people["dora"], plain)
    review_all(desk, people["anna"], 3)
    review_all(desk, people["ben"], 4)
    assert len(desk.decide_due()) == len(WAITING)


def test_an_untouched_queue_says_what_waits_and_why_there_are_no_figures(caller: CallerFactory) -> None:
    figures = caller("vera").ask("GET", "/progress")
    assert figures["waiting"]["places"] == len(WAITING)
    assert sum(age["places"] for age in figures["waiting"]["by_age"]) == len(WAITING)
    assert figures["people"] == []
    rate = figures["changes"]["rate"]
    assert (rate["value"], rate["n"]) == (None, 0)
    assert "too few" in rate["reason"]
    assert figures["tonight"] == {"people": 0, "hours": 0, "room": None}


def test_hours_that_people_offer_are_summed(caller: CallerFactory) -> None:
    caller("anna").ask("PATCH", "/me", {"hours_tonight": 2.5})
    caller("carla").ask("PATCH", "/me", {"hours_tonight": 1})
    assert caller("dora").ask("GET", "/progress")["tonight"] == {"people": 2, "hours": 3.5, "room": None}


def test_agreement_of_people_counts_each_pair_and_every_count_has_its_list(
    agreeing: None, caller: CallerFactory
) -> None:
    vera = caller("vera")
    figures = vera.ask("GET", "/progress")
    assert figures["waiting"]["places"] == 0
    assert figures["waiting"]["oldest_seconds"] is None
    assert {row["agreement"]["n"] for row in figures["people"]} == {3, 1}
    for row in figures["people"]:
        # A table's rows are the first reviewer's level, its columns the second's.
        assert row["agreement"]["table"][3][4] == row["agreement"]["n"]
        query = {"kind": "people", "rubric": row["rubric"], "criterion": row["criterion"]}
        behind = vera.ask("GET", "/progress/reviews", **query, first=3, second=4)["items"]
        assert len(behind) == row["agreement"]["n"]
        assert {one["words"] for one in behind} == {"first 3, second 4"}
        assert vera.ask("GET", "/progress/reviews", **query, first=4, second=3)["items"] == []
    today = datetime.now(UTC).date().isoformat()
    finished = {day["day"]: day["finished"] for day in figures["days"]}
    behind = vera.ask("GET", "/progress/reviews", kind="finished", day=today)["items"]
    assert len(behind) == finished[today]


def test_lists_come_in_pages(agreeing: None, caller: CallerFactory) -> None:
    dora = caller("dora")
    whole = dora.ask("GET", "/progress/reviews", kind="committed")["items"]
    first = dora.ask("GET", "/progress/reviews", kind="committed", limit=1)
    assert first["items"] == whole[:1]
    assert (first["next"] is None) == (len(whole) <= 1)


def test_what_leads_alone_see_is_null_for_viewers(agreeing: None, caller: CallerFactory) -> None:
    seen = {name: caller(name).ask("GET", "/progress") for name in ("dora", "vera")}
    for part in ("fast", "rubric_changes"):
        assert seen["dora"][part] == []
        assert seen["vera"][part] is None
    told = str(seen["vera"])
    assert [name for name in ("anna", "'ben'", "carla") if name in told] == []


@pytest.mark.parametrize(
    "query",
    [{}, {"kind": "none"}, {"kind": "committed", "day": "soon"}, {"kind": "people", "first": 9}],
    ids=str,
)
def test_a_query_that_means_nothing_is_refused(caller: CallerFactory, query: dict[str, str]) -> None:
    assert caller("dora").refused("GET", "/progress/reviews", **query) == (422, "invalid")


def test_people_who_review_see_none_of_it(caller: CallerFactory) -> None:
    for path in ("/progress", "/progress/reviews"):
        assert caller("anna").refused("GET", path) == (403, "forbidden")
