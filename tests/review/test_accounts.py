"""Accounts: who somebody is, and that nobody becomes somebody else."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.review.accounts import Accounts
from pipeline.review.attempts import Attempts
from pipeline.review.errors import DeskError
from pipeline.store import Store, open_store
from pipeline.types import Account, Role
from tests.review.desk_examples import ANNA, BEN, DORA, QUICK, Clock

ADDRESS = "192.0.2.7"
PASSWORD = "four words of nonsense"


@pytest.fixture(scope="module")
def with_people(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with anna and dora."""
    path = tmp_path_factory.mktemp("people") / "grades.duckdb"
    shutil.copy(empty_database, path)
    with open_store(path) as opened:
        made = Accounts(opened, passwords=QUICK)
        made.create(ANNA, PASSWORD)
        made.create(DORA, PASSWORD)
    return path


@pytest.fixture
def store(with_people: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copy(with_people, tmp_path / "grades.duckdb")
    with open_store(tmp_path / "grades.duckdb") as opened:
        yield opened


@pytest.fixture
def accounts(store: Store, clock: Clock) -> Accounts:
    return Accounts(store, passwords=QUICK, clock=clock)


def key_of(accounts: Accounts, name: str = "anna") -> str:
    key = accounts.log_in(name, PASSWORD, address=ADDRESS)
    assert key is not None
    return key


def kept(store: Store) -> str:
    """Return all that the store keeps of accounts, sessions and tokens."""
    transport = store.desk._transport
    return " ".join(str(transport.select("desk_records", [kind])) for kind in ("account", "session", "token"))


# Accounts


def test_an_account_is_there_after_a_restart(store: Store, accounts: Accounts, clock: Clock) -> None:
    again = Accounts(store, passwords=QUICK, clock=clock)
    assert [account.name for account in again.list()] == ["anna", "dora"]
    assert again.log_in("anna", PASSWORD, address=ADDRESS) is not None


def test_a_name_is_given_once(accounts: Accounts) -> None:
    with pytest.raises(DeskError, match="'anna' is taken") as refused:
        accounts.create(Account(name="anna", role=Role.LEAD), PASSWORD)
    assert refused.value.code == "invalid"
    found = accounts.find("anna")
    assert found is not None
    assert found.role is Role.REVIEWER


def test_one_of_many_threads_gets_a_name(accounts: Accounts) -> None:
    refusals: list[DeskError] = []

    def create() -> None:
        try:
            accounts.create(BEN)
        except DeskError as refusal:
            refusals.append(refusal)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refusals) == 7


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("eleven char", "a password has 12 to 1024 characters, this one has 11"),
        ("x" * 1025, "a password has 12 to 1024 characters, this one has 1025"),
        ("no text \ud800 at all", "the password holds characters that are no text"),
    ],
    ids=["short", "long", "surrogate"],
)
def test_a_password_that_will_not_do_is_refused_in_one_sentence(
    accounts: Accounts, password: str, sentence: str
) -> None:
    with pytest.raises(DeskError) as refused:
        accounts.set_password("anna", password)
    assert refused.value.fault.message == sentence
    assert accounts.log_in("anna", PASSWORD, address=ADDRESS) is not None


def test_a_lead_changes_an_account_and_its_password_stays(accounts: Accounts) -> None:
    accounts.change(DORA, ANNA.model_copy(update={"role": Role.ADJUDICATOR, "password": "forged"}))
    found = accounts.find_session(key_of(accounts))
    assert found is not None
    assert found.role is Role.ADJUDICATOR


def test_nobody_else_changes_another_or_their_own_role(accounts: Accounts) -> None:
    for changed in (
        DORA.model_copy(update={"display": "Nobody"}),
        ANNA.model_copy(update={"role": Role.LEAD}),
        ANNA.model_copy(update={"skills": ("rmsnorm",)}),
    ):
        with pytest.raises(DeskError) as refused:
            accounts.change(ANNA, changed)
        assert refused.value.code == "forbidden"


