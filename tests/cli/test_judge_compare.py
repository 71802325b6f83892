"""``judge``: what it lists, compares and replays, as a person and as a gate of a build see it."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.review.labels import FileLabel, keep_file_labels
from pipeline.routing.splits import Splits
from pipeline.store import Store, open_store
from pipeline.types import Batch, BatchItem, Destination, Route, Split
from tests.cli.terminal import run
from tests.review.desk_examples import HASH, NOON, copy_store
from tests.routing.golden import COUNT, keep_drafts, label_drafts
from tests.routing.two_judges import NEW, OLD, keep_draft, label, scopes

ALL_CHOOSE: dict[Split, float] = {"choose": 1, "fit": 0, "certify": 0, "report": 0}
HOSTILE = "\x1b[2J<b>"


def keep_batch(store: Store, name: str, days: int, grading_ids: list[str]) -> None:
    items = tuple(
        BatchItem(grading_id=grading_id, submission_id=f"s-{grading_id.split('-')[1]}", origin="k.py")
        for grading_id in grading_ids
    )
    store.open_batch(Batch(id=f"b-{name}", opened_at=NOON + timedelta(days=days), items=items))
    for grading_id in grading_ids:
        route = Route(destination=Destination.REVIEW, reason="no certificate", policy="gates 1")
        store.save_route(grading_id, route)


@pytest.fixture(scope="module")
def compared(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A database in which a new judge is right about 8 of 16 errors of the old one, and both ids."""
    folder = tmp_path_factory.mktemp("compared")
    with copy_store(empty_database, folder) as store:
        labels: list[FileLabel] = []
        ids: tuple[list[str], list[str]] = ([], [])
        hostile = NEW.model_copy(update={"judge": f"new {HOSTILE}"})
        for number in range(40):
            name, task = f"{number:03}", f"task {number % 8}"
            ids[0].append(keep_draft(store, name, task, OLD, (0, 3) if number < 16 else (3, 3)))
            ids[1].append(keep_draft(store, name, task, NEW, (0, 3) if number < 8 else (3, 3)))
            labels += label(name, task, ids[0][-1], {"clarity": 3, "safety": 3})
        keep_draft(store, "unlabelled", "task 0", OLD, (3, 3))
        keep_draft(store, "unlabelled", "task 0", hostile, (3, 3))
        keep_file_labels(store, labels)
        # Of 40 submissions chance would give four to this split.
        Splits(store, ALL_CHOOSE).assign({one.submission_id for one in labels}, HASH)
        for number, found in enumerate(ids):
            keep_batch(store, f"night{number}", number, found)
        old, new = scopes(store)
        return Path(store.path), old.sha256, new.sha256


def test_scopes_are_listed_in_words(compared: tuple[Path, str, str]) -> None:
    database, old, new = compared
    listed = run("judge", "list", "--db", database)
    assert listed.code == 0
    assert "\x1b" not in listed.out
    (line,) = [line for line in listed.out.splitlines() if line.startswith(new[:12])]
    assert line.split()[1:7] == ["rules", "1", "new", "prompt", "small", "40"]
    data = run("judge", "list", "--db", database, "--json").data
    assert [(one["gradings"], one["labelled"]) for one in data if one["id"] == old] == [(41, 40)]
    assert len(data) == 3


def test_a_judge_that_is_no_worse_ends_with_0(compared: tuple[Path, str, str]) -> None:
    database, old, new = compared
    ended = run("judge", "compare", old[:8], new[:8], "--db", database)
    assert ended.code == 0, ended.err
    assert "They differ in: prompt\n" in ended.out
    assert "Drafted by both: 40 submissions to 8 tasks" in ended.out
    assert "pass or fail" in ended.out
    assert "Shown: the new judge errs less often, by at least 0.049 (40 " in ended.out
    data = run("judge", "compare", old, new, "--db", database, "--json").data
    assert data["shown"] is True
    assert data["errors"]["only_old"] == 8
    assert data["differ_in"] == ["prompt"]
    assert data["old_rate"]["value"] == 0.4


