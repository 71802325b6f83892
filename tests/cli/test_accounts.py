"""``accounts``: who works at the desk, without a password on the screen or in the store."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli import accounts as module
from pipeline.review.accounts import Accounts
from pipeline.store import open_store
from pipeline.types import Account, Role
from tests.cli.terminal import Ended, run

PASSWORD = "four words of nonsense"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "desk.duckdb"


def run_with(monkeypatch: pytest.MonkeyPatch, text: str, *arguments: str | Path) -> Ended:
    """Run a command with `text` on its standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return run(*arguments)


def add(database: Path, name: str, *options: str) -> Ended:
    return run("accounts", "add", name, "--db", database, "--no-password", *options)


def can_log_in(database: Path, name: str, password: str) -> bool:
    with open_store(database) as store:
        return Accounts(store).log_in(name, password, address="192.0.2.7") is not None


def test_somebody_is_added_with_a_password_from_standard_input(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_with(
        monkeypatch,
        f"{PASSWORD}\nnot this line\n",
        *("accounts", "add", "dora", "--role", "lead", "--display", "Dora", "--db", database),
        "--password-stdin",
    )
    assert ended.code == 0, ended.err
    assert ended.out == "Added: dora (lead)\n"
    assert can_log_in(database, "dora", PASSWORD)
    (account,) = run("accounts", "list", "--db", database, "--json").data
    assert account == {
        "name": "dora",
        "role": "lead",
        "display": "Dora",
        "skills": [],
        "conflicts": [],
        "hours_tonight": None,
        "active": True,
        "has_password": True,
        "tokens": 0,
    }


def test_every_role_can_be_given(database: Path) -> None:
    for role in Role:
        assert add(database, f"a.{role}", "--role", role).code == 0
    listed = run("accounts", "list", "--db", database, "--json").data
    assert {account["role"] for account in listed} == set(Role)


def test_the_list_says_what_each_may_and_that_nobody_is_there(database: Path) -> None:
    with open_store(database):
        pass
    assert "accounts add NAME --role lead" in run("accounts", "list", "--db", database).out
    add(database, "anna", "--skill", "rmsnorm", "--skill", "softmax_rows")
    add(database, "evil", "--display", "\x1b[31mred\u202e")
    lines = run("accounts", "list", "--db", database).out.splitlines()
    (anna,) = [line.split() for line in lines if line.startswith("anna")]
    assert anna == ["anna", "reviewer", "yes", "none", "0", "rmsnorm,", "softmax_rows"]
    (evil,) = [line for line in lines if line.startswith("evil")]
    assert "␛[31mred⟦U+202E⟧" in evil


@pytest.mark.parametrize("name", ["Anna", "", "an na", "-anna", "a" * 65, "<b>", "ånna"], ids=ascii)
def test_a_name_that_will_not_do_is_refused(database: Path, name: str) -> None:
    ended = run("accounts", "add", "--db", database, "--no-password", "--", name)
    assert ended.code == 2
    assert "a name has 1 to 64 lower-case letters" in ended.err
    assert not database.exists()


def test_a_long_display_name_is_refused(database: Path) -> None:
    ended = add(database, "anna", "--display", "x" * 101)
    assert ended.code == 2
    assert "--display" in ended.err


def test_a_taken_name_is_refused_with_what_to_do(database: Path) -> None:
    add(database, "anna")
    ended = add(database, "anna", "--role", "lead")
    assert ended.code == 2
    assert f"nki-grader accounts password anna --db {database}" in ended.err
    (account,) = run("accounts", "list", "--db", database, "--json").data
    assert account["role"] == "reviewer"


def test_a_short_password_is_refused_and_not_repeated(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_with(
        monkeypatch, "short-one\n", "accounts", "add", "anna", "--db", database, "--password-stdin"
    )
    assert ended.code == 2
    assert "a password has 12 to 1024 characters, this one has 9" in ended.err
    assert "short-one" not in ended.err + ended.out
    assert run("accounts", "list", "--db", database, "--json").data == []


def test_without_a_terminal_a_password_is_not_asked_for(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_with(monkeypatch, PASSWORD, "accounts", "add", "anna", "--db", database)
    assert ended.code == 2
    assert "give it with --password-stdin" in ended.err


def test_two_ways_to_a_password_exclude_each_other(database: Path) -> None:
    ended = add(database, "anna", "--password-stdin")
    assert ended.code == 2
    assert "exclude each other" in ended.err


def test_a_password_is_typed_twice_and_never_shown(database: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli.main", "accounts", "add", "anna", "--db", str(database)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen = ""
    for prompt in ("Password: ", "The same again: "):
        while prompt not in seen:
            seen += os.read(master, 4096).decode()
        os.write(master, f"{PASSWORD}\n".encode())
    try:
        while part := os.read(master, 4096).decode():
            seen += part
    except OSError:  # the other end was closed
        pass
    os.close(master)
    assert process.wait() == 0
    assert "Added: anna (reviewer)" in seen
    assert PASSWORD not in seen
    assert can_log_in(database, "anna", PASSWORD)


def test_a_new_password_takes_the_place_of_the_old_one(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(database) as store:
        Accounts(store).create(Account(name="anna", role=Role.REVIEWER), PASSWORD)
    ended = run_with(
        monkeypatch,
        "another four words\r\n",
        *("accounts", "password", "anna", "--db", database, "--password-stdin"),
    )
    assert ended.out == "New password set: anna\n"
    assert can_log_in(database, "anna", "another four words")
    assert not can_log_in(database, "anna", PASSWORD)


def test_a_token_is_alone_on_standard_output_and_works(database: Path) -> None:
    add(database, "anna")
    ended = run("accounts", "token", "anna", "--label", "our front end", "--db", database)
    assert ended.code == 0, ended.err
    assert "not shown again" in ended.err
    with open_store(database) as store:
        found = Accounts(store).find_token(ended.out.strip())
    assert found is not None
    assert found.name == "anna"
    (account,) = run("accounts", "list", "--db", database, "--json").data
    assert account["tokens"] == 1


@pytest.mark.parametrize("arguments", [("password", "ben"), ("token", "ben", "--label", "x")], ids=" ".join)
def test_nobody_of_that_name_is_said_so(database: Path, arguments: tuple[str, ...]) -> None:
    add(database, "anna")
    ended = run("accounts", *arguments, "--db", database)
    assert ended.code == 2
    assert "there is no active account 'ben'" in ended.err


def test_only_adding_makes_a_database(database: Path) -> None:
    for arguments in (("list",), ("password", "anna"), ("token", "anna", "--label", "x")):
        ended = run("accounts", *arguments, "--db", database)
        assert ended.code == 2
        assert "there is no database" in ended.err
    assert not database.exists()


def test_commands_work_beside_a_process_that_owns_the_database(database: Path) -> None:
    with open_store(database) as store:
        accounts = Accounts(store)
        assert add(database, "anna").code == 0
        assert [account.name for account in Accounts(store).list()] == ["anna"]
        assert accounts.create(Account(name="ben", role=Role.VIEWER)).name == "ben"


def test_the_command_imports_no_hashing_before_it_is_needed() -> None:
    code = f"import sys, {module.__name__}; print('argon2' in sys.modules, 'pydantic' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "False"]
