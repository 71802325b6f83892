"""The timesheet: one's own hours, exact to the day, and everybody's for leads alone."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from pipeline.store import Store
from pipeline.types import Activity
from tests.web.conftest import ClientFactory


def _work(account: str, start: datetime, minutes: float, review_id: str = "r-1") -> Activity:
    return Activity(
        account=account,
        review_id=review_id,
        slot=0,
        started_at=start,
        ended_at=start + timedelta(minutes=minutes),
        active_seconds=minutes * 60,
    )


@pytest.fixture
def worked(store: Store) -> None:
    """Anna: 30 min on Monday and 90 min on Tuesday of week 49; ben: 6 min on Tuesday."""
    for activity in (
        _work("anna", datetime(2026, 11, 30, 9, tzinfo=UTC), 30),
        _work("anna", datetime(2026, 12, 1, 9, tzinfo=UTC), 60),
        _work("anna", datetime(2026, 12, 1, 14, tzinfo=UTC), 30, "r-2"),
        _work("ben", datetime(2026, 12, 1, 10, tzinfo=UTC), 6),
    ):
        store.desk.add_activity(activity)
    store.flush()


def _table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_one_sees_ones_own_days_and_weeks(worked: None, client: ClientFactory) -> None:
    page = client("anna").get("/timesheet").text
    assert "Week 2026-W49: 2 h 00 min" in page
    assert "Tue 2026-12-01" in page
    assert "1 h 30 min" in page
    assert '<td class="number">1.50</td>' in page
    assert "6 min 00 s" not in page


def test_ones_own_hours_as_csv(worked: None, client: ClientFactory) -> None:
    answer = client("anna").get("/timesheet/mine.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="hours-anna.csv"'
    assert [(row["account"], row["day"], row["active_seconds"]) for row in _table(answer.text)] == [
        ("anna", "2026-11-30", "1800"),
        ("anna", "2026-12-01", "5400"),
    ]
    since = client("anna").get("/timesheet/mine.csv", params={"since": "2026-12-01"})
    assert [row["day"] for row in _table(since.text)] == ["2026-12-01"]


def test_everybodys_hours_are_for_leads(worked: None, client: ClientFactory) -> None:
    rows = _table(client("dora").get("/timesheet/everybody.csv").text)
    assert [(row["account"], row["active_hours"]) for row in rows] == [
        ("anna", "0.5"),
        ("anna", "1.5"),
        ("ben", "0.1"),
    ]
    for name in ("anna", "carla", "vera"):
        assert client(name).get("/timesheet/everybody.csv").status_code == 403
    assert "everybody.csv" not in client("anna").get("/timesheet").text


def test_a_day_that_is_none_is_refused(client: ClientFactory) -> None:
    anna = client("anna")
    assert anna.get("/timesheet/mine.csv", params={"since": "yesterday"}).status_code == 422
    assert anna.get("/timesheet/mine.csv", params={"since": "0001-01-01"}).status_code == 200
    assert anna.get("/timesheet/mine.csv", params={"since": "9999-12-31"}).status_code == 200


def test_without_work_the_sheet_is_empty(client: ClientFactory) -> None:
    page = client("ben").get("/timesheet")
    assert page.status_code == 200
    assert "No time yet" in page.text
    assert "No review is finished yet" in page.text
