"""The audit of a task: whether its cases and its reference can tell a right kernel from a wrong one.

Many benchmarks of kernels let pass answers that take no work, because their inputs make the reference
constant, tiny or independent of an input (facts/grading.md section 2, rows 17 to 19 and 58). A task is asked
here what no submission can answer for it: every finding is its fault, with the case, the limit and a remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.compare.cases import judge_case
from pipeline.compare.oracle import Oracle
from pipeline.compare.trivial import Trivial, make_trivial
from pipeline.emulator.dtypes import DTYPES
from pipeline.execute.arithmetic.measurement import find_obstacle
from pipeline.execute.references import Draw
from pipeline.execute.sandbox import SandboxPool
from pipeline.execute.shapes import tensors_at
from pipeline.types import Case, CaseResult, Fault, Owner, Task, Verdict

__all__ = ["CONDITION_LIMIT", "audit_task"]

#: Largest derived tolerance of a whole output, as a share of its size, on values that the task draws itself.
#: Rounding to float8_e4m3 alone costs 0.03; beyond 0.1 the first digit of the answer is rounding.
CONDITION_LIMIT: Final = 0.1

#: Answers below this are within ten bits of the smallest normal float32, which the engines flush to zero.
_UNDERFLOW: Final = 2.0**10 * 2.0**-126

#: Any two seeds: the audit says the same every time.
_SEED: Final = "00" * 16
_OTHER_SEED: Final = "01" * 16

#: Appended to a reference: changes one input after it is drawn. Rolling keeps each row's values, so that no
#: mask or constraint of the task breaks; scaling changes what does not care about order.
_PERTURBATION: Final = """


def _perturbed(original):
    import numpy

    def make_inputs(rng, axes, case):
        drawn = dict(original(rng, axes, case))
        values = numpy.array(drawn[{name!r}])
        {change}
        drawn[{name!r}] = values
        return drawn

    return make_inputs


make_inputs = _perturbed(make_inputs)
"""
#: Appended to a reference: another state of the generators that a process has one of.
_GLOBAL_STATE: Final = """

import random as _random

import numpy.random as _numpy_random

