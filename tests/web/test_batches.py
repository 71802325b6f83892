"""Batches: live figures, a list behind every number, and no outcome that would lead a reviewer."""

from __future__ import annotations

import html
import re

import pytest

from pipeline.store import Store
from pipeline.web.batch_figures import BatchFigures
from tests.web.conftest import WAITING, ClientFactory


@pytest.fixture
def batch_id(store: Store) -> str:
    (batch,) = store.list_batches()
    return batch.id


def test_the_list_shows_where_the_inputs_of_each_batch_stand(client: ClientFactory, batch_id: str) -> None:
    page = client("vera").get("/batches").text
    assert batch_id in page
    assert f'<a href="/batches/{batch_id}/gradings?state=waiting">{len(WAITING)}</a>' in page
    assert "every 5s" in page


def test_a_batch_links_every_number_to_the_list_that_it_counts(client: ClientFactory, batch_id: str) -> None:
    vera = client("vera")
    page = vera.get(f"/batches/{batch_id}").text
    links = [html.unescape(found) for found in re.findall(r'href="(/batches/[^"]+/gradings[^"]*)"', page)]
    # All, those that wait, their reason, and per task the task and its one verdict.
    assert len(links) >= 3 + 2 * 3
    for link in links:
        listed = vera.get(link)
        assert listed.status_code == 200
        assert "<h1>0 gradings" not in listed.text
    assert "2 of 2" in page  # both rmsnorm kernels are correct
    waiting = vera.get(f"/batches/{batch_id}/gradings?state=waiting").text
    assert f"<h1>{len(WAITING)} gradings</h1>" in waiting
    assert "<h1>2 gradings</h1>" in vera.get(f"/batches/{batch_id}/gradings?task=rmsnorm").text
    assert "<h1>0 gradings</h1>" in vera.get(f"/batches/{batch_id}/gradings?verdict=incorrect").text


def test_reviewers_see_no_outcome_of_a_grading_and_no_author(
    client: ClientFactory, batch_id: str, store: Store
) -> None:
    rows = store.list_gradings(batch_id)
    for name in ("anna", "carla", "dora"):
        page = client(name).get(f"/batches/{batch_id}/gradings").text
        assert page.count("left out: somebody may review it") == len(WAITING)
        for row in rows:
            assert html.escape(row.reason) not in page
            assert row.origin not in page
    for name in ("anna", "carla"):
        page = client(name).get(f"/batches/{batch_id}").text
        assert "Why a person is asked" not in page
        assert "Passed" not in page
        assert "Levels by" not in client(name).get(f"/batches/{batch_id}/checks").text
        reason = rows[0].reason.partition(": ")[0]
        # The filter by reason is no way around it.
        listed = client(name).get(f"/batches/{batch_id}/gradings", params={"reason": reason}).text
        assert f"<h1>{len(WAITING)} gradings</h1>" in listed


def test_checks_and_levels_say_how_many_gradings_they_are_of(client: ClientFactory, batch_id: str) -> None:
    vera = client("vera")
    for _ in range(20):
        page = vera.get(f"/batches/{batch_id}/checks").text
        if f"Of all {len(WAITING)} gradings" in page:
            break
    assert f"Of all {len(WAITING)} gradings" in page
    assert re.search(r'<th scope="row">correct</th><td class="number">4</td>', page)
    assert "Levels by" in page


def test_an_unknown_batch_is_not_found(client: ClientFactory) -> None:
    vera = client("vera")
    for path in ("/batches/b-none", "/batches/b-none/checks", "/batches/b-none/gradings"):
        assert vera.get(path).status_code == 404


def test_a_filter_that_nothing_meets_gives_an_empty_list_and_hostile_ones_are_inert(
    client: ClientFactory, batch_id: str
) -> None:
    page = client("vera").get(f"/batches/{batch_id}/gradings", params={"task": "<script>1</script>\u202e"})
    assert page.status_code == 200
    assert "<h1>0 gradings</h1>" in page.text
    assert "<script>1" not in page.text
    assert "\u202e" not in page.text


def test_a_place_in_the_list_beyond_its_end_is_empty_and_a_negative_one_refused(
    client: ClientFactory, batch_id: str
) -> None:
    vera = client("vera")
    assert vera.get(f"/batches/{batch_id}/gradings?start=500").status_code == 200
    assert vera.get(f"/batches/{batch_id}/gradings?start=-1").status_code == 422


def test_figures_are_read_again_only_after_a_while(store: Store, batch_id: str) -> None:
    now = 0.0
    figures = BatchFigures(store, clock=lambda: now)
    first = figures.count(batch_id)
    assert figures.count(batch_id) is first
    now = 3.0
    assert figures.count(batch_id) is not first
    assert figures.count(batch_id).standing == first.standing


def test_figures_that_somebody_looks_at_are_read_ahead_so_that_nobody_waits_for_them(
    store: Store, batch_id: str
) -> None:
    now = 0.0
    figures = BatchFigures(store, clock=lambda: now)
    figures.step()
    newest = figures.count(batch_id)
    now = 3.0
    assert figures.count(batch_id) is newest, "whoever looks does not wait for what is read next"
    figures.step()
    ahead = figures.count(batch_id)
    assert ahead is not newest
    now = 5.5
    assert figures.count(batch_id) is ahead
    now = 30.0
    assert figures.count(batch_id) is not ahead, "nobody read ahead for long: old figures are not shown"


def test_whole_gradings_are_read_a_little_per_request_until_all_are(store: Store, batch_id: str) -> None:
    ticks = iter(range(10_000))
    figures = BatchFigures(store, clock=lambda: next(ticks) * 0.05)
    read = [figures.count_deep(batch_id).read for _ in range(6)]
    assert read == sorted(read)
    assert read[0] < len(WAITING)
    assert read[-1] == len(WAITING)
