"""``labels``: exports in every format, and imports that list what they did not take."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from pipeline.store import open_store
from pipeline.types import Answer, Assessment, Committed, DeskEvent
from tests.cli.terminal import run

pytestmark = pytest.mark.sandbox

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def assessed(database: Path) -> Path:
    """The database with one blind assessment of one criterion, by Ada."""
    with open_store(database) as store:
        _, item = store.desk.list_items()[0]
        committed = Committed(
            assessment=Assessment(answers={"judgement": Answer(level=3)}), rubric=item.rubric, seconds=90
        )
        event = DeskEvent(id="e-1", review_id=item.review.id, slot=0, actor="ada", at=NOON, action=committed)
        store.desk.record([event])
    return database


def read_parquet(path: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.read_parquet(str(path)).project("rater, criterion, level").fetchall()


def test_labels_are_written_in_the_format_that_the_name_ends_with(assessed: Path, tmp_path: Path) -> None:
    for ending in ("parquet", "jsonl", "csv"):
        output = tmp_path / f"labels.{ending}"
        ended = run("labels", "export", output, "--db", assessed)
        assert (ended.code, ended.out) == (0, f"Labels: 1 in {output}\n")
    assert read_parquet(tmp_path / "labels.parquet") == [("ada", "judgement", 3)]
    assert json.loads((tmp_path / "labels.jsonl").read_text())["rater"] == "ada"
    (row,) = csv.DictReader((tmp_path / "labels.csv").read_text().splitlines())
    assert (row["rater"], row["level"], row["seconds"]) == ("ada", "3", "90.0")


def test_pseudonyms_are_the_same_in_every_export(assessed: Path, tmp_path: Path) -> None:
    names = set()
    for name in ("one.parquet", "two.parquet"):
        assert run("labels", "export", tmp_path / name, "--db", assessed, "--pseudonyms").code == 0
        names |= {rater for rater, _, _ in read_parquet(tmp_path / name)}
    (pseudonym,) = names
    assert pseudonym.startswith("rater-")


def test_items_go_out_with_their_form_beside_them(database: Path, tmp_path: Path) -> None:
    output = tmp_path / "items.json"
    ended = run("labels", "export", output, "--db", database, "--format", "label-studio", "--json")
    assert ended.code == 0, ended.err
    assert ended.data["items"] == 2
    tasks = json.loads(output.read_text())
    assert all("def kernel" in task["data"]["code"] for task in tasks)
    assert all("Verdict: correct" in task["data"]["evidence"] for task in tasks)
    form = ElementTree.parse(ended.data["form"])
    assert "judgement" in {choices.get("name") for choices in form.iter("Choices")}
    ended = run("labels", "export", output, "--db", database, "--format", "argilla", "--json")
    assert ended.code == 0, ended.err
    assert len(json.loads(output.read_text())) == 2
    assert json.loads(Path(ended.data["form"]).read_text())["questions"]


def annotated(database: Path, folder: Path, level: str, user: int = 7) -> Path:
    """Return a Label Studio export in which the user answered every item."""
    items = folder / "items.json"
    assert run("labels", "export", items, "--db", database, "--format", "label-studio").code == 0
    tasks = json.loads(items.read_text())
    answer = {
        "from_name": "judgement",
        "to_name": "code",
        "type": "choices",
        "value": {"choices": [level]},
    }
    for task in tasks:
        task["annotations"] = [
            {"completed_by": user, "result": [answer], "updated_at": "2026-11-30T13:00:00Z", "lead_time": 5}
        ]
    answers = folder / "answers.json"
    answers.write_text(json.dumps(tasks))
    return answers


def test_answers_come_back_under_the_names_given(database: Path, tmp_path: Path) -> None:
    answers = annotated(database, tmp_path, "2")
    ended = run(
        "labels",
        "import",
        answers,
        "--db",
        database,
        "--format",
        "label-studio",
        "--rater",
        "7=ada",
        "--json",
    )
    assert ended.code == 0, ended.err
    assert ended.data == {"assessments": 2, "labels": 2, "skipped": 0, "bad": []}
    assert run("labels", "export", tmp_path / "l.parquet", "--db", database).code == 0
    assert read_parquet(tmp_path / "l.parquet") == [("ada", "judgement", 2)] * 2
    # They decide nothing.
    assert len(run("review", "list", "--db", database, "--json").data) == 2


def test_what_is_not_taken_is_listed_and_only_nothing_at_all_is_a_failure(
    database: Path, tmp_path: Path
) -> None:
    answers = annotated(database, tmp_path, "2")
    tasks = json.loads(answers.read_text())
    tasks[0]["data"]["review_id"] = "r-elsewhere"
    answers.write_text(json.dumps(tasks))
    ended = run("labels", "import", answers, "--db", database, "--format", "label-studio")
    assert ended.code == 0
    assert "Kept: 1 labels in 1 assessments." in ended.out
    assert "task 1, annotation 1  no review is called 'r-elsewhere'" in ended.out
    answers = annotated(database, tmp_path, "9")
    ended = run("labels", "import", answers, "--db", database, "--format", "label-studio")
    assert ended.code == 2
    assert "has no level '9'" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "labels.xlsx"), "say which with --format"),
        (("export", "labels.csv", "--rubric", "x"), "labels are exported whole"),
        (("export", "labels.csv", "--all"), "labels are exported whole"),
        (("export", "items.json", "--format", "argilla", "--pseudonyms"), "items name nobody"),
        (("export", "items.json", "--format", "argilla", "--rubric", "none"), "no review is there to export"),
        (("export", "missing/labels.csv"), "there is no folder"),
        (("import", "FILE", "--format", "argilla", "--rater", "7"), "is not USER=NAME"),
        (("import", "FILE", "--format", "argilla", "--rater", "7=a", "--rater", "7=b"), "given two names"),
        (("import", "FILE", "--format", "argilla"), "cannot be read"),
        (("import", "nowhere.json", "--format", "argilla"), "does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_one_sentence(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file.json"
    file.write_text("no json")
    given = [str(file) if argument == "FILE" else argument for argument in arguments]
    ended = run("labels", *given, "--db", database)
    assert ended.code == 2
    assert message in ended.err
    assert list(tmp_path.glob("labels*")) == []


def expert_rows(database: Path, *levels: str) -> str:
    """Return a table in which Ada gives the first review's submission these levels, one row each."""
    with open_store(database) as store:
        _, item = store.desk.list_items()[0]
    rows = [f"{item.submission_id},ada,judgement,{level},{item.rubric}" for level in levels]
    return "\n".join(["submission,rater,criterion,level,rubric", *rows, ""])


