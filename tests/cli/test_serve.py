"""``nki-grader serve``: a process of its own, as people run it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from pipeline.config import Settings
from pipeline.graph import threads
from pipeline.graph.services import open_services
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import open_store
from pipeline.types import Account, Decision, DeskSettings, Role
from tests.cli.terminal import run
from tests.web.reviews import commit, draw, finish

PASSWORD = "a password of tests"


class Served:
    """A running desk."""

    def __init__(self, process: subprocess.Popen[str], address: str, errors: Path) -> None:
        self.process = process
        self.address = address
        self._errors = errors

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def end(self, number: signal.Signals = signal.SIGTERM) -> str:
        """End it with a signal, and return what it said at the end."""
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=60)
        return said


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve a database on a free port; whatever still runs at the end is ended."""
    with ExitStack() as running:

        def start(database: Path, *options: str) -> Served:
            errors = tmp_path / "errors.txt"
            command = [
                sys.executable,
                "-m",
                "pipeline.cli.main",
                "serve",
                "--db",
                str(database),
                "--port",
                "0",
            ]
            process = running.enter_context(_ended(command + list(options), errors))
            assert process.stdout is not None
            line = process.stdout.readline()
            address = re.search(r"http://\S+", line)
            assert address, line + errors.read_text()
            return Served(process, address[0].rstrip("/"), errors)

        yield start


@contextmanager
def _ended(command: list[str], errors: Path) -> Iterator[subprocess.Popen[str]]:
    with (
        errors.open("w") as stream,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def log_in(address: str, name: str) -> httpx.Client:
    client = httpx.Client(base_url=address)
    page = client.get("/login").text
    token = re.search(r'name="csrf-token" content="([0-9a-f]+)"', page)
    assert token, page
    answer = client.post("/login", data={"name": name, "password": PASSWORD, "csrf": token[1]})
    assert answer.status_code == 303, answer.text
    return client


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(serve: Serve, tmp_path: Path, number: signal.Signals) -> None:
    served = serve(tmp_path / "new.duckdb")
    assert httpx.get(f"{served.address}/login").status_code == 200
    said = served.end(number)
    assert served.process.returncode == 0
    assert "everything is kept" in said
    assert "Traceback" not in served.errors


def test_the_first_start_says_how_to_make_a_lead(serve: Serve, tmp_path: Path) -> None:
    served = serve(tmp_path / "new.duckdb")
    assert "accounts add NAME --role lead" in served.errors


def test_it_listens_on_this_machine_alone_unless_told_otherwise(serve: Serve, tmp_path: Path) -> None:
    served = serve(tmp_path / "new.duckdb")
    assert served.address.startswith("http://127.0.0.1:")
    assert "other machines" not in served.errors


def test_other_machines_are_warned_of(serve: Serve, tmp_path: Path) -> None:
    served = serve(tmp_path / "new.duckdb", "--host", "0.0.0.0")
    assert "other machines can reach this address" in served.errors


def test_a_busy_port_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = run("serve", "--db", tmp_path / "new.duckdb", "--port", str(port))
    assert ended.code == 2
    said = f"error: cannot listen at 127.0.0.1, port {port}: Address already in use (choose another"
    assert ended.err.startswith(said)
    assert ended.err.count("\n") == 1
    assert "--port" in ended.err
    assert not (tmp_path / "new.duckdb").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--port", "65536"),
        ("--prefix", "desk"),
        ("--prefix", "/a b"),
        ("--prefix", "/../x"),
        ("--prefix", "/<script>"),
        ("--trusted-proxy", "somewhere"),
        ("--identity-header", "a: b"),
        ("--host", "no.such.host.invalid"),
    ],
)
def test_an_option_that_cannot_be_is_refused(tmp_path: Path, option: str, value: str) -> None:
    ended = run("serve", "--db", tmp_path / "new.duckdb", option, value)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1


def test_a_finished_review_is_decided_and_its_grade_released(serve: Serve, database: Path) -> None:
    with open_store(database) as store:
        accounts = Accounts(store)
        dora = accounts.create(Account(name="dora", role=Role.LEAD))
        settings = DeskSettings(undo_seconds=0, second_review_rate=0, audit_rate=0)
        # Before a desk is opened: it would draw audits at the usual rate, and their grades are out already.
        store.desk.save_record("settings", "desk", settings)
        desk = Desk(store)
        place = finish(desk, dora, commit(desk, dora, draw(desk, dora), 3))
        grading_id = place.item.review.grading_id
        assert store.load_grade(grading_id) is None
    served = serve(database)
    with open_store(database, read_only=True) as store:
        while (grade := store.load_grade(grading_id)) is None:
            assert served.process.poll() is None, served.errors
            time.sleep(0.1)
    assert grade.decided_by == "dora"
    served.end()
    assert served.process.returncode == 0
    assert "Traceback" not in served.errors


