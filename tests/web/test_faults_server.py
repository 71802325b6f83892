"""Faults of servers: killed at any moment, or started twice; nothing that was acknowledged is lost."""

from __future__ import annotations

import shutil
import signal
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipeline.review.accounts import Accounts
from pipeline.store import open_store
from pipeline.types import Account, Role
from tests.cli.terminal import run
from tests.cli.test_serve import Serve, Served, serve
from tests.review.desk_examples import PLAIN, add_waiting, copy_store

__all__ = ["serve"]

ITEMS = 24
KILLS = 4


@pytest.fixture
def tokens() -> dict[str, str]:
    """A token by account, filled by `database`."""
    return {}


@pytest.fixture
def database(empty_database: Path, tmp_path: Path, tokens: dict[str, str]) -> Path:
    """A database in which items wait for anna and ben, who call the API."""
    folder = tmp_path / "desk"
    folder.mkdir()
    with copy_store(empty_database, folder) as store:
        for number in range(ITEMS):
            add_waiting(store, f"n{number}", minute=number)
        # Nothing is decided meanwhile: these gradings have no thread to release.
        store.desk.save_record("settings", "desk", PLAIN.model_copy(update={"hold_release": True}))
        accounts = Accounts(store)
        for name in ("anna", "ben"):
            account = accounts.create(Account(name=name, role=Role.REVIEWER))
            tokens[name] = accounts.issue_token(account, "tests")
    return folder / "grades.duckdb"


def ask(served: Served, token: str, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{served.address}/api/v1{path}", json=body, headers=headers, timeout=60)


def new_key() -> str:
    return uuid.uuid4().hex


def draw(served: Served, token: str) -> dict[str, Any]:
    place: dict[str, Any] = ask(served, token, "/queue/draw", {"key": new_key()}).json()["place"]
    return place


def commit(served: Served, token: str, place: dict[str, Any], note: str) -> httpx.Response:
    body = {
        "lease_id": place["lease_id"],
        "rubric": place["rubric"],
        "assessment": {"answers": {"clarity": {"level": 3}, "safety": {"level": 2}}, "note": note},
        "seconds": 1,
        "key": new_key(),
    }
    return ask(served, token, f"/places/{place['review_id']}/{place['slot']}/commit", body)


def test_an_item_drawn_right_before_the_server_is_killed_is_still_its_drawers(
    serve: Serve, database: Path, tokens: dict[str, str]
) -> None:
    for _ in range(KILLS):
        served = serve(database)
        place = draw(served, tokens["anna"])
        served.end(signal.SIGKILL)
        again = serve(database)
        answer = commit(again, tokens["anna"], place, note="written while no server was there")
        assert answer.status_code == 200, answer.text
        finished = ask(
            again,
            tokens["anna"],
            f"/places/{place['review_id']}/{place['slot']}/finish",
            {"assessment": answer.json()["blind"], "seconds": 1, "key": new_key()},
        )
        assert finished.status_code == 200, finished.text
        again.end(signal.SIGKILL)


def test_every_commit_that_was_acknowledged_is_there_once_after_kills(
    serve: Serve, database: Path, tokens: dict[str, str]
) -> None:
    acknowledged: dict[tuple[str, int], tuple[str, str]] = {}
    served = serve(database)
    for number in range(ITEMS):
        name = ("anna", "ben")[number % 2]
        place = draw(served, tokens[name])
        note = new_key()
        answer = commit(served, tokens[name], place, note)
        assert answer.status_code == 200, answer.text
        acknowledged[place["review_id"], place["slot"]] = (name, note)
        if number % (ITEMS // KILLS) == 0:
            served.end(signal.SIGKILL)
            served = serve(database)
        path = f"/places/{place['review_id']}/{place['slot']}/finish"
        body = {"assessment": answer.json()["blind"], "seconds": 1, "key": new_key()}
        assert ask(served, tokens[name], path, body).status_code == 200
    served.end(signal.SIGKILL)
    with open_store(database) as store:
        committed = [
            ((event.review_id, event.slot), (event.actor, event.action.assessment.note))
            for _, event in store.desk.list_events()
            if event.action.kind == "committed"
        ]
    assert len(committed) == ITEMS
    assert dict(committed) == acknowledged


def test_what_was_acknowledged_outlives_the_database_file_itself(
    serve: Serve, database: Path, tokens: dict[str, str], tmp_path: Path
) -> None:
    served = serve(database)
    place = draw(served, tokens["anna"])
    assert commit(served, tokens["anna"], place, note="kept").status_code == 200
    served.end(signal.SIGKILL)
    shutil.copy(database, tmp_path / "before.duckdb")
    for log in database.parent.glob("*.wal"):
        log.write_bytes(b"\x00" * 100)
    database.unlink()
    with open_store(database) as store:
        (kept,) = [event for _, event in store.desk.list_events() if event.action.kind == "committed"]
    assert (kept.review_id, kept.actor) == (place["review_id"], "anna")


def test_a_second_desk_of_one_database_is_refused_while_the_first_runs(
    serve: Serve, database: Path, tokens: dict[str, str]
) -> None:
    served = serve(database)
    ended = run("serve", "--db", database, "--port", "0")
    assert ended.code == 2
    assert "another process serves the desk" in ended.err
    assert ended.err.count("\n") == 1
    served.end(signal.SIGKILL)
    assert draw(serve(database), tokens["ben"])["state"] == "held"
