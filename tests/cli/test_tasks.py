"""``tasks``: what there is, and whether grading tells good from bad."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import TINY_TASKS, run


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A tasks folder whose one task has two quick solutions."""
    folder = tmp_path / "tasks" / "tiny_add"
    shutil.copytree(TINY_TASKS / "tiny_add", folder)
    for name in ("bad_endless.py", "bad_multiplies.py", "bad_wide_partition.py", "good_add_swapped.py"):
        (folder / "solutions" / name).unlink()
    description = folder / "task.toml"
    kept = [
        line
        for line in description.read_text().splitlines()
        if not line.startswith(('"bad_endless', '"bad_multiplies', '"bad_wide'))
    ]
    description.write_text("\n".join(kept) + "\n")
    return tmp_path / "tasks"


def test_the_shipped_tasks_are_listed() -> None:
    ended = run("tasks", "list")
    assert ended.code == 0
    for name in ("matmul_tiled", "softmax_rows", "rmsnorm", "bias_gelu_residual"):
        assert f"\n{name} " in ended.out


def test_json_gives_each_solution_with_its_expected_verdict(tasks: Path) -> None:
    (task,) = run("tasks", "list", "--tasks", tasks, "--json").data
    assert task["id"] == "tiny_add"
    assert task["solutions"] == {"bad_syntax.py": "compile_error", "good_add.py": "correct"}


def test_a_broken_task_is_named_and_the_others_are_still_listed(tasks: Path) -> None:
    shutil.copytree(tasks / "tiny_add", tasks / "broken")
    (tasks / "broken" / "task.toml").write_text("schema_version = 1\n")
    ended = run("tasks", "list", "--tasks", tasks)
    assert ended.code == 2
    assert "tiny_add" in ended.out
    assert "broken/task.toml" in ended.err


@pytest.mark.sandbox
def test_a_task_that_tells_good_from_bad_passes(tasks: Path) -> None:
    ended = run("tasks", "check", "tiny_add", "--tasks", tasks)
    assert ended.code == 0, ended.out + ended.err
    assert "2 of 2 verdicts as expected" in ended.out
    assert "1 of 1 task passes the audit" in ended.out


@pytest.mark.sandbox
def test_a_task_that_does_not_fails_with_code_3_and_names_the_solution(tasks: Path) -> None:
    description = tasks / "tiny_add" / "task.toml"
    description.write_text(description.read_text().replace('= "compile_error"', '= "incorrect"'))
    ended = run("tasks", "check", "--tasks", tasks, "--json")
    assert ended.code == 3
    differing = [row for row in ended.data["solutions"] if row["expected"] != row["verdict"]]
    (row,) = differing
    assert (row["task"], row["solution"]) == ("tiny_add", "bad_syntax.py")
    assert (row["expected"], row["verdict"]) == ("incorrect", "compile_error")


@pytest.mark.sandbox
def test_a_solution_that_cannot_be_graded_is_listed_with_the_reason(tasks: Path) -> None:
    reference = tasks / "tiny_add" / "reference.py"
    reference.write_text(
        "def make_inputs(rng, axes, case):\n    raise ValueError('no such draw')\n\n\n"
        "def reference(inputs, axes):\n    return inputs\n"
    )
    ended = run("tasks", "check", "--tasks", tasks)
    assert ended.code == 3
    (line,) = [line for line in ended.out.splitlines() if line.startswith("tiny_add/good_add.py: ")]
    assert "no such draw" in line


@pytest.mark.sandbox
def test_what_the_audit_finds_fails_with_code_3_though_all_verdicts_are_as_expected(tasks: Path) -> None:
    reference = tasks / "tiny_add" / "reference.py"
    reference.write_text(reference.read_text().replace('inputs["x"] + inputs["y"]', '2 * inputs["x"]'))
    (tasks / "tiny_add" / "solutions" / "good_add.py").write_text(DOUBLING)
    ended = run("tasks", "check", "--tasks", tasks)
    assert ended.code == 3
    assert "2 of 2 verdicts as expected" in ended.out
    assert (
        "audit: tiny_add, case 'battery: smallest shape': no case's answer changes with input 'y'"
        in ended.out
    )
    assert "0 of 1 task passes the audit" in ended.out


#: A kernel that is right for a task which ignores one of its inputs.
DOUBLING = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize("command", ["list", "check"])
def test_a_task_folder_in_place_of_the_folder_of_tasks_is_refused(command: str, tasks: Path) -> None:
    ended = run("tasks", command, "--tasks", tasks / "tiny_add")
    assert ended.code == 2
    assert "tiny_add: it holds no folder with a task.toml (name the folder above it)" in ended.err


def test_an_unknown_task_is_named_with_those_there_are(tasks: Path) -> None:
    ended = run("tasks", "check", "nothing", "--tasks", tasks)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: no task is called 'nothing' (choose from: tiny_add)\n"