def test_people_say_their_own_hours_and_conflicts(accounts: Accounts) -> None:
    accounts.change(ANNA, ANNA.model_copy(update={"hours_tonight": 2.5, "conflicts": ("calm-otter",)}))
    found = accounts.find("anna")
    assert found is not None
    assert (found.hours_tonight, found.conflicts) == (2.5, ("calm-otter",))


def test_an_account_that_is_not_there_is_not_changed(accounts: Accounts) -> None:
    with pytest.raises(DeskError) as refused:
        accounts.change(DORA, BEN)
    assert refused.value.code == "unknown"
    with pytest.raises(DeskError) as refused:
        accounts.set_password("ben", PASSWORD)
    assert refused.value.code == "unknown"


@pytest.mark.parametrize("change", [{"role": Role.VIEWER}, {"active": False}], ids=["demoted", "deactivated"])
def test_the_last_active_lead_stays_one(accounts: Accounts, change: dict[str, object]) -> None:
    less = DORA.model_copy(update=change)
    with pytest.raises(DeskError, match="dora is the last active lead") as refused:
        accounts.change(DORA, less)
    assert refused.value.code == "invalid"
    accounts.create(Account(name="emil", role=Role.LEAD, active=False))
    with pytest.raises(DeskError):
        accounts.change(DORA, less)
    accounts.create(Account(name="fritz", role=Role.LEAD))
    accounts.change(DORA, less)


# Logging in


def test_the_right_password_opens_a_session(accounts: Accounts) -> None:
    found = accounts.find_session(key_of(accounts))
    assert found is not None
    assert found.name == "anna"


def test_a_name_may_be_typed_in_capitals_and_a_letter_composed_either_way(accounts: Accounts) -> None:
    accounts.set_password("anna", "caf\u00e9 noir, deux sucres")
    assert accounts.log_in(" Anna ", "cafe\u0301 noir, deux sucres", address=ADDRESS) is not None


@pytest.mark.parametrize(
    "name", ["anna", "nobody", "", "\x00", "\ud800", "x" * 100_000, "'; drop table --"], ids=ascii
)
def test_a_wrong_name_or_password_opens_nothing(accounts: Accounts, name: str) -> None:
    assert accounts.log_in(name, "not the password", address=ADDRESS) is None


@pytest.mark.parametrize("password", ["", "\ud800", "x" * 100_000], ids=["empty", "surrogate", "long"])
def test_a_strange_password_opens_nothing(accounts: Accounts, password: str) -> None:
    assert accounts.log_in("anna", password, address=ADDRESS) is None
    accounts.create(BEN)
    assert accounts.log_in("ben", password, address=ADDRESS) is None


def test_an_account_that_is_not_active_is_nobody(accounts: Accounts) -> None:
    key = key_of(accounts)
    token = accounts.issue_token(ANNA, "a script")
    accounts.change(DORA, ANNA.model_copy(update={"active": False}))
    assert accounts.find("anna") is None
    assert accounts.find_session(key) is None
    assert accounts.find_token(token) is None
    assert accounts.log_in("anna", PASSWORD, address=ADDRESS) is None
    with pytest.raises(DeskError):
        accounts.issue_token(ANNA, "another")


def test_the_sixth_failure_in_five_minutes_waits_and_is_told_how_long(
    accounts: Accounts, clock: Clock
) -> None:
    for _ in range(5):
        assert accounts.log_in("anna", "wrong password", address=ADDRESS) is None
        clock.pass_by(30)
    with pytest.raises(DeskError) as refused:
        accounts.log_in("anna", PASSWORD, address=ADDRESS)
    assert refused.value.code == "forbidden"
    assert refused.value.fault.message == "5 logins failed within 5 minutes"
    assert refused.value.fault.remedy == "try again in 3 minutes, at 12:05:00 UTC"
    clock.pass_by(150)
    assert accounts.log_in("anna", PASSWORD, address=ADDRESS) is not None


def test_failures_for_a_name_lock_out_nobody_at_another_address(accounts: Accounts) -> None:
    for _ in range(5):
        assert accounts.log_in("anna", "wrong password", address="198.51.100.1") is None
    assert accounts.log_in("anna", PASSWORD, address="198.51.100.2") is not None


