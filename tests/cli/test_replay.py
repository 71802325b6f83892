"""``nki-grader replay`` repeats what was recorded, or says what is not as it was."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.cli.terminal import run

pytestmark = pytest.mark.sandbox

RELEASE = Path(__file__).parents[1] / "fixtures" / "releases" / "0.1.0.duckdb.gz"


def grading_of(database: Path, name: str) -> str:
    """Id of the grading of the submission file called `name`."""
    with duckdb.connect(str(database), read_only=True) as connection:
        found = connection.execute(
            "SELECT grading_id FROM batch_items WHERE origin LIKE '%' || ?", [name]
        ).fetchone()
    assert found
    return str(found[0])


def test_a_right_run_is_repeated_bit_for_bit(database: Path) -> None:
    ended = run("replay", grading_of(database, "good_add.py"), "--db", database, "--json")
    assert ended.code == 0, ended.err
    assert all(case["equal"] for case in ended.data)
    assert [case["case"] for case in ended.data if case["case"].startswith("battery: ")]
    hashes = [case["replayed"]["outputs_hash"] for case in ended.data]
    assert all(len(digest) == 64 for digest in hashes)


def test_a_failing_run_fails_again_in_the_same_words(database: Path) -> None:
    ended = run("replay", grading_of(database, "bad_multiplies.py"), "--db", database, "--plain")
    assert ended.code == 0, ended.out
    assert "incorrect" in ended.out
    assert "differs" not in ended.out.splitlines()[1]


def test_one_case_is_repeated_and_saved(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    grading = grading_of(database, "good_add.py")
    ended = run("replay", grading, "--db", database, "--case", "battery: offset", "--save", folder, "--json")
    assert ended.code == 0, ended.err
    assert [case["case"] for case in ended.data] == ["battery: offset"]
    place = folder / "battery_offset" / "draw_0"
    x, y, out, expected = (
        np.load(place / f"{name}.npy") for name in ("input_x", "input_y", "output_out", "expected_out")
    )
    np.testing.assert_array_equal(x + y, out)
    np.testing.assert_array_equal(x.astype(np.float64) + y.astype(np.float64), expected)


def test_a_record_that_says_otherwise_is_shown_and_ends_with_1(database: Path) -> None:
    grading = grading_of(database, "good_add.py")
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            'UPDATE stages SET output = regexp_replace(output, \'"outputs_hash":"....\','
            " '\"outputs_hash\":\"0000') WHERE stage = 'run'"
        )
    ended = run("replay", grading, "--db", database, "--plain")
    assert ended.code == 1
    assert "differs: outputs" in ended.out


def test_an_unknown_id_is_bad_input(database: Path) -> None:
    ended = run("replay", "g-0000000000000000", "--db", database)
    assert ended.code == 2
    assert "g-0000000000000000" in ended.err


def test_a_case_that_was_not_run_is_named_with_those_that_were(database: Path) -> None:
    ended = run("replay", grading_of(database, "good_add.py"), "--db", database, "--case", "huge")
    assert ended.code == 2
    assert "no case called 'huge'" in ended.err
    assert "battery: impulse" in ended.err


def test_what_never_ran_cannot_be_repeated(database: Path) -> None:
    ended = run("replay", grading_of(database, "bad_syntax.py"), "--db", database)
    assert ended.code == 2
    assert "its verdict is compile_error" in ended.err


def test_a_run_of_a_release_without_seeds_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "old.duckdb"
    with gzip.open(RELEASE) as packed, database.open("wb") as file:
        shutil.copyfileobj(packed, file)
    journal = RELEASE.with_name(RELEASE.name.removesuffix(".gz") + ".journal.jsonl")
    shutil.copy(journal, f"{database}.journal.jsonl")
    with duckdb.connect(str(database), read_only=True) as connection:
        (grading,) = connection.execute(
            "SELECT grading_id FROM canonical_results WHERE verdict = 'correct'"
        ).fetchall()[0]
    ended = run("replay", grading, "--db", database)
    assert ended.code == 2
    assert "holds no seed" in ended.err


def test_arrays_that_cannot_be_written_are_one_line(database: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    grading = grading_of(database, "good_add.py")
    ended = run("replay", grading, "--db", database, "--case", "small", "--save", tmp_path / "file" / "below")
    assert ended.code == 1
    assert "cannot be written" in ended.err
    assert "Traceback" not in ended.err
