"""The cases that the grader adds: which patterns, at which shapes, and what a task may say about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.library.battery import battery_axes, battery_cases, check_battery, patterned_inputs
from pipeline.library.tasks import load_task
from pipeline.types import AxisConstraint, Battery, CaseKind, Pattern, Task, TensorSpec

TINY = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"
USUAL = [pattern for pattern in Pattern if pattern is not Pattern.MASKED]


def task_with(
    axes: dict[str, AxisConstraint] | None = None,
    battery: Battery | None = None,
    dtypes: tuple[str, ...] = ("float32",),
) -> Task:
    """The tiny task with other axes, inputs over all of them, and another battery."""
    axes = axes or {"P": AxisConstraint(maximum=128), "F": AxisConstraint(maximum=512)}
    specs = tuple(
        TensorSpec(name=f"x{index}", shape=tuple(axes), dtype=dtype) for index, dtype in enumerate(dtypes)
    )
    changed = {"axes": axes, "inputs": specs, "outputs": specs[:1], "battery": battery or Battery()}
    return load_task(TINY).model_copy(update=changed)


def test_every_pattern_is_tried_once_but_the_drawn_one_twice_and_masks_only_on_request() -> None:
    cases = battery_cases(task_with())
    assert [case.pattern for case in cases[: len(USUAL)]] == USUAL
    assert [case.seeds for case in cases[: len(USUAL)]] == [2] + [1] * (len(USUAL) - 1)
    assert {(case.pattern, case.seeds) for case in cases[len(USUAL) :]} == {(Pattern.DRAWN, 1)}
    assert {case.kind for case in cases} == {CaseKind.BATTERY}
    assert cases[4].name == "battery: near denormal"
    asked = battery_cases(task_with(battery=Battery(include=(Pattern.MASKED,))))
    assert [case.pattern for case in asked[: len(Pattern)]] == list(Pattern)


def test_what_a_task_excludes_is_not_tried() -> None:
    battery = Battery(exclude={Pattern.SMALL: "never", Pattern.TIES: "never"}, minimum=False)
    tried = {case.pattern for case in battery_cases(task_with(battery=battery))}
    assert tried == {*USUAL} - {Pattern.SMALL, Pattern.TIES}


def test_each_axis_is_tried_at_its_maximum_with_the_others_small_but_not_1() -> None:
    axes = {"P": AxisConstraint(minimum=3, maximum=130, multiple_of=4), "F": AxisConstraint(maximum=512)}
    longest = {case.name: case.axes for case in battery_cases(task_with(axes)) if "longest" in case.name}
    assert longest == {"battery: longest P": {"P": 128, "F": 2}, "battery: longest F": {"P": 4, "F": 512}}


def test_an_axis_without_a_bound_to_speak_of_is_not_tried_at_its_maximum() -> None:
    axes = {"P": AxisConstraint(maximum=1 << 30), "F": AxisConstraint(maximum=8)}
    names = [case.name for case in battery_cases(task_with(axes))]
    assert "battery: longest F" in names
    assert "battery: longest P" not in names


def test_the_smallest_shape_is_tried() -> None:
    axes = {"P": AxisConstraint(minimum=3, maximum=128, multiple_of=4), "F": AxisConstraint(maximum=512)}
    last = next(case for case in battery_cases(task_with(axes)) if "smallest" in case.name)
    assert (last.name, last.pattern, last.axes) == (
        "battery: smallest shape",
        Pattern.DRAWN,
        {"P": 4, "F": 1},
    )


@pytest.mark.parametrize(
    ("constraint", "size"),
    [
        (AxisConstraint(maximum=4096), 145),  # a tile of 128 and a tail of 17
        (AxisConstraint(maximum=4096, multiple_of=2), 146),
        (AxisConstraint(maximum=4096, multiple_of=32), 160),
        (AxisConstraint(maximum=4096, multiple_of=64), 192),
        (AxisConstraint(maximum=4096, multiple_of=128), 256),  # there is no tail
        (AxisConstraint(maximum=4096, multiple_of=512), 512),
        (AxisConstraint(minimum=64, maximum=8192), 145),
        (AxisConstraint(minimum=256, maximum=8192), 257),  # 256 has no tail
        (AxisConstraint(maximum=130), 129),  # 145 is too much
        (AxisConstraint(maximum=128), 128),
        (AxisConstraint(maximum=64, multiple_of=16), 64),
        (AxisConstraint(minimum=7, maximum=7), 7),
        (AxisConstraint(maximum=10**9, multiple_of=256), 256),
    ],
)
def test_an_axis_gets_the_smallest_size_with_a_full_tile_and_a_tail(
    constraint: AxisConstraint, size: int
) -> None:
    assert battery_axes(task_with({"P": constraint})) == {"P": size}


def test_leading_axes_become_small_where_all_would_be_too_much() -> None:
    axes = {name: AxisConstraint(maximum=4096) for name in ("B", "H", "S", "D")}
    # Two tensors of 145**4 elements; with two of each of the first two axes 2 * 2 * 2 * 145**2 = 168,200.
    assert battery_axes(task_with(axes)) == {"B": 2, "H": 2, "S": 145, "D": 145}


def test_axes_that_the_task_gives_are_used() -> None:
    assert battery_axes(task_with(battery=Battery(axes={"P": 3, "F": 7}))) == {"P": 3, "F": 7}


def test_patterns_apply_to_float_inputs_or_to_those_named() -> None:
    dtypes = ("float32", "int32", "bfloat16", "float8_e8m0fnu", "uint8")
    assert patterned_inputs(task_with(dtypes=dtypes)) == ("x0", "x2")
    assert patterned_inputs(task_with(dtypes=dtypes, battery=Battery(inputs=("x2",)))) == ("x2",)


def test_a_task_of_integers_is_only_drawn() -> None:
    cases = battery_cases(task_with(dtypes=("int32",)))
    assert {case.pattern for case in cases} == {Pattern.DRAWN}


PROBLEMS = {
    "an input that does not exist": (Battery(inputs=("z",)), "battery.inputs", "no input 'z'"),
    "an input of integers": (Battery(inputs=("x1",)), "battery.inputs", "'x1' is int32"),
    "a pattern that is tried anyway": (Battery(include=(Pattern.SMALL,)), "battery.include", "anyway"),
    "no reason": (Battery(exclude={Pattern.SMALL: " "}), "battery.exclude.small", "no reason"),
    "a mask that nobody asked for": (
        Battery(exclude={Pattern.MASKED: "none"}), "battery.exclude.masked", "only tried where",
    ),
    "an axis too few": (Battery(axes={"P": 4}), "battery.axes", "gives P"),
    "an axis too large": (Battery(axes={"P": 129, "F": 4}), "battery.axes.P", "129 breaks"),
}  # fmt: skip


@pytest.mark.parametrize("what", PROBLEMS)
def test_a_mistake_is_named_with_its_key_and_a_remedy(what: str) -> None:
    battery, key, problem = PROBLEMS[what]
    ((found, message, remedy),) = check_battery(task_with(battery=battery, dtypes=("float32", "int32")))
    assert (found, problem in message) == (key, True), message
    assert remedy


def test_a_good_battery_has_no_problem() -> None:
    battery = Battery(
        inputs=("x0",), include=(Pattern.MASKED,), exclude={Pattern.SMALL: "no"}, axes={"P": 1, "F": 1}
    )
    assert list(check_battery(task_with(battery=battery))) == []


def test_a_loaded_task_has_its_own_cases_first_and_its_content_tells_batteries_apart() -> None:
    task = load_task(TINY)
    own = [case.kind is not CaseKind.BATTERY for case in task.cases]
    assert own == sorted(own, reverse=True)
    assert tuple(case for case in task.cases if case.kind is CaseKind.BATTERY) == battery_cases(task)
    without = task.model_copy(update={"cases": task.cases[:-1]})
    assert without.content_hash() != task.content_hash()
