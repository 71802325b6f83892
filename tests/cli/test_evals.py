"""``evals correctness``: the grader's own confusion table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from tests.cli.terminal import TINY_TASKS, Ended, run
from tests.judge.loopback import Loopback


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A tasks folder whose one task has a good and a bad solution, and few cases."""
    folder = tmp_path / "tasks" / "tiny_add"
    shutil.copytree(TINY_TASKS / "tiny_add", folder)
    for path in (folder / "solutions").glob("*.py"):
        if path.name not in ("good_add.py", "bad_multiplies.py"):
            path.unlink()
    description = folder / "task.toml"
    text = description.read_text()
    bad = '"bad_multiplies.py" = "incorrect"\n'
    description.write_text(text[: text.index('"bad_endless.py"')] + bad)
    return tmp_path / "tasks"


def quick(tasks: Path, *more: str) -> Ended:
    return run("evals", "correctness", "--root", tasks, "--tasks", "tiny_add", "--reseeds", "1", *more)


@pytest.mark.sandbox
def test_the_table_is_printed_with_what_is_worth_a_look(tasks: Path) -> None:
    ended = quick(tasks, "--every", "12", "--plain")
    assert ended.code == 0, ended.out + ended.err
    (good,) = [line for line in ended.out.splitlines() if line.startswith("good solutions  ")]
    # Wilson's interval of 0 of 1 at 95 %: 0 to z**2 / (1 + z**2) with z = 1.96.
    assert good.split()[-7:] == ["0", "1", "0.0", "%", "to", "79.3", "%"]
    assert "no false accept and no false reject" in ended.out
    assert "tiny_add: trivial candidates" in ended.err


@pytest.mark.sandbox
def test_a_bad_solution_that_is_called_good_makes_code_3_and_is_named(tasks: Path) -> None:
    solutions = tasks / "tiny_add" / "solutions"
    (solutions / "bad_multiplies.py").rename(solutions / "good_multiplies.py")
    description = tasks / "tiny_add" / "task.toml"
    description.write_text(description.read_text().replace('"bad_multiplies.py" = "incorrect"', ""))
    ended = quick(tasks, "--every", "40", "--json")
    assert ended.code == 3
    assert ended.data["holds"] is False
    (rejected,) = [line for line in ended.data["failures"] if "seed" in line]
    assert rejected.startswith("tiny_add/good_multiplies.py, seed ")
    assert "incorrect" in rejected


def test_an_unknown_task_is_named_with_those_there_are() -> None:
    ended = run("evals", "correctness", "--root", TINY_TASKS, "--tasks", "nothing")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: no task is called 'nothing' (choose from: tiny_add)\n"


def test_markdown_and_json_exclude_each_other() -> None:
    ended = run("evals", "correctness", "--markdown", "--json")
    assert (ended.code, ended.err) == (2, "error: --markdown and --json exclude each other\n")