_random.seed(20_231)
_numpy_random.seed(20_231)
"""
_CHANGES: Final = (
    "values = numpy.roll(values, 1, axis=-1)",
    "values = values * (1.25 + 0.25 * numpy.cos(numpy.arange(values.size))).reshape(values.shape)"
    " if values.dtype.kind == 'f' else numpy.roll(values, 1, axis=0)",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """One case and its first draw."""

    case: Case
    draw: Draw


def audit_task(task: Task, workers: SandboxPool) -> list[Fault]:
    """Return everything that is wrong with a task, worst first; nothing where all is well.

    Where the reference itself fails on some case, that alone is said: nothing else can be asked.

    Args:
        task: As loaded, so that the form of its folder is in order.
        workers: Where its reference runs.
    """
    oracle = Oracle(workers, _SEED)
    drawn: list[_Drawn] = []
    for case in sorted(task.cases, key=lambda case: (_elements(task, case), case.name)):
        draw = oracle.draw(task, case, 0)
        if isinstance(draw, Fault):
            return [draw]
        drawn.append(_Drawn(case, draw))
    findings = list(_find_nondeterminism(task, workers, drawn[0]))
    if findings:
        return findings
    findings += _find_unfollowed(task, drawn)
    findings += _find_unsound(task, drawn)
    findings += _find_passing_trivia(task, workers, drawn)
    findings += _find_idle_inputs(task, workers, drawn)
    findings += _find_idle_distributions(task, workers, drawn)
    return findings


def _elements(task: Task, case: Case) -> int:
    return sum(int(np.prod(tensor.shape)) for tensor in tensors_at((*task.inputs, *task.outputs), case.axes))


def _find_nondeterminism(task: Task, workers: SandboxPool, drawn: _Drawn) -> Iterator[Fault]:
    # Forked workers share the state of global generators: another one tells what draws from it.
    changed = task.model_copy(update={"reference": task.reference + _GLOBAL_STATE})
    again = Oracle(workers, _SEED).draw(changed, drawn.case, 0)
    if isinstance(again, Fault):
        yield again
        return
    for role, specs, first, second in (
        ("make_inputs() draws", task.inputs, drawn.draw.inputs, again.inputs),
        ("reference() answers", task.outputs, drawn.draw.expected, again.expected),
    ):
        for spec, one, other in zip(specs, first, second, strict=True):
            if one.tobytes() != other.tobytes():
                yield _fault(
                    task,
                    drawn.case,
                    "not_deterministic",
                    f"{role} other values for {spec.name!r} on the same seed: runs must agree in every bit",
                    "draw from the generator it is given, and from nothing else (no time, no global state)",
                )
                return


def _find_unfollowed(task: Task, drawn: list[_Drawn]) -> Iterator[Fault]:
    """Yield one case where the limits, which the task leaves to be derived, are those of no analysis."""
    own = (task.numerics.rel_l2, task.numerics.row_rel_l2, task.numerics.elementwise)
    if all(limit is not None for limit in own):
        return
    for case, draw in ((one.case, one.draw) for one in drawn):
        if obstacle := find_obstacle(draw.derivation):
            yield _fault(
                task,
                case,
                "not_followed",
                f"the error analysis cannot follow reference(), so the limits are coarse: {obstacle}",
                "write it with NumPy functions that the analysis knows, on whole arrays, or set rel_l2, "
                "row_rel_l2 and elementwise in [numerics] with a reason",
            )
            return


def _find_unsound(task: Task, drawn: list[_Drawn]) -> Iterator[Fault]:
    """Yield cases whose own answer fails, is not finite for finite inputs, or is mostly rounding."""
    for case, draw in ((one.case, one.draw) for one in drawn):
        finite = all(np.isfinite(values.astype(np.float64)).all() for values in draw.inputs)
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = tuple(
                values.astype(DTYPES[spec.dtype].storage)
                for spec, values in zip(task.outputs, draw.expected, strict=True)
            )
        for spec, values in zip(task.outputs, rounded, strict=True):
            if finite and not np.isfinite(values.astype(np.float64)).all():
                yield _fault(
                    task,
                    case,
                    "not_finite",
                    f"reference() answers finite inputs with values of {spec.name!r} beyond {spec.dtype}",
                    "draw smaller values or widen the output; exclude the pattern in [battery] if the "
                    "statement rules such values out",
                )
        result = _judge(task, case, rounded, draw)
        if result.verdict is not Verdict.CORRECT:
            yield _fault(
                task,
                case,
                "refuses_its_answer",
                f"the reference, rounded to the output's dtype, is refused: {result.message}",
                "raise the limits in [numerics], or leave them out so that they are derived",
            )
        for error in result.errors:
            limit = error.tolerance.rel_l2 if error.tolerance else 0.0
            if CONDITION_LIMIT < limit < np.inf and not _is_underflow(task, draw, error.output):
                yield _fault(
                    task,
                    case,
                    "ill_conditioned",
                    f"float32 is too far from float64: the tolerance of {error.output!r} is {limit:.2g} of "
                    f"its size, limit {CONDITION_LIMIT:g}",
                    "draw values whose sums cancel less, or exclude the pattern in [battery] with the reason",
                )


def _is_underflow(task: Task, draw: Draw, output: str) -> bool:
    """Return whether an answer is so small that flushing to zero, not rounding, says how far one may be."""
    place = next(place for place, spec in enumerate(task.outputs) if spec.name == output)
    finite = draw.expected[place][np.isfinite(draw.expected[place])]
    return float(np.abs(finite).max(initial=0.0)) < _UNDERFLOW


def _find_passing_trivia(task: Task, workers: SandboxPool, drawn: list[_Drawn]) -> Iterator[Fault]:
    """Yield trivial candidates that pass on a case where they are wrong, or that no case refuses."""
    other_oracle = Oracle(workers, _OTHER_SEED)
    refused: set[tuple[str, str]] = set()
    tried: dict[tuple[str, str], Case] = {}
    for case, draw in ((one.case, one.draw) for one in drawn):
        other = other_oracle.draw(task, case, 0)
        if isinstance(other, Fault):
            yield other
            return
        for trivial in make_trivial(task, draw, other):
            tried.setdefault((trivial.name, trivial.output), case)
            if _judge(task, case, trivial.outputs, draw).verdict is not Verdict.CORRECT:
                refused.add((trivial.name, trivial.output))
            elif not trivial.right:
                yield _fault(
                    task,
                    case,
                    "trivial_passes",
                    f"{_say(trivial)} passes though it is wrong: the limits are wider than the answer varies",
                    "draw values that spread the answer, or lower the limits in [numerics]",
                )
    for name, output in tried.keys() - refused:
        yield _fault(
            task,
            tried[name, output],
            "trivial_never_fails",
            f"no case refuses {name} as {output!r}",
            "add a case whose answer is another",
        )


def _say(trivial: Trivial) -> str:
    return f"{trivial.name!r} as {trivial.output!r}"


def _find_idle_inputs(task: Task, workers: SandboxPool, drawn: list[_Drawn]) -> Iterator[Fault]:
    """Yield inputs that change no answer: a kernel that ignores them would pass."""
    for spec in task.inputs:
        if not any(_matters(task, workers, one, spec.name) for one in drawn):
            yield _fault(
                task,
                drawn[0].case,
                "idle_input",
                f"no case's answer changes with input {spec.name!r}: a kernel may ignore it",
                "let reference() use it, draw it from more than one value, or remove it",
            )


def _matters(task: Task, workers: SandboxPool, drawn: _Drawn, name: str) -> bool:
    for change in _CHANGES:
        source = task.reference + _PERTURBATION.format(name=name, change=change)
        changed = task.model_copy(update={"reference": source})
        draw = Oracle(workers, _SEED).draw(changed, drawn.case, 0)
        # A change that the reference refuses says nothing about whether the input matters.
        if isinstance(draw, Draw) and not _equal(draw, drawn.draw):
            return True
    return False


def _equal(one: Draw, other: Draw) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one.expected, other.expected, strict=True))


def _find_idle_distributions(task: Task, workers: SandboxPool, drawn: list[_Drawn]) -> Iterator[Fault]:
    """Yield distributions that `make_inputs` does not know: a slip of the pen would go unnoticed."""
    default = Case.model_fields["distribution"].default
    oracle = Oracle(workers, _SEED)
    asked: set[str] = {default}
    for case, draw in ((one.case, one.draw) for one in drawn):
        if case.distribution in asked:
            continue
        plain = oracle.draw(task, case.model_copy(update={"distribution": default}), 0)
        alike = isinstance(plain, Draw) and all(
            a.tobytes() == b.tobytes() for a, b in zip(plain.inputs, draw.inputs, strict=True)
        )
        if not alike:
            asked.add(case.distribution)
            continue
        yield _fault(
            task,
            case,
            "idle_distribution",
            f"make_inputs() draws distribution {case.distribution!r} as it draws {default!r}",
            "correct its name in task.toml or in make_inputs()",
        )


def _judge(task: Task, case: Case, outputs: tuple[np.ndarray, ...], draw: Draw) -> CaseResult:
    return judge_case(task, case, 0, outputs, draw)


def _fault(task: Task, case: Case, code: str, message: str, remedy: str) -> Fault:
    return Fault(
        owner=Owner.TASK,
        code=code,
        message=message,
        where=f"{task.id}, case {case.name!r}",
        remedy=remedy,
    )
