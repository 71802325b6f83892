"""The battery: cases that the grader adds to every task, of values that break kernels right on random ones.

They run at a small shape with a full tile and a tail, because what they look for does not depend on size; the
cases of the task itself vary the shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.library.formulas import FormulaError, evaluate_shape
from pipeline.types import AxisConstraint, Case, CaseKind, Pattern, Task

__all__ = ["NAME_PREFIX", "battery_axes", "battery_cases", "check_battery", "patterned_inputs"]

#: What the names of these cases, and of no others, begin with.
NAME_PREFIX: Final = "battery: "

#: Partitions of a tile.
_TILE: Final = 128
#: A full tile and a tail of 17: odd, and no multiple of a partition quadrant.
_TILE_AND_TAIL: Final = 145
#: Elements of all tensors together, above which the leading axes become small.
_ELEMENTS: Final = 1 << 18
#: Elements of all tensors together above which an axis is not tried at its maximum.
_LONGEST_ELEMENTS: Final = 1 << 22
#: Draws of the pattern that changes nothing.
_DRAWN_SEEDS: Final = 2
#: Patterns that a task has to ask for.
_ON_REQUEST: Final = frozenset({Pattern.MASKED})


def battery_cases(task: Task) -> tuple[Case, ...]:
    """Return the cases that the grader adds to `task`.

    One per pattern, one at the smallest shape, and one per axis at its maximum: what fits at the sizes that
    are tried need not fit, or count, beyond them.
    """
    patterns = _patterns(task) if patterned_inputs(task) else [Pattern.DRAWN]
    axes = battery_axes(task)
    cases = [
        Case(
            name=NAME_PREFIX + pattern.value.replace("_", " "),
            kind=CaseKind.BATTERY,
            axes=axes,
            pattern=pattern,
            seeds=_DRAWN_SEEDS if pattern is Pattern.DRAWN else 1,
        )
        for pattern in patterns
    ]
    if task.battery.minimum:
        smallest = {axis: _sizes(constraint)[0] for axis, constraint in task.axes.items()}
        cases.append(Case(name=NAME_PREFIX + "smallest shape", kind=CaseKind.BATTERY, axes=smallest))
    cases += [
        Case(name=f"{NAME_PREFIX}longest {axis}", kind=CaseKind.BATTERY, axes=axes)
        for axis in task.axes
        if _elements(task, axes := _longest(task, axis)) <= _LONGEST_ELEMENTS
    ]
    return tuple(cases)


def _longest(task: Task, longest: str) -> dict[str, int]:
    """Return one axis at its maximum and the others as small as they can be without being 1."""
    axes: dict[str, int] = {}
    for axis, constraint in task.axes.items():
        sizes = _sizes(constraint)
        axes[axis] = (
            sizes[-1] if axis == longest else sizes[1] if sizes[0] == 1 and len(sizes) > 1 else sizes[0]
        )
    return axes


def battery_axes(task: Task) -> dict[str, int]:
    """Return the axes that patterns run at: those of the task, else 145 or the next size it allows.

    Where all tensors together would exceed 2**18 elements, axes become as small as is allowed, but not 1, in
    the order in which the task names them: batches and heads come before what is tiled.
    """
    if task.battery.axes:
        return dict(task.battery.axes)
    axes = {axis: _tile_and_tail(constraint) for axis, constraint in task.axes.items()}
    for axis, constraint in task.axes.items():
        if _elements(task, axes) > _ELEMENTS:
            sizes = _sizes(constraint)
            axes[axis] = sizes[1] if sizes[0] == 1 and len(sizes) > 1 else sizes[0]
    return axes


def patterned_inputs(task: Task) -> tuple[str, ...]:
    """Return the names of the inputs that patterns apply to."""
    return task.battery.inputs or tuple(spec.name for spec in task.inputs if _takes_patterns(spec.dtype))


def check_battery(task: Task) -> Iterator[tuple[str, str, str]]:
    """Yield key, problem and remedy of whatever is wrong with ``[battery]``."""
    battery = task.battery
    dtypes = {spec.name: spec.dtype for spec in task.inputs}
    for name in battery.inputs:
        if name not in dtypes:
            yield "battery.inputs", f"there is no input '{name}'", f"name some of: {', '.join(dtypes)}"
        elif not _takes_patterns(dtypes[name]):
            yield (
                "battery.inputs",
                f"'{name}' is {dtypes[name]}",
                "name inputs of a signed float dtype: patterns scale and shift values",
            )
    for pattern in battery.include:
        if pattern not in _ON_REQUEST:
            yield "battery.include", f"'{pattern}' is tried anyway", f"include only {', '.join(_ON_REQUEST)}"
    for pattern, reason in battery.exclude.items():
        key = f"battery.exclude.{pattern}"
        if not reason.strip():
            yield key, "gives no reason", "say what in the statement rules such values out"
        if pattern in _ON_REQUEST:
            yield key, f"'{pattern}' is only tried where it is included", "remove it"
    if battery.axes:
        yield from _check_axes(task)


def _check_axes(task: Task) -> Iterator[tuple[str, str, str]]:
    axes = task.battery.axes
    if axes.keys() != task.axes.keys():
        given, wanted = ", ".join(axes), ", ".join(task.axes)
        yield "battery.axes", f"gives {given}", f"give exactly {wanted}, or none"
        return
    for axis, size in axes.items():
        if size not in _sizes(task.axes[axis]):
            yield f"battery.axes.{axis}", f"{size} breaks the axis constraint", "give a size that is allowed"


def _patterns(task: Task) -> list[Pattern]:
    return [
        pattern
        for pattern in Pattern
        if pattern not in task.battery.exclude
        and (pattern not in _ON_REQUEST or pattern in task.battery.include)
    ]


def _takes_patterns(dtype: str) -> bool:
    # The dtype of MX scales has neither sign nor mantissa.
    return DTYPES[dtype].is_float and dtype != "float8_e8m0fnu"


def _sizes(constraint: AxisConstraint) -> range:
    step = constraint.multiple_of
    return range(-(-constraint.minimum // step) * step, constraint.maximum + 1, step)


def _tile_and_tail(constraint: AxisConstraint) -> int:
    """Return the smallest size from 145 with a tail; where there is none, the best that is allowed."""
    sizes = _sizes(constraint)
    larger = [size for size in sizes[_position(sizes, _TILE_AND_TAIL) :][:2] if size % _TILE]
    if larger:
        return larger[0]
    position = _position(sizes, _TILE + 1)
    return sizes[position] if position < len(sizes) else sizes[-1]


def _position(sizes: range, least: int) -> int:
    """Return the index of the first size that is at least `least`."""
    return max(0, -(-(least - sizes.start) // sizes.step))


def _elements(task: Task, axes: dict[str, int]) -> int:
    try:
        return sum(prod(evaluate_shape(spec.shape, axes)) for spec in (*task.inputs, *task.outputs))
    except FormulaError:
        return 0  # The task's own cases say what is wrong with the formula.