def test_an_installation_without_the_suites_says_so_in_one_line(tmp_path: Path) -> None:
    (package,) = pipeline.__path__
    (tmp_path / "pipeline").symlink_to(package)
    script = (
        f"import sys; sys.path[:] = [p for p in sys.path if p != {str(Path(package).parent)!r}]\n"
        f"sys.path.append({str(tmp_path)!r})\n"
        "from pipeline.cli.main import main; main(['evals', 'correctness'])"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: the suites that grade the grader are no part of an installation")
    assert ended.stderr.count("\n") == 1


# The suites by one protocol.


def suite(name: str, *more: str | Path) -> Ended:
    return run("evals", "run", name, "--plain", *more)


def quickest(*more: str | Path) -> Ended:
    """The suite that takes no sandbox, with as few trials as can be."""
    return suite("calibration-coverage", "--repeats", "2", *more)


def test_the_suites_are_listed_with_what_they_heed_and_their_stored_run() -> None:
    ended = run("evals", "list", "--json")
    assert ended.code == 0, ended.err
    listed = {one["name"]: one for one in ended.data}
    assert len(listed) == 7
    assert listed["redteam"]["options"] == ["--every"]
    assert "--judge" in listed["bias"]["options"]
    assert "redteam" in run("evals", "list", "--plain").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "no suite is called 'nothing' (choose from: correctness, "),
        (("redteam", "--judge", "anthropic"), "--judge changes nothing in redteam: leave it out"),
        (("bias", "--repeats", "3"), "--repeats changes nothing in bias: leave it out"),
        (("bias", "--tasks", "nothing"), "no task is called 'nothing'"),
        (("bias", "--judge", "nobody"), "there is no judge 'nobody'"),
        (("bias", "--model", "m"), "the rules judge asks no model"),
        (("redteam", "--baseline", "/nowhere/run.json"), "cannot be read: No such file or directory"),
        (("redteam", "--json", "/nowhere/run.json"), "there is no folder"),
    ],
    ids=lambda value: "-".join(value).replace("/", "") if isinstance(value, tuple) else "",
)
def test_what_cannot_be_run_as_asked_is_refused_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    ended = run("evals", "run", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_run_is_stored_and_the_same_run_is_no_worse(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    first = quickest("--baseline", path, "--write-baseline")
    assert first.code == 0, first.out + first.err
    assert f"stored: {path}" in first.err
    again = quickest("--baseline", path, "--json", tmp_path / "found.json")
    assert again.code == 0
    assert "nothing came out worse" in again.out
    assert "every gate holds" in again.out
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["holds"], found["regressed"], found["asked"]["repeats"]) == (True, False, 2)
    assert found["baseline"]["compared"] > 20


def test_what_got_worse_beyond_chance_makes_code_3_where_the_stored_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    quickest("--baseline", path, "--write-baseline")
    stored = json.loads(path.read_text())
    row = next(row for row in stored["rows"] if row["better"] == "higher" and row["value"] < 1)
    # A million of a million: that one of two is missed after that is 2 in a million by chance.
    row |= {"hits": 10**6, "n": 10**6, "value": 1.0}
    path.write_text(json.dumps(stored))
    ended = quickest("--baseline", path)
    assert ended.code == 3
    (line,) = [line for line in ended.out.splitlines() if line.startswith("worse beyond chance: ")]
    assert line.startswith(f"worse beyond chance: {row['name']}, ")
    assert "every gate holds" in ended.out


def test_json_on_standard_output_is_in_place_of_the_table() -> None:
    ended = quickest("--json", "-")
    assert ended.code == 0
    assert ended.data["suite"] == "calibration-coverage"
    assert quickest("--markdown").out.startswith("| what was tried | measure | value | n |")


@pytest.mark.sandbox
def test_correctness_runs_by_the_same_protocol_and_a_gate_that_fails_makes_code_3(
    tasks: Path, tmp_path: Path
) -> None:
    solutions = tasks / "tiny_add" / "solutions"
    (solutions / "bad_multiplies.py").rename(solutions / "good_multiplies.py")
    description = tasks / "tiny_add" / "task.toml"
    description.write_text(description.read_text().replace('"bad_multiplies.py" = "incorrect"', ""))
    path = tmp_path / "run.json"
    little = ("--root", tasks, "--repeats", "1", "--every", "400")
    ended = suite("correctness", *little, "--baseline", path, "--write-baseline")
    assert ended.code == 3
    assert "tiny_add/good_multiplies.py, seed " in ended.out
    assert "a gate does not hold" in ended.out
    # A run that fails is no baseline.
    assert not path.exists()


@pytest.mark.sandbox
def test_a_cap_on_cost_stops_the_run_with_code_4(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-stand-in")
    for name in ("ANTHROPIC_BASE_URL", "NKI_GRADER_MODELS"):
        monkeypatch.delenv(name, raising=False)
    with Loopback() as server:
        judge = ("--judge", "anthropic", "--base-url", server.address, "--max-cost", "0.0001")
        ended = suite(
            "master-key", "--tasks", "rmsnorm", "--every", "11", *judge, "--db", tmp_path / "a.duckdb"
        )
        assert server.calls == []
    assert (ended.code, ended.out) == (4, "")
    assert "stopped: " in ended.err
    assert "--db FILE" in ended.err
