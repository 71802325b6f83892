"""``certificates``: what is in force, refused, replaced or revoked, and how one is taken back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.routing.calibration_result import NOT_EVIDENCE
from pipeline.routing.certificates import Register
from pipeline.store import open_store
from pipeline.types import Certificate
from tests.cli.terminal import run
from tests.routing.calibrations import make_calibrator, make_certificate

CALIBRATOR = make_calibrator()
OLD = make_certificate(CALIBRATOR, look=1, reason="40 % may stand alone")
NEW = make_certificate(CALIBRATOR, look=2, reason="60 % may stand\x1b[31m alone")
REFUSAL = make_certificate(
    make_calibrator(usual=0.5),
    policy="e" * 64,
    threshold=None,
    coverage=None,
    bound=None,
    reason="nothing may stand alone: about 90 more labels would help",
    constructed=True,
)


@pytest.fixture
def kept(empty_database: Path, tmp_path: Path) -> Path:
    """A database with a certificate, the one before it, and a refusal under another policy."""
    path = tmp_path / "grades.duckdb"
    shutil.copy(empty_database, path)
    with open_store(path) as store:
        register = Register(store)
        register.put(CALIBRATOR, [OLD])
        register.put(CALIBRATOR, [NEW])
        register.put(make_calibrator(usual=0.5), [REFUSAL])
    return path


def states(path: Path) -> dict[str, str]:
    ended = run("certificates", "list", "--db", path, "--json")
    assert ended.code == 0, ended.err
    return {row["id"]: row["state"] for row in ended.data}


def name(certificate: Certificate) -> str:
    return certificate.content_hash()


def test_each_is_listed_with_its_state_the_newest_first(kept: Path) -> None:
    assert list(states(kept).items()) == [
        (name(REFUSAL), "refused"),
        (name(NEW), "in force"),
        (name(OLD), "replaced"),
    ]
    shown = run("certificates", "list", "--db", kept)
    lines = shown.out.splitlines()
    assert lines[1].startswith(name(REFUSAL)[:12])
    assert f"{NOT_EVIDENCE}: nothing may stand alone" in lines[1]
    # What others wrote steers no terminal.
    assert "60 % may stand␛[31m alone" in lines[2]


def test_one_is_shown_with_all_that_would_void_it(kept: Path) -> None:
    shown = run("certificates", "show", name(NEW)[:10], "--db", kept)
    assert shown.code == 0, shown.err
    assert "1 of 60 labels above, 100 in all" in shown.out
    assert "not known: 0 seen twice" in shown.out
    for part in (*NEW.scope.model_dump().values(), NEW.policy):
        assert part in shown.out


def test_one_is_taken_back_for_good_by_somebody_for_a_reason(kept: Path) -> None:
    ended = run(
        "certificates", "revoke", name(NEW)[:8], "--db", kept, "--by", "dora", "--reason", "a leak in labels"
    )
    assert (ended.code, ended.out) == (0, f"Revoked by dora: {name(NEW)[:12]}, a leak in labels\n")
    # The one before it does not come back.
    assert states(kept) == {name(REFUSAL): "refused", name(NEW): "revoked", name(OLD): "replaced"}
    shown = run("certificates", "show", name(NEW), "--db", kept)
    assert "by dora: a leak in labels" in shown.out
    again = run("certificates", "revoke", name(NEW), "--db", kept, "--by", "ben", "--reason", "another")
    assert (again.code, again.out) == (0, f"Revoked already by dora: {name(NEW)[:12]}, a leak in labels\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "abc"), "begins with 'abc'"),
        (("show", "0123456789"), "no certificates have a hash that begins with '0123456789'"),
        (("revoke", "0123456789", "--reason", "x"), "no certificates"),
        (("revoke", "0123456789"), "--reason"),
        (("revoke", "0123456789", "--reason", " "), "for a reason"),
    ],
    ids=["too short", "unknown", "revoke unknown", "no reason", "blank reason"],
)
def test_bad_input_is_one_line_and_ends_with_two(
    kept: Path, arguments: tuple[str, ...], message: str
) -> None:
    ended = run("certificates", *arguments, "--db", kept)
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_without_any_certificate_it_says_how_to_get_one(empty_database: Path) -> None:
    ended = run("certificates", "list", "--db", empty_database)
    assert ended.code == 0
    assert "nki-grader calibrate" in ended.out
