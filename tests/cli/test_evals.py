"""``evals correctness``: the grader's own confusion table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from tests.cli.terminal import TINY_TASKS, Ended, run


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