def test_guessing_one_name_from_everywhere_is_slowed_down_but_never_for_its_owner(
    accounts: Accounts, clock: Clock
) -> None:
    key_of(accounts)
    clock.pass_by(29 * 24 * 3600)
    for attempt in range(20):
        assert accounts.log_in("anna", "wrong password", address=f"198.51.100.{attempt}") is None
    for address in ("198.51.100.0", "203.0.113.1"):
        with pytest.raises(DeskError, match="20 logins failed within 5 minutes"):
            accounts.log_in("anna", PASSWORD, address=address)
    assert key_of(accounts)
    assert accounts.log_in("dora", PASSWORD, address="198.51.100.0") is not None
    clock.pass_by(300)
    assert accounts.log_in("anna", PASSWORD, address="203.0.113.1") is not None


def test_a_success_long_ago_is_no_reason_to_trust_an_address(accounts: Accounts, clock: Clock) -> None:
    key_of(accounts)
    clock.pass_by(30 * 24 * 3600)
    for attempt in range(20):
        accounts.log_in("anna", "wrong password", address=f"198.51.100.{attempt}")
    with pytest.raises(DeskError):
        key_of(accounts)


def test_a_trusted_address_may_not_guess_for_ever_either(accounts: Accounts) -> None:
    key_of(accounts)
    for _ in range(5):
        assert accounts.log_in("anna", "wrong password", address=ADDRESS) is None
    with pytest.raises(DeskError, match="5 logins failed"):
        key_of(accounts)


def test_guessing_many_names_from_one_address_stops_there_for_every_name_that_was_never_in(
    accounts: Accounts,
) -> None:
    key_of(accounts)
    for number in range(20):
        assert accounts.log_in(f"name{number}", "wrong password", address=ADDRESS) is None
    with pytest.raises(DeskError, match="20 logins failed"):
        key_of(accounts, "dora")
    assert key_of(accounts), "a colleague behind the same proxy locks nobody out"
    assert accounts.log_in("dora", PASSWORD, address="203.0.113.1") is not None


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("not an address", "another", False),
    ],
)
def test_a_whole_network_of_ipv6_counts_as_one_address(
    accounts: Accounts, one: str, other: str, is_same: bool
) -> None:
    for _ in range(5):
        accounts.log_in("anna", "wrong password", address=one)
    if is_same:
        with pytest.raises(DeskError):
            accounts.log_in("anna", PASSWORD, address=other)
    else:
        assert accounts.log_in("anna", PASSWORD, address=other) is not None


def test_what_is_remembered_of_failures_stays_bounded(clock: Clock) -> None:
    attempts = Attempts()
    for number in range(12_000):
        attempts.begin(f"name{number}", f"address {number}", clock.now)
        attempts.succeed(f"name{number}", f"address {number}", clock.now)
        attempts.begin(f"name{number}", f"address {number}", clock.now)
    for kept in (attempts._failed, attempts._succeeded):
        assert len(kept) == 10_000


def test_a_clock_that_goes_back_locks_nobody_out(accounts: Accounts, clock: Clock) -> None:
    clock.pass_by(24 * 3600)
    for _ in range(5):
        accounts.log_in("anna", "wrong password", address=ADDRESS)
    clock.pass_by(-24 * 3600)
    assert key_of(accounts)


def test_many_attempts_at_once_are_no_way_around_the_limit(accounts: Accounts) -> None:
    ends: list[str] = []

    def attempt() -> None:
        try:
            accounts.log_in("anna", "wrong password", address=ADDRESS)
            ends.append("tried")
        except DeskError:
            ends.append("refused")

    threads = [threading.Thread(target=attempt) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ends.count("tried"), ends.count("refused")) == (5, 7)


def test_logging_in_often_is_no_failure(accounts: Accounts) -> None:
    assert len({key_of(accounts) for _ in range(7)}) == 7


def test_a_success_forgives_this_name_at_this_address_and_nothing_else(accounts: Accounts) -> None:
    for name in ("anna", "emil", "fritz", "gerd"):
        for _ in range(4):
            accounts.log_in(name, "wrong password", address=ADDRESS)
    key_of(accounts)
    for _ in range(4):
        accounts.log_in("anna", "wrong password", address=ADDRESS)
    assert key_of(accounts), "eight failures, but four since the last success"
    with pytest.raises(DeskError, match="20 logins failed"):
        key_of(accounts, "dora")


