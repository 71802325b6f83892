"""The desk's benchmark does what it says: real rows, real people, and an honest count of what was lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from evals.bench.desk import grading, print_times, serving, take_stock
from evals.bench.desk_forms import read_form
from evals.bench.desk_people import Acknowledged, Observed, work
from evals.bench.desk_queue import hire, make_queue, write_batch
from pipeline.store import open_store


def test_a_form_sends_what_a_browser_would() -> None:
    page = """<form action="/logout"><input name="csrf" value="no"></form>
    <form method="post" action="/review/r-1/0/commit"><input type="hidden" name="csrf" value="a&amp;b">
    <input type="radio" name="level.x" value="1"><input type="radio" name="level.x" value="2" checked>
    <select name="part"><option value="works">w</option><option value="next" selected>n</option></select>
    <select name="part"><option value="works">w</option></select>
    <textarea name="note">it is
    late</textarea><button name="edit" value="up:0">up</button></form>"""
    form = read_form(page, "/commit")
    assert form is not None
    assert form.fields == {
        "csrf": "a&b",
        "level.x": "2",
        "part": ["next", "works"],
        "note": "it is\n    late",
    }
    assert form.choices["level.x"] == ["1", "2"]
    assert read_form(page, "/final") is None


def test_submissions_of_the_batch_are_all_distinct(tmp_path: Path) -> None:
    rows = tmp_path / "batch.jsonl"
    write_batch(rows, 7)
    codes = [json.loads(line)["code"] for line in rows.read_text().splitlines()]
    assert len(set(codes)) == 7


@pytest.mark.slow
def test_people_review_a_made_queue_while_a_batch_runs_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, rows = tmp_path / "desk.duckdb", tmp_path / "batch.jsonl"
    with open_store(database) as store:
        make_queue(store, 12, ["softmax_rows"])
        assert len(store.list_reviews()) == 14
        names, token = hire(store, 2)
    write_batch(rows, 1)
    with serving(database) as address, grading(database, rows, address, token) as batch:
        observed = asyncio.run(work(address, names, seconds=3, think=0, seed=1))
        assert batch.count_finished() == 1
    assert observed.finished
    print_times(observed, observed)
    assert "workspace" in capsys.readouterr().out
    with open_store(database) as store:
        balance = take_stock(store, [observed])
        assert (balance.lost, balance.doubled) == ((), ())
        assert balance.finished == len(observed.finished)
        told = Observed(committed=[Acknowledged("r-none", 0, "reviewer00")])
        assert len(take_stock(store, [observed, told]).lost) == 1