def decide_all(database: Path) -> list[str]:
    """Decide what waits as a desk does that ends right afterwards; return the gradings."""
    with open_store(database) as store:
        items = [item for _, item in store.desk.list_items()]
        for item in items:
            decision = Decision(
                review_id=item.review.id, reviewer="dora", levels={}, decided_at=datetime.now(UTC)
            )
            store.decide(decision)
    return [item.review.grading_id for item in items]


def wait_for_grades(served: Served, database: Path, grading_ids: list[str]) -> None:
    with open_store(database, read_only=True) as store:
        while set(store.finished(grading_ids).values()) != {"graded"}:
            assert served.process.poll() is None, served.errors
            time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_what_is_to_be_released_to_the_next_start(
    serve: Serve, database: Path, number: signal.Signals
) -> None:
    grading_ids = decide_all(database)
    served = serve(database)
    # Whatever is released by then: the end waits for none, and none is lost or released twice.
    assert "everything is kept" in served.end(number)
    assert served.process.returncode == 0
    again = serve(database)
    wait_for_grades(again, database, grading_ids)
    again.end()
    assert "Traceback" not in served.errors + again.errors
    with open_store(database, read_only=True) as store:
        assert [store.load_grade(name).decided_by for name in grading_ids] == ["dora"] * 2  # type: ignore[union-attr]


def test_releases_stop_once_the_desk_ends_and_go_on_from_there(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_AT_ONCE", 1)
    first, second = decide_all(database)
    settings = Settings(allow_unsandboxed=True, workers=1)
    with open_store(database) as store, open_services(store, settings) as services:
        ends = iter((False, True))
        assert threads.resume_decided(services, is_ended=lambda: next(ends)) == [first]
        assert threads.resume_decided(services, is_ended=lambda: True) == []
        assert store.list_decided() == [second]
        assert threads.resume_decided(services) == [second]


def test_what_the_command_line_adds_and_decides_meanwhile_counts_at_once(
    serve: Serve, database: Path
) -> None:
    with open_store(database) as store:
        Accounts(store).create(Account(name="anna", role=Role.REVIEWER), PASSWORD)
        store.desk.save_record("settings", "desk", DeskSettings(audit_rate=0))
    served = serve(database)
    with closing(log_in(served.address, "anna")) as anna:
        assert "<b>2</b><span>waiting for you" in anna.get("/queue").text
        (first, _) = run("review", "list", "--db", database, "--json").data
        ended = run("review", "decide", first["review"]["id"], "--db", database, "--reviewer", "emil")
        assert ended.code == 0, ended.err
        while "<b>1</b><span>waiting for you" not in anna.get("/queue").text:
            assert served.process.poll() is None, served.errors
            time.sleep(0.1)


def test_a_session_outlives_the_server(serve: Serve, database: Path) -> None:
    with open_store(database) as store:
        Accounts(store).create(Account(name="anna", role=Role.REVIEWER), PASSWORD)
    served = serve(database)
    with closing(log_in(served.address, "anna")) as anna:
        key = anna.cookies["desk_session"]
    served.end()
    again = serve(database)
    answer = httpx.get(f"{again.address}/queue", cookies={"desk_session": key})
    assert answer.status_code == 200


def test_a_proxy_that_is_trusted_says_who_is_there(serve: Serve, database: Path) -> None:
    with open_store(database) as store:
        Accounts(store).create(Account(name="anna", role=Role.REVIEWER))
    served = serve(database, "--identity-header", "X-Remote-User", "--prefix", "/desk/")
    assert served.address.endswith("/desk")
    headers = {"X-Remote-User": "anna"}
    page = httpx.get(f"{served.address}/queue", headers=headers).text
    assert 'action="/desk/draw"' in page
    # Whoever the proxy says is behind it does not make the proxy another.
    headers["X-Forwarded-For"] = "192.0.2.1"
    assert httpx.get(f"{served.address}/queue", headers=headers).status_code == 200
    served.end()
    strangers = serve(database, "--identity-header", "X-Remote-User", "--trusted-proxy", "192.0.2.0/24")
    answer = httpx.get(f"{strangers.address}/queue", headers={"X-Remote-User": "anna"})
    assert answer.status_code == 303