def test_a_hash_is_at_the_cost_of_rfc_9106_unless_tests_say_otherwise(store: Store, clock: Clock) -> None:
    dear = Accounts(store, clock=clock)
    dear.set_password("anna", "another four words")
    assert "$argon2id$v=19$m=65536,t=3,p=4$" in kept(store)
    assert dear.log_in("anna", "another four words", address=ADDRESS) is not None
    assert dear.log_in("nobody", "another four words", address=ADDRESS) is None


def test_people_change_their_own_password_with_the_current_one(accounts: Accounts) -> None:
    before = key_of(accounts)
    assert accounts.change_password(ANNA, "not the password", "another four words", address=ADDRESS) is None
    assert accounts.find_session(before) is not None
    key = accounts.change_password(ANNA, PASSWORD, "another four words", address=ADDRESS)
    assert key is not None
    assert accounts.find_session(before) is None
    found = accounts.find_session(key)
    assert found is not None
    assert found.name == "anna"
    with pytest.raises(DeskError) as refused:
        accounts.change_password(ANNA, "another four words", "short", address=ADDRESS)
    assert refused.value.code == "invalid"


def test_whoever_guesses_the_current_password_has_to_wait(accounts: Accounts) -> None:
    for _ in range(5):
        assert accounts.change_password(ANNA, "a guess", "another four words", address=ADDRESS) is None
    with pytest.raises(DeskError) as refused:
        accounts.change_password(ANNA, PASSWORD, "another four words", address=ADDRESS)
    assert refused.value.code == "forbidden"


# Sessions


def test_a_session_ends_after_hours_without_use_and_not_before(accounts: Accounts, clock: Clock) -> None:
    key = key_of(accounts)
    for _ in range(5):
        clock.pass_by(11 * 3600)
        assert accounts.find_session(key) is not None
    clock.pass_by(12 * 3600)
    assert accounts.find_session(key) is None


def test_a_session_in_use_outlives_a_restart(store: Store, accounts: Accounts, clock: Clock) -> None:
    key = key_of(accounts)
    clock.pass_by(11 * 3600)
    assert accounts.find_session(key) is not None
    clock.pass_by(11 * 3600)
    again = Accounts(store, passwords=QUICK, clock=clock)
    assert again.find_session(key) is not None
    clock.pass_by(12 * 3600)
    assert again.find_session(key) is None


@pytest.mark.parametrize("hours", [1, 11, 13, 24, 24 * 3650])
def test_a_clock_that_jumps_ahead_and_back_leaves_no_session_without_an_end(
    store: Store, accounts: Accounts, clock: Clock, hours: float
) -> None:
    before = key_of(accounts)
    clock.pass_by(hours * 3600)
    during = key_of(accounts)
    clock.pass_by(-hours * 3600)
    assert accounts.find_session(before) is not None, "whoever is at work stays logged in"
    assert (accounts.find_session(during) is not None) is (hours < 12)
    again = Accounts(store, passwords=QUICK, clock=clock)
    for _ in range(2):
        clock.pass_by(12 * 3600)
        for known in (accounts, again):
            assert known.find_session(before) is None
            assert known.find_session(during) is None


def test_a_session_of_the_future_that_nobody_uses_ends_within_twice_its_length(
    store: Store, accounts: Accounts, clock: Clock
) -> None:
    clock.pass_by(11 * 3600)
    key = key_of(accounts)
    clock.pass_by(-11 * 3600)
    clock.pass_by(23 * 3600)
    assert accounts.find_session(key) is None
    assert Accounts(store, passwords=QUICK, clock=clock).find_session(key) is None


def test_an_account_switched_off_elsewhere_is_out_also_after_the_clock_went_back(
    store: Store, accounts: Accounts, clock: Clock, tmp_path: Path
) -> None:
    clock.pass_by(24 * 3600)
    assert accounts.find("anna") is not None
    clock.pass_by(-24 * 3600)
    with open_store(tmp_path / "grades.duckdb") as other:
        Accounts(other, passwords=QUICK).change(DORA, ANNA.model_copy(update={"active": False}))
    assert accounts.find("anna") is None


