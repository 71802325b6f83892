"""A database of the release before the review desk is brought up to date with all it holds."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import duckdb

from pipeline.store import open_store
from pipeline.store.journal import Journal
from pipeline.store.local import journal_path
from pipeline.store.queries import QUERIES
from pipeline.types import Batch, BatchItem, Decision, Review
from tests.store.desk_examples import claimed, committed
from tests.store.examples import NOON, database, grading, submission

#: As the release before wrote them: without a kind, and without criteria that cannot be judged.
_OLD_REVIEW = '{{"id":"r-{0}","grading_id":"g-{0}","reason":"why","opened_at":"2026-11-30T12:00:00Z"}}'
_OLD_DECISION = (
    '{{"review_id":"r-{0}","reviewer":"ada","levels":{{"clarity":3}},"passed":null,"comment":"fine",'
    '"decided_at":"2026-11-30T12:00:00Z"}}'
)


def make_schema_2(path: Path) -> list[tuple[str, ...]]:
    """Make a database with three reviews, the first one decided; return what its gradings came to."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL,"
            " applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
        )
        for number, name in ((1, "001_first.sql"), (2, "002_calls.sql")):
            script = files("pipeline.store.migrations").joinpath(name).read_text(encoding="utf-8")
            connection.execute(script)
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [number, name])
        for name in ("b", "a", "c"):
            kept, graded = submission(name), grading(name)
            connection.execute(
                "INSERT INTO submissions (id, task_id, body) VALUES (?, ?, ?)",
                [kept.id, kept.task_id, kept.model_dump_json()],
            )
            connection.execute(
                "INSERT INTO gradings (id, submission_id, fingerprint, body) VALUES (?, ?, ?, ?)",
                [graded.id, kept.id, graded.fingerprint.content_hash(), graded.model_dump_json()],
            )
            connection.execute(
                "INSERT INTO reviews (id, grading_id, reason, opened_at, body) VALUES (?, ?, 'why', ?, ?)",
                [f"r-{name}", graded.id, NOON, _OLD_REVIEW.format(name)],
            )
        connection.execute(
            "INSERT INTO decisions (review_id, reviewer, levels, comment, decided_at, body)"
            " VALUES ('r-b', 'ada', '{\"clarity\": 3}', 'fine', ?, ?)",
            [NOON, _OLD_DECISION.format("b")],
        )
        return connection.execute(QUERIES["canonical"].sql).fetchall()


def test_submissions_of_schema_4_are_of_no_declared_author_until_one_is_declared(tmp_path: Path) -> None:
    path = database(tmp_path)
    make_schema_2(path)
    with duckdb.connect(str(path)) as connection:
        for number, name in ((3, "003_desk.sql"), (4, "004_confidence.sql")):
            script = files("pipeline.store.migrations").joinpath(name).read_text(encoding="utf-8")
            connection.execute(script)
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [number, name])
        old = '{"id":"b-old","opened_at":"2026-11-30T12:00:00Z","items":[{"grading_id":"g-a",'
        old += '"submission_id":"s-a","origin":"m/a.py"}],"rejections":[]}'
        connection.execute("INSERT INTO batches (id, opened_at, body) VALUES ('b-old', ?, ?)", [NOON, old])
        connection.execute(
            "INSERT INTO batch_items (batch_id, position, grading_id, submission_id, origin)"
            " VALUES ('b-old', 0, 'g-a', 's-a', 'm/a.py')"
        )
    with open_store(path) as store:
        assert store.notices == []
        assert [item.author for item in store.load_batch("b-old").items] == [""]
        assert {place.author for place in store.drafts.list_places()} == {""}
        later = BatchItem(grading_id="g-a", submission_id="s-a", origin="m/a.py", author="model 7")
        store.open_batch(Batch(id="b-new", opened_at=NOON, items=(later,)))
    with open_store(path) as store:
        found = {item.submission_id: item.author for _, item in store.desk.list_items()}
        assert found == {"s-a": "model 7", "s-b": "", "s-c": ""}
        assert (store.load_summary("g-a").author, store.load_summary("g-b").author) == ("model 7", "")


def test_reviews_and_decisions_of_the_release_before_are_all_there(tmp_path: Path) -> None:
    path = database(tmp_path)
    make_schema_2(path)
    with open_store(path) as store:
        assert store.notices == []
        assert [item.review.id for _, item in store.desk.list_items()] == ["r-b", "r-a", "r-c"]
        assert [item.review.kind for _, item in store.desk.list_items()] == ["route"] * 3
        assert store.desk.list_decided_ids() == {"r-b"}
        assert store.list_decided() == ["g-b"]
        states = {name: store.load_summary(f"g-{name}").state for name in ("a", "b", "c")}
        assert states == {"a": "waiting", "b": "decided", "c": "waiting"}
        assert [state.review.id for state in store.list_reviews()] == ["r-a", "r-c"]
        found = store.load_review("r-b").decision
        assert found == Decision.model_validate_json(_OLD_DECISION.format("b"))
        assert (found.unjudged, found.feedback) == ({}, None)


def test_what_gradings_came_to_is_the_same_before_and_after(tmp_path: Path) -> None:
    path = database(tmp_path)
    before = make_schema_2(path)
    with open_store(path) as store:
        first = store.canonical_hash()
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute(QUERIES["canonical"].sql).fetchall() == before
    with open_store(path) as store:
        assert store.canonical_hash() == first


def test_the_desk_works_in_a_database_of_the_release_before(tmp_path: Path) -> None:
    path = database(tmp_path)
    make_schema_2(path)
    with open_store(path) as store:
        store.desk.record([claimed("a"), committed("a")])
        last = store.desk.list_items()[-1][0]
        store.open_review(Review(id="r-d", grading_id="g-a", reason="again", opened_at=NOON))
        assert [item.review.id for _, item in store.desk.list_items(last)] == ["r-d"]
    with open_store(path) as store:
        assert store.notices == []
        assert store.desk.list_events_of("r-a") == [claimed("a"), committed("a")]


def test_a_journal_of_the_release_before_brings_its_decisions_back(tmp_path: Path) -> None:
    path = database(tmp_path)
    body = {
        "decision": json.loads(_OLD_DECISION.format("a")),
        "review": json.loads(_OLD_REVIEW.format("a")),
    }
    Journal(journal_path(path)).append("decision", body)
    with open_store(path) as store:
        assert store.notices == [
            "the decision of ada on r-a was missing and was brought back from the journal"
        ]
        assert store.load_review("r-a").decision == Decision.model_validate_json(_OLD_DECISION.format("a"))
    with open_store(path) as store:
        assert store.notices == []


def test_the_confidence_of_drafts_of_the_release_before_is_known(tmp_path: Path) -> None:
    path = database(tmp_path)
    make_schema_2(path)
    outputs = {"a": '{"value": 0.25, "reason": "why"}', "b": '{"value": null, "reason": "why"}', "c": "[]"}
    with duckdb.connect(str(path)) as connection:
        for name, output in outputs.items():
            connection.execute(
                "INSERT INTO stages (stage, key, output, details, seconds)"
                " VALUES ('assess', ?, ?, '{}', 0.1)",
                [f"k-{name}", output],
            )
            connection.execute(
                "INSERT INTO stage_links (grading_id, stage, key) VALUES (?, 'assess', ?)",
                [f"g-{name}", f"k-{name}"],
            )
    with open_store(path) as store:
        found = {item.review.id: item.confidence for _, item in store.desk.list_items()}
        assert found == {"r-a": 0.25, "r-b": None, "r-c": None}
        assert store.list_stages("g-a") == {"assess": "k-a"}
