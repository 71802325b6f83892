"""Every suite keeps the same protocol, and what got worse since a stored run is told from chance."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evals.suites import baseline, judge_regression
from evals.suites.judge_regression import Pair, count_pairs
from evals.suites.registry import SUITES
from evals.suites.suite import HEEDED, Options, Suite
from evals.suites.table import Row, Table, count_items, show_estimate, show_rate
from pipeline.errors import GraderError
from pipeline.stats.agreement import Estimate
from pipeline.stats.intervals import Interval

#: As little as each can be asked for. `correctness` runs in tests/cli/test_evals.py; `redteam` and
#: `injection` take as long as the tests of what they wrap.
SMALL: Mapping[str, Mapping[str, Any]] = {
    "master-key": {"tasks": ("rmsnorm",), "every": 15},
    "judge-regression": {"tasks": ("rmsnorm",), "every": 8},
    "bias": {"tasks": ("rmsnorm",), "every": 3},
    "calibration-coverage": {"repeats": 2},
}


@pytest.fixture(scope="module", params=SMALL)
def run(request: pytest.FixtureRequest) -> tuple[Suite, Table]:
    """A suite and what it found, asked for little."""
    suite = SUITES[request.param]
    return suite, suite.measure(Options(**SMALL[request.param]))


def test_suites_are_listed_by_name_and_say_what_they_heed() -> None:
    assert set(SUITES) == {*SMALL, "correctness", "redteam", "injection"}
    for name, suite in SUITES.items():
        assert suite.name == name
        assert suite.heeds <= HEEDED.keys()
        assert "\n" not in suite.summary


def keeps_protocol(suite: Suite, data: Mapping[str, Any]) -> None:
    assert data["suite"] == suite.name
    assert bool(data["judge"]) is ("judge" in suite.heeds)
    assert len(data["rows"]) == len({(row["name"], row["what"]) for row in data["rows"]}) > 1
    for row in data["rows"]:
        if row["hits"] is not None and row["n"]:
            assert row["low"] <= row["value"] <= row["high"]
            assert row["value"] == row["hits"] / row["n"]
        if row["value"] is None:
            assert row["remark"]
        if row["items"] is not None:
            assert (sum(row["items"].values()), len(row["items"])) == (row["hits"], row["n"])
    assert data["holds"] is (not data["failures"] and all(row["as_wanted"] for row in data["rows"]))


@pytest.mark.sandbox
def test_every_row_has_its_number_and_interval_and_json_has_all(run: tuple[Suite, Table]) -> None:
    suite, table = run
    keeps_protocol(suite, json.loads(json.dumps(table.to_data(), allow_nan=False)))
    headings, rows = table.cells()
    assert {len(row) for row in rows} == {len(headings)}


@pytest.mark.sandbox
def test_a_run_is_no_worse_than_itself(run: tuple[Suite, Table], tmp_path: Path) -> None:
    suite, table = run
    path = tmp_path / "run.json"
    baseline.write_baseline(path, table)
    compared = baseline.compare(table, baseline.read_baseline(path, suite.name))
    assert compared.same_judge
    assert (compared.worse, compared.moved, compared.better) == ([], [], [])
    assert compared.compared == sum(row.better is not None and row.n > 0 for row in table.rows)


@pytest.mark.parametrize("name", SUITES)
def test_the_stored_run_of_a_suite_holds_and_is_by_the_rules_judge(name: str) -> None:
    stored = baseline.read_baseline(baseline.FOLDER / f"{name}.json", name)
    keeps_protocol(SUITES[name], stored)
    assert stored["holds"] is True
    assert stored["judge"] == "" or stored["judge"].startswith("rules ")


# Gates.


def test_a_gate_over_nothing_does_not_hold() -> None:
    row = count_items("attacks", "accepted", {}, at_most=0)
    assert (row.value, row.interval, row.as_wanted) == (None, None, False)
    assert row.remark == "nothing was tried"
    assert not Table("redteam", rows=[row]).holds
    assert not Table("redteam").holds


def test_a_share_holds_up_to_its_gate() -> None:
    assert [show_rate("", "", hits, 20, at_most=0.05).as_wanted for hits in (0, 1, 2)] == [True, True, False]


def test_a_failure_behind_no_row_is_a_failure() -> None:
    assert Table("redteam", rows=[show_rate("", "", 0, 1)]).holds
    assert not Table("redteam", rows=[show_rate("", "", 0, 1)], failures=["something"]).holds


def pair(number: int, given: int | None, wanted: int, source: str = "check") -> Pair:
    return Pair(f"task {number % 4}", f"{number}.py", "rubric: one", source, given, wanted)


def rows_of(pairs: list[Pair]) -> dict[tuple[str, str], Row]:
    return {(row.name, row.what): row for row in count_pairs(pairs)}


def test_levels_are_counted_as_by_hand() -> None:
    # 20 scored: 15 the same, 3 one off, 2 two off, all too high; 5 more unscored.
    levels = [(2, 2)] * 15 + [(3, 2)] * 3 + [(4, 2)] * 2 + [(None, 2)] * 5
    found = rows_of([pair(n, given, wanted) for n, (given, wanted) in enumerate(levels)])
    settled = "levels settled by checks"
    assert found[settled, "unscored"].hits == 5
    assert found[settled, "the same level"].value == pytest.approx(0.75)
    assert found[settled, "at most one level apart"].value == pytest.approx(0.9)
    assert found[settled, "mean of draft minus constructed"].value == pytest.approx((3 + 4) / 20)
    far = found[settled, "two levels apart or more"]
    assert (far.hits, far.n, far.as_wanted) == (2, 20, False)
    assert found["rubric: one", "the same level"].hits == 15


def test_a_judge_must_agree_better_than_chance_and_19_levels_are_too_few_to_tell() -> None:
    kappa = "levels scored by the judge", "kappa, quadratic weights"
    right = [pair(n, n % 5, n % 5, "judge") for n in range(20)]
    wrong = [pair(n, 4 - n % 5, n % 5, "judge") for n in range(20)]
    constant = [pair(n, 2, 2, "judge") for n in range(20)]
    assert rows_of(right)[kappa].as_wanted
    assert not rows_of(wrong)[kappa].as_wanted
    assert (rows_of(constant)[kappa].value, rows_of(constant)[kappa].as_wanted) == (None, False)
    few = rows_of(wrong[:19])[kappa]
    assert (few.value, few.as_wanted, few.remark) == (None, True, "too few: 19 of at least 20")
    assert judge_regression.MOST_FAR == 0.05


# Stored runs.


def stored(*rows: Row) -> dict[str, Any]:
    return Table("bias", judge="rules 2", rows=list(rows)).to_data() | {"date": "2026-01-01"}


def named(bad: int, n: int = 30) -> Row:
    items = {f"trial {number}": number < bad for number in range(n)}
    return count_items("control", "level changed", items, better="lower")


def unnamed(bad: int, n: int = 30) -> Row:
    return show_rate("control", "level changed", bad, n, better="lower")


@pytest.mark.parametrize(("heads", "tails", "p"), [(0, 0, 1.0), (5, 0, 1 / 32), (3, 1, 5 / 16), (0, 2, 1.0)])
def test_a_fair_coin_is_counted_exactly(heads: int, tails: int, p: float) -> None:
    assert baseline.coin_p_value(heads, tails) == pytest.approx(p, abs=1e-12)


# One row: 5 %. Five trials that all came out worse are 1/32 by chance, four 1/16.
@pytest.mark.parametrize(("bad", "beyond"), [(0, False), (4, False), (5, True)])
def test_trials_with_names_are_compared_one_by_one(bad: int, beyond: bool) -> None:
    compared = baseline.compare(Table("bias", judge="rules 2", rows=[named(bad)]), stored(named(0)))
    assert bool(compared.worse) is beyond
    assert len(compared.moved) == bad
    assert compared.better == []
    back = baseline.compare(Table("bias", judge="rules 2", rows=[named(0)]), stored(named(bad)))
    assert (back.worse, back.moved, bool(back.better)) == ([], [], beyond)


def test_more_rows_share_the_five_per_cent() -> None:
    others = [show_rate(f"other {n}", "flagged", 1, 9, better="higher") for n in range(9)]
    # Of ten rows one must come below .005: 1/128 is not, 1/256 is.
    for bad, beyond in ((7, False), (8, True)):
        table = Table("bias", judge="rules 2", rows=[named(bad), *others])
        assert bool(baseline.compare(table, stored(named(0), *others)).worse) is beyond


# Fisher's exact test, one-sided: of 30 and 30, C(30, 4) / C(60, 4) = .0562 and C(30, 5) / C(60, 5) = .0261.
@pytest.mark.parametrize(("bad", "beyond"), [(4, False), (5, True)])
def test_trials_without_names_are_compared_by_fishers_test(bad: int, beyond: bool) -> None:
    compared = baseline.compare(Table("bias", rows=[unnamed(bad)]), stored(unnamed(0)))
    assert bool(compared.worse) is beyond
    assert not compared.same_judge


def test_trials_with_other_names_are_compared_as_shares_and_nothing_with_nothing_not_at_all() -> None:
    def table(task: str, hits: int, n: int) -> Table:
        items = {f"{task} {number}": number < hits for number in range(n)}
        return Table("bias", rows=[count_items("a", "b", items, better="lower")])

    def stored(task: str, hits: int, n: int) -> dict[str, Any]:
        return table(task, hits, n).to_data() | {"date": ""}

    found = baseline.compare(table("softmax", 15, 15), stored("cumsum", 0, 45))
    assert (found.compared, len(found.worse), found.moved) == (1, 1, [])
    for now, then in ((0, 45), (15, 0)):
        assert baseline.compare(table("softmax", 0, now), stored("cumsum", 0, then)).compared == 0


def test_another_number_is_worse_below_the_stored_interval() -> None:
    def kappa(value: float) -> Row:
        return show_estimate(
            "levels", "kappa", Estimate(value, 40, Interval(value - 0.1, value + 0.1)), better="higher"
        )

    def words(value: float) -> tuple[bool, bool]:
        compared = baseline.compare(Table("bias", rows=[kappa(value)]), stored(kappa(0.6)))
        return bool(compared.worse), bool(compared.better)

    assert [words(value) for value in (0.45, 0.55, 0.75)] == [(True, False), (False, False), (False, True)]


NO_RUN = "is no baseline of a suite"


def keep_row(**changed: object) -> str:
    row = {
        "name": "a",
        "what": "b",
        "hits": 2,
        "n": 2,
        "value": 1.0,
        "low": None,
        "high": None,
        "items": None,
    }
    return json.dumps({"suite": "bias", "judge": "", "date": "", "rows": [row | changed]})


def test_a_stored_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(keep_row(remark="kept too"))
    (row,) = baseline.read_baseline(path, "bias")["rows"]
    assert (row["n"], row["value"], row["remark"]) == (2, 1.0, "kept too")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", NO_RUN),
        ("[]", NO_RUN),
        ('{"suite": "bias", "judge": "", "date": "", "rows": [{}]}', NO_RUN),
        ('{"suite": "bias", "judge": "", "date": "", "rows": [3]}', NO_RUN),
        ('{"suite": "bias", "judge": "", "rows": []}', NO_RUN),
        ('{"suite": "bias", "judge": 5, "date": "", "rows": []}', NO_RUN),
        ("[" * 100_000, NO_RUN),
        (keep_row(value=math.nan), NO_RUN),
        (keep_row(value="0.5"), NO_RUN),
        (keep_row(n=1), NO_RUN),
        (keep_row(name=["a"]), NO_RUN),
        (keep_row(low=0.1), NO_RUN),
        (
            '{"suite": "redteam", "judge": "", "date": "", "rows": []}',
            "a baseline of 'redteam', not of 'bias'",
        ),
    ],
    ids=[
        *("empty", "list", "bare row", "no row", "no date", "judge", "deep", "no number", "text"),
        *("too often", "name", "half an interval", "another suite"),
    ],
)
def test_what_is_no_stored_run_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(GraderError, match=message):
        baseline.read_baseline(path, "bias")