def test_how_long_a_session_lasts_can_be_set(store: Store, accounts: Accounts, clock: Clock) -> None:
    short = Accounts(store, session_hours=0.5, passwords=QUICK, clock=clock)
    key = key_of(short)
    clock.pass_by(29 * 60)
    assert short.find_session(key) is not None
    clock.pass_by(30 * 60)
    assert short.find_session(key) is None


def test_logging_out_ends_a_session_also_twice_and_after_a_restart(
    store: Store, accounts: Accounts, clock: Clock
) -> None:
    key, other = key_of(accounts), key_of(accounts)
    accounts.log_out(key)
    accounts.log_out(key)
    accounts.log_out("never was one")
    assert accounts.find_session(key) is None
    assert Accounts(store, passwords=QUICK, clock=clock).find_session(key) is None
    assert accounts.find_session(other) is not None


def test_a_new_password_ends_every_session_of_the_account_alone(accounts: Accounts) -> None:
    keys, other = [key_of(accounts) for _ in range(2)], key_of(accounts, "dora")
    accounts.set_password("anna", "another four words")
    assert [accounts.find_session(key) for key in keys] == [None, None]
    assert accounts.find_session(other) is not None


def test_a_password_set_by_another_process_ends_sessions_here(
    store: Store, accounts: Accounts, clock: Clock, tmp_path: Path
) -> None:
    key = key_of(accounts)
    with open_store(tmp_path / "grades.duckdb") as other:
        Accounts(other, passwords=QUICK).set_password("anna", "another four words")
    clock.pass_by(3)
    assert accounts.find_session(key) is None
    assert accounts.log_in("anna", "another four words", address=ADDRESS) is not None


@pytest.mark.parametrize("key", ["", "x", "\x00", "\ud800", "nobody-" + "a" * 32], ids=ascii)
def test_a_forged_key_is_nobody(accounts: Accounts, key: str) -> None:
    key_of(accounts)
    assert accounts.find_session(key) is None
    assert accounts.find_token(key) is None


def test_nothing_that_opens_the_desk_is_in_the_store(store: Store, accounts: Accounts) -> None:
    key, token = key_of(accounts), accounts.issue_token(ANNA, "a script")
    text = kept(store)
    assert "$argon2id$" in text
    for secret in (PASSWORD, key, token):
        assert secret not in text


# Tokens


def test_a_token_is_whose_it_was_issued_to(store: Store, accounts: Accounts, clock: Clock) -> None:
    token = accounts.issue_token(ANNA, "  our front end ")
    found = Accounts(store, passwords=QUICK, clock=clock).find_token(token)
    assert found is not None
    assert found.name == "anna"
    (record,) = accounts.list_tokens(ANNA)
    assert (record.label, record.issued_at, record.revoked) == ("our front end", clock.now, False)
    assert accounts.list_tokens(DORA) == []
    assert accounts.find_session(token) is None


@pytest.mark.parametrize("label", [" ", "x" * 101], ids=["empty", "long"])
def test_a_token_needs_a_label_of_some_words(accounts: Accounts, label: str) -> None:
    with pytest.raises(DeskError) as refused:
        accounts.issue_token(ANNA, label)
    assert refused.value.code == "invalid"


def test_a_token_is_revoked_by_its_owner_and_by_leads_only(accounts: Accounts) -> None:
    accounts.create(BEN)
    tokens = [accounts.issue_token(ANNA, "one"), accounts.issue_token(ANNA, "two")]
    first, second = (record.sha256 for record in accounts.list_tokens(ANNA))
    with pytest.raises(DeskError) as refused:
        accounts.revoke_token(BEN, first)
    assert refused.value.code == "unknown"
    assert [accounts.find_token(token) is not None for token in tokens] == [True, True]
    accounts.revoke_token(ANNA, first)
    accounts.revoke_token(ANNA, first)
    accounts.revoke_token(DORA, second)
    assert [accounts.find_token(token) for token in tokens] == [None, None]
    with pytest.raises(DeskError):
        accounts.revoke_token(DORA, "no such token")
