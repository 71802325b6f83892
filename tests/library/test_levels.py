"""Constructed levels: their form, and that they fit the rubric of the task."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.library.errors import TaskError
from pipeline.library.levels import check_levels
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.tasks import load_task, load_tasks
from pipeline.types import ConstructedLevel

TINY = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
RUBRIC = load_rubric("performance_quality", "v1")
CRITERIA = [criterion.id for criterion in RUBRIC.criteria]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(TINY, tmp_path / "tiny_add")


def whole(folder: Path) -> str:
    """Levels of every solution and criterion."""
    lines = [
        "# Constructed from rubric and code alone; no expert's labels.",
        'rubric = "performance_quality v1"',
    ]
    for path in sorted((folder / "solutions").glob("*.py")):
        lines += [f'["{path.name}"]', *(f'{criterion} = [2, "because"]' for criterion in CRITERIA)]
    return "\n".join(lines)


def write(folder: Path, text: str) -> None:
    (folder / "levels.toml").write_text(text)


def test_a_task_without_levels_has_none_and_that_is_fine(folder: Path) -> None:
    task = load_task(folder)
    assert {len(solution.levels) for solution in task.solutions} == {0}
    assert not check_levels(folder, task, RUBRIC)


def test_levels_reach_their_solutions(folder: Path) -> None:
    write(folder, whole(folder).replace("[2,", "[4,", 1))
    task = load_task(folder)
    first = task.solutions[0]
    assert first.levels[CRITERIA[0]] == ConstructedLevel(level=4, reason="because")
    assert first.levels[CRITERIA[1]] == ConstructedLevel(level=2, reason="because")
    assert check_levels(folder, task, RUBRIC)


def test_levels_change_no_grade(folder: Path) -> None:
    before = load_task(folder).content_hash()
    write(folder, whole(folder))
    assert load_task(folder).content_hash() == before


#: What is written, and where and what is said about it.
MALFORMED = {
    "no TOML": ("rubric = ", "levels.toml", "not valid TOML"),
    "no rubric": ('["good_add.py"]\n', "levels.toml, rubric", "names no rubric"),
    "a rubric without version": ('rubric = "quality"\n', "levels.toml, rubric", "names no rubric"),
    "a criterion outside a table": ('rubric = "a v1"\nx = [1, "y"]\n', "levels.toml, x", "no table"),
    "a solution that is not there": ('rubric = "a v1"\n["bad.py"]\n', "levels.toml, bad.py", "no such file"),
    "no reason": ('rubric = "a v1"\n["good_add.py"]\nx = [1]\n', "levels.toml, good_add.py.x", "no level"),
    "an empty reason": (
        'rubric = "a v1"\n["good_add.py"]\nx = [1, " "]\n', "levels.toml, good_add.py.x", "no level",
    ),
    "a truth value": (
        'rubric = "a v1"\n["good_add.py"]\nx = [true, "y"]\n', "levels.toml, good_add.py.x", "no level",
    ),
    "two lines": (
        'rubric = "a v1"\n["good_add.py"]\nx = [1, "y\\nz"]\n', "levels.toml, good_add.py.x", "several lines",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_file_is_named_by_key(what: str, folder: Path) -> None:
    text, where, problem = MALFORMED[what]
    write(folder, text)
    with pytest.raises(TaskError) as refused:
        load_task(folder)
    fault = refused.value.fault
    assert fault.where == f"{folder}/{where}"
    assert problem in fault.message
    assert fault.remedy


UNFITTING = {
    "another version": ("performance_quality v1", "performance_quality v0", "are for performance_quality v0"),
    "a missing criterion": (f'{CRITERIA[0]} = [2, "because"]\n', "", f"no level for {CRITERIA[0]}"),
    "an unknown criterion": (f"{CRITERIA[0]} =", f'elegance = [1, "x"]\n{CRITERIA[0]} =', "'elegance' is no"),
    "a level that there is not": ("[2,", "[5,", "there is no level 5"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNFITTING)
def test_levels_that_do_not_fit_the_rubric_are_refused_by_the_check_only(what: str, folder: Path) -> None:
    old, new, problem = UNFITTING[what]
    write(folder, whole(folder).replace(old, new, 1))
    task = load_task(folder)
    with pytest.raises(TaskError, match=problem):
        check_levels(folder, task, RUBRIC)


def test_a_solution_that_is_left_out_is_missed(folder: Path) -> None:
    write(folder, whole(folder))
    shutil.copy(folder / "solutions" / "good_add.py", folder / "solutions" / "good_new.py")
    with pytest.raises(TaskError, match=r"good_new.py.*no level for"):
        check_levels(folder, load_task(folder), RUBRIC)


SHIPPED = load_tasks(tasks_root())


@pytest.mark.parametrize("name", SHIPPED)
def test_levels_that_ship_fit_the_latest_rubric_of_their_task(name: str) -> None:
    check_levels(tasks_root() / name, SHIPPED[name], load_rubric(SHIPPED[name].rubric))
