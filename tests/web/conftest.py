"""A desk with real gradings that wait for review, five people, and a browser's or a program's way to it."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.floor import DESK
from pipeline.store import Store, open_store
from pipeline.types import Account, DeskSettings, Role
from pipeline.web.app import create_app
from pipeline.web.context import Context, Options
from tests.cli.terminal import run
from tests.conftest import ShareFolder
from tests.review.desk_examples import QUICK

TASKS = Path(__file__).parents[2] / "data" / "tasks"

#: What waits for review: correct kernels of three tasks, two of them of one author.
WAITING = (
    ("mira", "rmsnorm", "good_simple.py"),
    ("mira", "softmax_rows", "good_fused.py"),
    ("tomas", "transpose", "good_simple.py"),
    ("ines", "rmsnorm", "good_fused.py"),
)

PEOPLE = {
    "anna": Role.REVIEWER,
    "ben": Role.REVIEWER,
    "carla": Role.ADJUDICATOR,
    "dora": Role.LEAD,
    "vera": Role.VIEWER,
}

PASSWORD = "a password of tests"

ClientFactory = Callable[..., TestClient]


@pytest.fixture(scope="session")
def waiting_database(share_folder: ShareFolder) -> Path:
    """A database with the gradings of `WAITING` and the accounts of `PEOPLE`; tests copy it."""
    return share_folder("waiting", _grade_waiting) / "grades.duckdb"


def _grade_waiting(folder: Path) -> None:
    database = folder / "grades.duckdb"
    submissions = folder / "submissions"
    for author, task, name in WAITING:
        target = submissions / author / task / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TASKS / task / "solutions" / name, target)
    ended = run("grade", submissions, "--db", database)
    assert ended.code == 0, ended.err
    with open_store(database) as store:
        accounts = Accounts(store, passwords=QUICK)
        for name, role in PEOPLE.items():
            accounts.create(Account(name=name, role=role, display=name.capitalize()), PASSWORD)
        # Chance must not put another review into the queue of one test in twenty.
        store.desk.save_record("settings", DESK, DeskSettings(audit_rate=0.0, second_review_rate=0.0))


@pytest.fixture
def database(waiting_database: Path, tmp_path: Path) -> Path:
    """A copy of that database, to change at will."""
    copy = tmp_path / "grades.duckdb"
    shutil.copy(waiting_database, copy)
    shutil.copy(f"{waiting_database}.journal.jsonl", f"{copy}.journal.jsonl")
    return copy


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with open_store(database) as opened:
        yield opened


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


@pytest.fixture
def accounts(store: Store) -> Accounts:
    return Accounts(store, passwords=QUICK)


@pytest.fixture
def options() -> Options:
    """How the desk is served; a test that wants it otherwise overrides this."""
    return Options()


@pytest.fixture
def app(store: Store, desk: Desk, accounts: Accounts, options: Options) -> FastAPI:
    return create_app(Context(store, desk, accounts, options))


@pytest.fixture
def client(app: FastAPI) -> ClientFactory:
    """Make a client that is logged in as somebody; its forms bear the token, and it follows no redirect.

    ``client()`` is logged in as nobody.
    """

    def make(name: str | None = None) -> TestClient:
        made = TestClient(app, base_url="http://desk.test", follow_redirects=False)
        if name is not None:
            log_in(made, name)
        return made

    return make


def form_token(page: str) -> str:
    """Return the form token of a page."""
    match = re.search(r'<meta name="csrf-token" content="([^"]*)">', page)
    assert match, page[:500]
    return match[1]


def log_in(client: TestClient, name: str, prefix: str = "") -> None:
    """Log in with the form, and have every later request bear the token of the new session."""
    token = form_token(client.get(f"{prefix}/login").text)
    answer = client.post(f"{prefix}/login", data={"name": name, "password": PASSWORD, "csrf": token})
    assert answer.status_code == 303, answer.text
    # A page that everybody may see, if only to be told that nothing is there.
    client.headers["X-CSRF-Token"] = form_token(client.get(f"{prefix}/nothing").text)


@pytest.fixture
def server(app: FastAPI) -> Iterator[str]:
    """The desk on a loopback port, for real browsers; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app, log_level="warning", proxy_headers=False, lifespan="off", timeout_graceful_shutdown=5
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not running.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        running.should_exit = True
        thread.join(30)


@pytest.fixture
def anna(client: ClientFactory) -> TestClient:
    """The browser of a reviewer."""
    return client("anna")