def test_a_table_of_expert_labels_is_taken_in_and_once(database: Path, tmp_path: Path) -> None:
    table = tmp_path / "experts.csv"
    table.write_text(expert_rows(database, "2"))
    arguments = ("labels", "import", table, "--db", database, "--format", "expert")
    ended = run(*arguments, "--json")
    assert ended.code == 0, ended.err
    assert (ended.data["labels"], ended.data["unchanged"], ended.data["bad"]) == (1, 0, [])
    ended = run(*arguments)
    assert (ended.code, ended.out) == (0, "Kept: 0 labels. Known already: 1. Not taken: 0 rows.\n")
    assert run("labels", "export", tmp_path / "l.parquet", "--db", database).code == 0
    assert read_parquet(tmp_path / "l.parquet") == [("ada", "judgement", 2)]
    back = ("labels", "import", tmp_path / "l.parquet", "--db", database, "--format", "expert")
    assert "Known already: 1." in run(*back).out


def test_rows_of_experts_that_are_not_taken_are_listed(database: Path, tmp_path: Path) -> None:
    table = tmp_path / "experts.csv"
    table.write_text(expert_rows(database, "2", "3"))
    ended = run("labels", "import", table, "--db", database, "--format", "expert")
    assert ended.code == 2
    assert "row 2  ada says 2 here and 3 in row 3: neither is taken" in ended.out
    table.write_text(expert_rows(database, "2", "9"))
    ended = run("labels", "import", table, "--db", database, "--format", "expert")
    assert ended.code == 0
    assert "Kept: 1 labels. Known already: 0. Not taken: 1 rows." in ended.out


def test_a_table_names_its_raters_itself(database: Path, tmp_path: Path) -> None:
    table = tmp_path / "experts.csv"
    table.write_text(expert_rows(database, "2"))
    ended = run("labels", "import", table, "--db", database, "--format", "expert", "--rater", "7=ada")
    assert ended.code == 2
    assert "a table of labels names its raters" in ended.err
