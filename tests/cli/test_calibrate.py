"""``calibrate``: what labels certify is said, put in force and written; what they do not is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.routing.calibration_result import NOT_EVIDENCE
from pipeline.routing.splits import Splits
from pipeline.store import open_store
from pipeline.types import Scope
from tests.cli.terminal import run
from tests.review.desk_examples import FINGERPRINT, copy_store
from tests.routing.stream import fill_stream

SCOPE = Scope.of(FINGERPRINT)

#: Makes a database with a stream of drafts and labels.
Make = Callable[..., Path]


@pytest.fixture
def make(empty_database: Path, tmp_path: Path) -> Make:
    def fill(drafts: int, labelled: int, **stream: float) -> Path:
        with copy_store(empty_database, tmp_path) as store:
            fill_stream(store, drafts, labelled, **stream)  # type: ignore[arg-type]
        return tmp_path / "grades.duckdb"

    return fill


@pytest.fixture(scope="module")
def labelled(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with 520 drafts, 480 of them labelled: half of what the judge doubts is wrong."""
    folder = tmp_path_factory.mktemp("labelled")
    with copy_store(empty_database, folder) as store:
        fill_stream(store, 520, 480)
    return folder / "grades.duckdb"


@pytest.fixture
def database(labelled: Path, tmp_path: Path) -> Path:
    """A copy of that database, to change at will."""
    return copy_to(labelled, tmp_path)


def copy_to(database: Path, folder: Path) -> Path:
    copy = folder / "grades.duckdb"
    shutil.copy(database, copy)
    shutil.copy(f"{database}.journal.jsonl", f"{copy}.journal.jsonl")
    return copy


def looks_of(database: Path) -> int:
    with open_store(database) as store:
        return Splits(store).count_looks(SCOPE)


def test_what_labels_certify_is_said_put_in_force_and_written_once_and_for_all(
    database: Path, tmp_path: Path
) -> None:
    report, data = tmp_path / "calibration.html", tmp_path / "calibration.json"
    ended = run("calibrate", "--db", database, "--report", report, "--json", data)
    assert ended.code == 0, ended.err
    assert "may stand without a human" in ended.out
    assert "with 90 % confidence at most 10 % of them differ from what your experts would say" in ended.out
    assert NOT_EVIDENCE not in ended.out
    (scope,) = json.loads(data.read_text())
    (certificate,) = [one["certificate"] for one in scope["findings"] if one["certificate"]]
    assert scope["certified"] is True
    assert certificate["sampling"] == "random"
    assert certificate["bound"] <= 0.1
    # Nobody's labels are in two splits, and every labelled submission is in one.
    assert sum(split["submissions"] for split in scope["splits"].values()) == scope["labelled"] == 480
    assert certificate["n"] <= scope["splits"]["certify"]["submissions"]
    assert certificate["reason"] in report.read_text(encoding="utf-8")
    # 24 assessments at the desk, 10 minutes each; a file holds no times.
    assert (scope["savings"]["timed"], scope["savings"]["minutes"]) == (24, 10)

    (again,) = run("calibrate", "--db", database, "--json", "-").data
    assert again["findings"][0]["certificate"] == certificate
    assert looks_of(database) == 1
    (kept,) = run("certificates", "list", "--db", database, "--json").data
    assert (kept["state"], kept["certificate"]) == ("in force", certificate)

    assert (
        run("certificates", "revoke", kept["id"], "--db", database, "--by", "dora", "--reason", "a leak").code
        == 0
    )
    # The same labels earn the same certificate, and that was taken back for good.
    ended = run("calibrate", "--db", database)
    assert (ended.code, "Taken back by dora: a leak" in ended.out) == (3, True)


def test_a_dry_run_spends_no_look_and_puts_nothing_in_force(database: Path) -> None:
    ended = run("calibrate", "--db", database, "--dry-run")
    assert ended.code == 0, ended.err
    assert "labelled submissions are set aside to certify" in ended.out
    assert "Dry run: nothing is in force" in ended.out
    assert looks_of(database) == 0
    assert run("certificates", "list", "--db", database, "--json").data == []


def test_a_policy_by_criteria_asks_for_each(database: Path) -> None:
    ended = run("calibrate", "--db", database, "--policy", "strict@v1", "--json", "-")
    found = {one["criterion"]: one["certificate"] for one in ended.data[0]["findings"]}
    assert list(found) == ["grade", "clarity", "safety"]
    assert found["grade"] is None
    assert {found[name]["alpha"] for name in ("clarity", "safety")} == {0.05}
    certified = all(found[name]["threshold"] is not None for name in ("clarity", "safety"))
    assert ended.code == (0 if certified else 3)


@pytest.mark.parametrize("labels", [1, 19])
def test_too_few_labels_are_refused_with_what_would_help(make: Make, labels: int) -> None:
    ended = run("calibrate", "--db", make(30, labels, twice=0))
    assert ended.code == 3
    assert "Accept nothing: " in ended.out
    assert "too few" in ended.out
    assert "nan" not in ended.out.lower()


def test_no_label_at_all_is_said_with_how_to_get_some(make: Make) -> None:
    ended = run("calibrate", "--db", make(5, 0))
    assert ended.code == 3
    assert "Of 5 drafts 0 are labelled" in ended.out
    assert "nki-grader labels import FILE --format expert" in ended.out


@pytest.mark.parametrize(
    ("worst", "code", "sentence"),
    [(0, 0, "These 100 % of grades may stand without a human"), (1, 3, "Accept nothing: ")],
    ids=["always right", "always wrong"],
)
def test_a_judge_that_is_always_right_is_certified_and_one_that_is_always_wrong_is_not(
    make: Make, worst: float, code: int, sentence: str
) -> None:
    ended = run("calibrate", "--db", make(200, 200, worst=worst, doubtful=0))
    assert (ended.code, sentence in ended.out) == (code, True), ended.out
    assert "nan" not in ended.out.lower()


def test_one_expert_alone_is_named(make: Make) -> None:
    ended = run("calibrate", "--db", make(60, 60, twice=0, raters=1), "--dry-run")
    assert "One person gave all labels, so that person's habits count as the truth." in ended.out
    assert "how far people agree among themselves is not known (too few: 0 of at least 20)" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scope", "ffffff"), "no scope's hash begins with 'ffffff'"),
        (("--policy", "lenient"), "lenient"),
        (("--policy", "standard@v99"), "v99"),
        (("--report", "nowhere/r.html"), "there is no folder"),
        (("--json", "nowhere/r.json"), "there is no folder"),
    ],
    ids=["scope", "policy", "version", "report", "json"],
)
def test_bad_input_is_one_line_before_any_look_is_spent(
    database: Path, arguments: tuple[str, str], message: str
) -> None:
    ended = run("calibrate", "--db", database, *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert looks_of(database) == 0


def test_a_database_that_is_missing_or_without_drafts_is_named(empty_database: Path, tmp_path: Path) -> None:
    missing = run("calibrate", "--db", tmp_path / "none.duckdb")
    assert missing.code == 2
    assert "there is no database" in missing.err
    empty = tmp_path / "empty.duckdb"
    shutil.copy(empty_database, empty)
    ended = run("calibrate", "--db", empty)
    assert ended.code == 2
    assert "no judge has drafted anything" in ended.err