def test_one_that_may_be_worse_ends_with_3_and_too_few_with_2(compared: tuple[Path, str, str]) -> None:
    database, old, new = compared
    worse = run("judge", "compare", new[:8], old[:8], "--db", database)
    assert worse.code == 3
    assert "Worse: the new judge errs more often, by at least 0.049 (40 " in worse.out
    assert run("judge", "compare", new[:8], old[:8], "--db", database, "--margin", "0.5").code == 0
    (third,) = {one["id"] for one in run("judge", "list", "--db", database, "--json").data} - {old, new}
    few = run("judge", "compare", old, third, "--db", database)
    assert few.code == 2
    assert "They differ in: prompt, judge" in few.out
    assert "left out: 1 (not labelled)" in few.out
    assert "Too few to say anything: 0 labelled pairs of at least 20" in few.out
    assert "\x1b" not in few.out
    assert "p = " not in few.out
    assert run("judge", "compare", old, third, "--db", database, "--json").data["errors"]["p_value"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("OLD", "OLD"), "both are the same scope"),
        (("OLD", "zz"), "no scope begins with 'zz'"),
        (("OLD", "NEW", "--criterion", HOSTILE), "both judges scored nothing called '\\x1b[2J<b>'"),
        (("OLD", "NEW", "--margin", "1"), "--margin"),
        (("OLD", "NEW", "--margin", "nan"), "--margin"),
        (("OLD", "NEW", "--margin", "1e-300"), "--margin"),
        (("OLD", "NEW", "--policy", "none"), "none"),
        (("OLD",), "Missing argument 'B'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    compared: tuple[Path, str, str], arguments: tuple[str, ...], message: str
) -> None:
    database, old, new = compared
    typed = [{"OLD": old, "NEW": new}.get(word, word) for word in arguments]
    ended = run("judge", "compare", *typed, "--db", database)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert message in line


def test_nights_that_differ_end_with_3_and_the_same_one_with_0(compared: tuple[Path, str, str]) -> None:
    database, *_ = compared
    same = run("judge", "drift", "b-night0", "b-night0", "--db", database)
    assert same.code == 0, same.err
    assert "Audits: no grade that stands alone was audited yet." in same.out
    # Of 40, 16 at level 0 before and 8 after: G = 3.865 with one degree of freedom, p = 0.049; two tests.
    data = run("judge", "drift", "--nights", "3", "--db", database, "--json").data
    assert (data["before"]["batches"], data["after"]["batches"]) == (["b-night0"], ["b-night1"])
    levels = next(change for change in data["changes"] if change["test"]["name"] == "levels of clarity")
    assert levels["test"]["statistic"] == pytest.approx(3.8651, abs=1e-4)
    assert data["changed"] is False
    for usage in (("b-night0",), (), ("b-night0", "b-night1", "--nights", "2")):
        wrong = run("judge", "drift", *usage, "--db", database)
        assert (wrong.code, wrong.out) == (2, "")
        assert "give two batches, or --nights N" in wrong.err


def test_a_night_of_other_levels_ends_with_3(empty_database: Path, tmp_path: Path) -> None:
    with copy_store(empty_database, tmp_path) as store:
        for night, level in enumerate((1, 3)):
            ids = [keep_draft(store, f"{night}x{n}", "task", OLD, (level, 3)) for n in range(30)]
            keep_batch(store, f"night{night}", night, ids)
        database = store.path
    ended = run("judge", "drift", "b-night0", "b-night1", "--db", database)
    assert ended.code == 3
    (line,) = [line for line in ended.out.splitlines() if line.startswith("levels of clarity")]
    assert line.endswith("changed")


def test_nights_of_too_few_drafts_end_with_2(empty_database: Path, tmp_path: Path) -> None:
    with copy_store(empty_database, tmp_path) as store:
        for night in (0, 1):
            keep_batch(store, f"few{night}", night, [keep_draft(store, f"{night}", "task", OLD, (1, 3))])
        database = store.path
    ended = run("judge", "drift", "b-few0", "b-few1", "--db", database)
    assert ended.code == 2, ended.out
    assert "too few: 1 of at least 20" in ended.out


def test_the_rules_judge_is_replayed_and_has_not_changed(empty_database: Path, tmp_path: Path) -> None:
    database = tmp_path / "grades.duckdb"
    shutil.copy(empty_database, database)
    empty = run("judge", "replay", "--db", database)
    assert empty.code == 2
    assert "of 0 planted or labelled submissions none has a draft by 'rules 2'" in empty.err
    with open_store(database) as store:
        keep_drafts(store, Settings())
        label_drafts(store, range(COUNT))
    ended = run("judge", "replay", "--db", database, "--fresh=night")
    assert ended.code == 0, ended.err
    assert "note: asking anew; --fresh night goes on with this replay" in ended.err
    assert "No change beyond the judge's own noise: 0.000 of its levels flip" in ended.out
    data = run("judge", "replay", "--db", database, "--json").data
    assert (data["changed"], data["asked_twice"], len(data["items"])) == (False, False, COUNT)
    assert run("judge", "replay", "--db", database, "--items", "19").code == 2
