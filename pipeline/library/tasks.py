"""Load a task folder and hold it to everything that grading will rely on.

A folder ``<id>/`` holds:

``task.toml``
    What `pipeline.library.task_schema.TaskFile` says. Shapes and work are formulas over the axes
    (`pipeline.library.formulas`). ``[solutions]`` gives the expected verdict of each ``bad_*.py``.
``reference.py``
    ``make_inputs(rng, axes, case)`` returns a dict of one array per input; values are rounded to the declared
    dtypes before anybody uses them. ``reference(inputs, axes)`` gets those rounded values, as float64 where
    they are floats, and returns a dict of one array per output. Neither is executed here: imported tasks are
    strangers' code, which runs in a confined worker only.
``starter.py``
    What an author starts from: the entry function with the parameters of ``inputs``, in their order.
``source/``
    The CUDA or Triton original, for migration tasks.
``solutions/``
    ``good_*.py``, expected to be correct, and ``bad_*.py``.
``levels.toml``
    What the solutions were made to deserve, where that is written down (`pipeline.library.levels`).

The cases of a loaded task are those of its task.toml, then those of the battery (`pipeline.library.battery`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import chain
from math import prod
from pathlib import Path
from typing import Final

from pipeline.emulator.dtypes import DTYPES, dtype_named
from pipeline.emulator.targets import target_named
from pipeline.emulator.toolchain import VERSIONS
from pipeline.library.battery import NAME_PREFIX, battery_cases, check_battery
from pipeline.library.errors import TaskError
from pipeline.library.formulas import FormulaError, evaluate_formula, evaluate_shape, names_in
from pipeline.library.levels import LEVELS_FILE, read_levels
from pipeline.library.syntax import parse_module
from pipeline.library.task_schema import TaskFile, read_task_file
from pipeline.types import CaseKind, Family, Solution, Task, TensorSpec, Verdict

__all__ = ["DIALECTS", "TaskError", "load_task", "load_tasks"]

#: Python namespaces under which kernels know NKI, today's first.
DIALECTS: Final = ("nki", "neuronxcc.nki")

_RUBRICS: Final = {
    Family.MIGRATION: "migration_fidelity",
    Family.PERFORMANCE: "performance_quality",
    Family.NUMERICS: "numerical_correctness",
}
_FILE_BYTES: Final = 1 << 20


def load_tasks(root: Path, *, on_fault: Callable[[TaskError], None] | None = None) -> dict[str, Task]:
    """Return every task under `root` by id, in the order of their ids.

    Args:
        root: A folder of task folders.
        on_fault: Told of each broken task, which is then left out; without it the first one is raised.

    Raises:
        TaskError: If `root` is no folder or holds no task, or a task is broken and `on_fault` was not given.
    """
    if not root.is_dir():
        raise TaskError.at(str(root), "no such folder", "name the folder that holds the task folders")
    folders = sorted(path.parent for path in root.glob("*/task.toml"))
    if not folders:
        remedy = "name the folder above it" if (root / "task.toml").is_file() else "name another folder"
        raise TaskError.at(str(root), "it holds no folder with a task.toml", remedy)
    tasks: dict[str, Task] = {}
    for folder in folders:
        try:
            task = load_task(folder)
        except TaskError as error:
            if on_fault is None:
                raise
            on_fault(error)
        else:
            tasks[task.id] = task
    return tasks


def load_task(folder: Path) -> Task:
    """Return the task in `folder`.

    Raises:
        TaskError: If a file is missing or unreadable, or anything in it would make grading wrong or
            impossible; the message names file and key, the fault also the remedy.
    """
    path = folder / "task.toml"
    content = read_task_file(_read(path, "a task is a folder with a task.toml"), path)
    task = Task(
        **content.model_dump(exclude={"schema_version", "rubric", "solutions"}),
        rubric=content.rubric or _RUBRICS[content.family],
        reference=_read(folder / "reference.py", "write it: the NumPy reference decides what is correct"),
        starter=_read(folder / "starter.py", "write it: authors start from it"),
        source=_read_source(folder / "source"),
        solutions=_read_solutions(folder / "solutions", content, path),
    )
    for key, problem, remedy in chain(
        _check_names(task, folder),
        _check_tensors(task),
        _check_cases(task),
        _check_formulas(task),
        _check_numerics(task),
        check_battery(task),
    ):
        raise TaskError.at(f"{path}, {key}", problem, remedy)
    task = task.model_copy(update={"cases": (*task.cases, *battery_cases(task))})
    for key, problem, remedy in _check_battery_shapes(task):
        raise TaskError.at(f"{path}, {key}", problem, remedy)
    for name, problem, remedy in _check_code(task):
        raise TaskError.at(str(folder / name), problem, remedy)
    return task


_Problems = Iterator[tuple[str, str, str]]


def _read(path: Path, remedy: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
    except FileNotFoundError:
        raise TaskError.at(str(path), "missing", remedy, code="missing_file") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TaskError.at(str(path), f"cannot be read: {reason}", "check the file's permissions") from None
    if len(data) > _FILE_BYTES:
        raise TaskError.at(
            str(path), f"larger than {_FILE_BYTES >> 10} KiB", "task files are small text files"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise TaskError.at(str(path), "not UTF-8 text", "save it as UTF-8") from None


def _read_source(folder: Path) -> dict[str, str]:
    return {path.name: _read(path, "") for path in sorted(folder.glob("*")) if path.is_file()}


def _read_solutions(folder: Path, content: TaskFile, path: Path) -> tuple[Solution, ...]:
    names = sorted(file.name for file in folder.glob("*.py"))
    for name in names:
        if not name.startswith(("good_", "bad_")):
            remedy = "call it good_*.py or bad_*.py"
            raise TaskError.at(str(folder / name), "neither a good nor a bad solution", remedy)
        if name.startswith("bad_") and name not in content.solutions:
            remedy = f'add `"{name}" = "<verdict>"` under [solutions]'
            raise TaskError.at(f"{path}, solutions", f"says no verdict for solutions/{name}", remedy)
    for name, verdict in content.solutions.items():
        key = f"{path}, solutions.{name}"
        if name not in names:
            raise TaskError.at(key, "no such file in solutions/", "remove the entry or add the file")
        if name.startswith("good_") or verdict is Verdict.CORRECT:
            remedy = "call a correct solution good_*.py and leave it out of [solutions]"
            raise TaskError.at(key, "only bad solutions are listed, with what is bad about them", remedy)
    levels_path = path.with_name(LEVELS_FILE)
    levels = read_levels(_read(levels_path, ""), levels_path, names) if levels_path.exists() else {}
    return tuple(
        Solution(
            name=name,
            code=_read(folder / name, ""),
            expected=content.solutions.get(name, Verdict.CORRECT),
            levels=levels.get(name, {}),
        )
        for name in names
    )


def _check_names(task: Task, folder: Path) -> _Problems:
    if task.id != folder.resolve().name:
        yield "id", f"'{task.id}' lies in the folder '{folder.resolve().name}'", "give both the same name"
    if not task.entry.isidentifier():
        yield "entry", f"'{task.entry}' is no Python name", "name the function that authors define"
    for dialect in task.dialects:
        if dialect not in DIALECTS:
            yield "dialects", f"unknown dialect '{dialect}'", f"known: {', '.join(DIALECTS)}"
    for name in task.targets:
        try:
            target_named(name)
        except KeyError as error:
            yield "targets", str(error.args[0]), "name chips of the list"
    if task.lnc == 2 and "trn1" in task.targets:
        yield "lnc", "trn1 has no logical NeuronCores of two", "leave trn1 out of targets, or use lnc = 1"
    for version in task.toolchain:
        if version not in VERSIONS:
            yield "toolchain", f"unknown NKI version '{version}'", f"known: {', '.join(VERSIONS)}"
    if task.family is Family.MIGRATION and not task.source:
        yield "family", "a migration task needs its original", "put the CUDA or Triton code into source/"


def _check_tensors(task: Task) -> _Problems:
    names = [spec.name for spec in (*task.inputs, *task.outputs)]
    used: set[str] = set()
    for section, specs in (("inputs", task.inputs), ("outputs", task.outputs)):
        for position, spec in enumerate(specs, 1):
            key = f"{section}[{position}]"
            if not spec.name.isidentifier():
                yield f"{key}.name", f"'{spec.name}' is no Python name", "rename it"
            if names.count(spec.name) > 1:
                yield f"{key}.name", f"'{spec.name}' is used twice", "names of inputs and outputs are unique"
            if spec.dtype not in DTYPES:
                yield f"{key}.dtype", f"unknown dtype '{spec.dtype}'", f"known: {', '.join(DTYPES)}"
            for dim in spec.shape:
                try:
                    used |= names_in(str(dim)) if section == "inputs" else set()
                except FormulaError as error:
                    yield f"{key}.shape", str(error), "use axis names, integers, + - * // and **"
    for axis in task.axes.keys() - used:
        yield f"axes.{axis}", "no input's shape uses it", "use it or remove it"
    for axis, constraint in task.axes.items():
        if not axis.isidentifier():
            yield f"axes.{axis}", "no Python name", "rename it"
        if constraint.minimum > constraint.maximum:
            yield (
                f"axes.{axis}",
                f"minimum {constraint.minimum} exceeds maximum {constraint.maximum}",
                "swap them",
            )


def _check_cases(task: Task) -> _Problems:
    names = [case.name for case in task.cases]
    for position, case in enumerate(task.cases, 1):
        key = f"cases[{position}]"
        if names.count(case.name) > 1:
            yield f"{key}.name", f"'{case.name}' is used twice", "give each case its own name"
        if case.kind is CaseKind.BATTERY or case.name.startswith(NAME_PREFIX):
            yield f"{key}.kind", "cases of the battery are the grader's own", "say in [battery] what it tries"
        if case.axes.keys() != task.axes.keys():
            given, wanted = ", ".join(case.axes), ", ".join(task.axes)
            yield f"{key}.axes", f"gives {given or 'no axis'}", f"give exactly {wanted}"
            continue
        for axis, size in case.axes.items():
            constraint = task.axes[axis]
            if not constraint.minimum <= size <= constraint.maximum or size % constraint.multiple_of:
                allowed = f"{constraint.minimum} to {constraint.maximum}"
                if constraint.multiple_of > 1:
                    allowed += f", multiples of {constraint.multiple_of}"
                yield f"{key}.axes.{axis}", f"{size} breaks the axis constraint", f"allowed: {allowed}"
    for kind in (CaseKind.CHECK, CaseKind.SCORED, CaseKind.HIDDEN):
        if all(case.kind is not kind for case in task.cases):
            yield "cases", f"none of kind '{kind}'", "add one: a task needs check, scored and hidden cases"


def _check_formulas(task: Task) -> _Problems:
    for position, case in enumerate(task.cases, 1):
        key = f"cases[{position}].axes"
        total = 0
        for spec in (*task.inputs, *task.outputs):
            try:
                total += _bytes_of(spec, case.axes)
            except FormulaError as error:
                yield key, f"shape of '{spec.name}': {error}", "correct the shape or the case"
        if total > task.limits.memory_bytes:
            remedy = "choose a smaller case or raise limits.memory_bytes"
            yield (
                key,
                f"its tensors take {total} bytes, limits.memory_bytes is {task.limits.memory_bytes}",
                remedy,
            )
        for name, formula in (("flops", task.work.flops), ("bytes", task.work.bytes)):
            try:
                value = evaluate_formula(formula, case.axes)
            except FormulaError as error:
                yield f"work.{name}", str(error), "use axis names, integers, + - * // and **"
                continue
            if value < 1:
                yield (
                    f"work.{name}",
                    f"is {value} for case '{case.name}'",
                    "count what the task cannot do without",
                )


def _check_battery_shapes(task: Task) -> _Problems:
    for case in task.cases:
        if case.kind is not CaseKind.BATTERY:
            continue
        shape = ", ".join(f"{axis} = {size}" for axis, size in case.axes.items())
        try:
            total = sum(_bytes_of(spec, case.axes) for spec in (*task.inputs, *task.outputs))
        except FormulaError as error:
            yield "axes", f"'{case.name}' at {shape}: {error}", "correct the shapes, or the axis constraints"
            continue
        if total > task.limits.memory_bytes:
            yield (
                "battery.axes",
                f"tensors of '{case.name}' at {shape} take {total} bytes, limits.memory_bytes is "
                f"{task.limits.memory_bytes}",
                "give a smaller shape there",
            )


def _check_numerics(task: Task) -> _Problems:
    numerics = task.numerics
    for key in ("compute_dtype", "storage_dtype"):
        name = getattr(numerics, key)
        if not (name in DTYPES and DTYPES[name].is_float):
            floats = ", ".join(name for name, dtype in DTYPES.items() if dtype.is_float)
            yield f"numerics.{key}", f"'{name}' is no float dtype", f"known: {floats}"
    limits = (numerics.rel_l2, numerics.row_rel_l2, numerics.elementwise)
    if any(limit is not None for limit in limits) and not numerics.reason.strip():
        yield (
            "numerics.reason",
            "missing, although a derived limit is overridden",
            "say in words an author can check why, or leave the limit out",
        )
    for spec in task.outputs:
        dtype = DTYPES[spec.dtype]
        roundoff = 2.0 ** -(dtype.mantissa_bits + 1)
        if dtype.is_float and numerics.elementwise is not None and numerics.elementwise < roundoff:
            yield (
                "numerics.elementwise",
                f"{numerics.elementwise:g} is less than rounding to {spec.dtype} costs, {roundoff:.3g}: "
                f"a correct '{spec.name}' would fail",
                f"allow {roundoff:.3g} or more",
            )


def _bytes_of(spec: TensorSpec, axes: dict[str, int]) -> int:
    return prod(evaluate_shape(spec.shape, axes)) * dtype_named(spec.dtype).itemsize


def _check_code(task: Task) -> _Problems:
    functions = _functions("reference.py", task.reference)
    for name, wanted in (("reference", ["inputs", "axes"]), ("make_inputs", ["rng", "axes", "case"])):
        if functions.get(name) != wanted:
            yield "reference.py", f"needs the function {name}({', '.join(wanted)})", "define it"
    wanted = [spec.name for spec in task.inputs]
    if _functions("starter.py", task.starter).get(task.entry) != wanted:
        yield "starter.py", f"needs the function {task.entry}({', '.join(wanted)})", "define it"


def _functions(name: str, source: str) -> dict[str, list[str]]:
    """Return the parameter names of each function at the top level of `source`."""
    try:
        body = parse_module(source).body
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise TaskError.at(
            name + (f":{line}" if line else ""), f"no Python: {error.args[0]}", "correct it"
        ) from None
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in body
        if isinstance(node, ast.FunctionDef)
    }
