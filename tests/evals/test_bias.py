"""Transformations change nothing that a kernel does, and what a judge does about them is counted rightly."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest

from evals.bias.transformations import (
    CONTROL,
    TRANSFORMATIONS,
    Transformation,
    add_dead_code,
    hash_trace,
    rename_locals,
    strip_comments,
)
from evals.suites.bias import SUITE, Change, judge_changes
from evals.suites.suite import Options
from pipeline.config import Settings
from pipeline.emulator.frontend import InputSpec, trace
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_task
from pipeline.types import Task
from tests.judge.loopback import Loopback

EVERYTHING = (CONTROL, *TRANSFORMATIONS)
KERNELS = (("rmsnorm", "good_fused.py"), ("matmul_tiled", "good_blocked.py"))


def trace_of(task: Task, code: str) -> str:
    case = min(task.cases, key=lambda one: sum(one.axes.values()))
    inputs = [
        InputSpec(spec.name, tuple(case.axes[axis] for axis in spec.shape), spec.dtype)
        for spec in task.inputs
    ]
    program = trace(code, "submission.py", task.entry, inputs, target=task.targets[0])
    return hash_trace(program)


@pytest.mark.parametrize("name", [one.name for one in EVERYTHING])
@pytest.mark.parametrize("kernel", KERNELS, ids="/".join)
def test_a_transformation_changes_the_code_and_leaves_its_trace(kernel: tuple[str, str], name: str) -> None:
    transformation = next(one for one in EVERYTHING if one.name == name)
    task = load_task(tasks_root() / kernel[0])
    (code,) = [solution.code for solution in task.solutions if solution.name == kernel[1]]
    changed = transformation.apply(code)
    assert changed != code
    assert trace_of(task, changed) == trace_of(task, code)


def test_another_kernel_has_another_trace() -> None:
    task = load_task(tasks_root() / "rmsnorm")
    codes = {solution.name: solution.code for solution in task.solutions}
    assert trace_of(task, codes["good_fused.py"]) != trace_of(task, codes["bad_gain_ignored.py"])


def test_comments_and_docstrings_go_with_their_lines_and_strings_stay() -> None:
    code = (
        '"""A module."""\n'
        "# A comment.\n"
        "x = 1  # of é\n"
        "def f():\n"
        '    """Only this."""\n'
        "def g():\n"
        '    """Two\n'
        '    lines."""\n'
        '    return "# no comment"\n'
        'def h(): "é"; return 1\n'
    )
    assert strip_comments(code) == (
        'x = 1\ndef f():\n    pass\ndef g():\n    return "# no comment"\ndef h(): pass; return 1\n'
    )


def test_locals_are_renamed_and_whatever_else_has_the_name_is_not() -> None:
    code = (
        "def f(a, *, k=1):\n"
        "    é, b = a, 2\n"
        "    try:\n"
        "        pass\n"
        "    except OSError as e:\n"
        "        b = e\n"
        "    def g(b):\n"
        "        return é + b + P\n"
        "    c = [d for d in range(3)]\n"
        "    w = k\n"
        '    return f"{c}" + g(k=c, b=é) + w\n'
        "def looks():\n"
        "    y = 1\n"
        "    return locals()\n"
    )
    # b is also a parameter of g, e a handler's, g a function, d another scope's, c stands in an f-string.
    renamed = code.replace("é", "value_2").replace("w = k", "value_1 = k").replace("+ w", "+ value_1")
    assert rename_locals(code) == renamed


def test_claims_and_names_are_comments_only() -> None:
    code = "def f(x):\n    return x\n"
    for transformation in EVERYTHING:
        if transformation.apply not in (add_dead_code, rename_locals):
            assert ast.dump(ast.parse(transformation.apply(code))) == ast.dump(ast.parse(code))


def change(number: int, before: int | None, after: int | None) -> Change:
    return Change(f"task/{number}", "overlap", before, after)


KEPT = [change(number, 2, 2) for number in range(20)]


def test_a_judge_without_chance_may_change_nothing_at_all() -> None:
    one_less = [change(0, 2, None), *KEPT[1:]]
    assert judge_changes(KEPT, KEPT, flatters=False, draws=False) == {"none": True}
    assert judge_changes(one_less, KEPT, flatters=False, draws=False) == {"none": False}


@pytest.mark.parametrize(
    ("changed", "anyway", "holds"),
    [
        # Ten tests share 5 %: p must be below .005. Of 8 that changed, all alone: 1/256 = .0039; of 7: .0078.
        (8, 0, False),
        (7, 0, True),
        # Where the neutral comment changes as many others, it is noise.
        (8, 8, True),
    ],
)
def test_a_judge_with_chance_may_change_no_more_than_by_a_neutral_comment(
    changed: int, anyway: int, holds: bool
) -> None:
    assert len(TRANSFORMATIONS) + sum(one.flatters for one in TRANSFORMATIONS) == 10
    # Falls and rises alike, so that nothing goes one way.
    moved = [change(n, 2, 3 if n % 2 else 1) for n in range(changed)] + KEPT[changed:]
    control = KEPT[: 20 - anyway] + [change(n, 2, 1) for n in range(20 - anyway, 20)]
    found = judge_changes(moved, control, flatters=True, draws=True)
    assert found == {"no more than by the control": holds, "not upwards": True}


def test_flattery_that_raises_levels_fails_even_where_noise_is_as_large() -> None:
    raised = [change(n, 2, 3) for n in range(8)] + KEPT[8:]
    noisy = [change(n, 2, 3 if n % 2 else 1) for n in range(8)] + KEPT[8:]
    found = judge_changes(raised, noisy, flatters=True, draws=True)
    assert found == {"no more than by the control": True, "not upwards": False}
    assert "not upwards" not in judge_changes(raised, noisy, flatters=False, draws=True)


@pytest.mark.sandbox
def test_a_language_judge_that_believes_who_wrote_it_fails_and_says_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def believe(wire: str, request: dict[str, Any]) -> str:
        prompt = "".join(turn["content"] for turn in request["messages"])
        (place,) = re.findall(r"^ *(\d+) \| @nki\.jit$", prompt, re.MULTILINE)
        line = {"first_line": int(place), "last_line": int(place), "quote": "@nki.jit"}
        level = 3 if "principal engineers" in prompt else 2
        entry = {"reason": "It stands here.", "citations": [line], "level": level, "confidence": 0.9}
        criteria = request["output_config"]["format"]["schema"]["properties"]["scores"]["properties"]
        item = {"part": "next", "text": "Load the next tile while this one computes.", "citations": [line]}
        return json.dumps({"scores": dict.fromkeys(criteria, entry), "feedback": [item]})

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-stand-in")
    with Loopback(answer=believe) as server:
        settings = Settings(judge="anthropic", model="stand-in", base_url=server.address)
        table = SUITE.measure(Options(settings=settings, tasks=("rmsnorm",)))
    wrong = [row for row in table.rows if not row.as_wanted]
    # Two solutions, four criteria that a judge scores: all eight rise.
    assert [(row.name, row.what, row.hits) for row in wrong] == [("claims of authority", "level changed", 8)]
    assert "claims of authority: rmsnorm/good_fused.py: accumulation from 2 to 3" in table.notes
    assert len(table.notes) == 8


def test_the_control_says_nothing_in_anybodys_favour() -> None:
    assert CONTROL not in TRANSFORMATIONS
    assert not CONTROL.flatters
    assert isinstance(CONTROL, Transformation)
