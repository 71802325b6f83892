"""What becomes of mutants: how each is caught, or why it need not be.

A mutant goes through the very jobs that confined workers run: validation, legality, two fillings of memory,
the machine; then through the comparator, and, if all cases pass, through the checks and the rubric's gates.
It runs in this process, since it is made of a trusted program, on the smallest shapes first, and stops where
it is caught.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from evals.correctness.ground import Built, Ground, judge, say_refusal
from evals.correctness.mutants import Mutant, make_mutants
from pipeline.checks.check import Evidence
from pipeline.checks.inspection import inspect_submission
from pipeline.compare.ulps import measure_ulps
from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program import Program, encode
from pipeline.emulator.program import decode as decode_program
from pipeline.execute import outcomes
from pipeline.execute.frames import (
    Array,
    Candidate,
    ExecuteReply,
    ExecuteRequest,
    InspectReply,
    InspectRequest,
    ProgramReading,
    ProgramRun,
    decode,
)
from pipeline.execute.frames import encode as encode_frame
from pipeline.execute.jobs import machine
from pipeline.execute.references import Draw
from pipeline.execute.shapes import tensors_at
from pipeline.types import BuildResult, Case, CaseKind, CaseResult, ProgramSummary, RunResult, Verdict

__all__ = ["Ending", "Trial", "read_reasons", "try_mutants"]

_REASONS: Final = Path(__file__).with_name("equivalent.toml")
#: Draws beside those of a grading on which a survivor must behave like the kernel to count as equivalent.
_EXTRA_SEEDS: Final = ("e0" * 16, "e1" * 16)


class Ending(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    #: Its outputs are the kernel's, bit for bit, on every draw and on draws of further seeds.
    IDENTICAL = "identical"
    #: The same within one unit in the last place of the output.
    ONE_ULP = "within one ulp"
    #: What it changes is below rounding by construction.
    HARMLESS = "below rounding"
    #: It passes, and is right all the same: `equivalent.toml` says why.
    ARGUED = "argued by hand"
    #: It passes, and is not the kernel.
    SURVIVED = "survived"
    #: The grader failed on it.
    FAULT = "grader's fault"


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutant and what became of it.

    Attributes:
        kernel: Task and file of the kernel that it was made of.
        mutant: The mutation and its place.
        mutation: The mutation alone.
        ending: What became of it.
        how: Verdict and message, or how its outputs compare with the kernel's.
    """

    kernel: str
    mutant: str
    mutation: str
    ending: Ending
    how: str


def read_reasons() -> dict[tuple[str, str, int], str]:
    """Return why some mutants are right though they are not the kernel, by kernel, mutation and line."""
    listed = tomllib.loads(_REASONS.read_text(encoding="utf-8"))["mutant"]
    return {
        (entry["kernel"], mutation, line): entry["reason"]
        for entry in listed
        for mutation in entry["mutations"]
        for line in entry["lines"]
    }


class _Shape(NamedTuple):
    """One program of a kernel, and what it is run on."""

    program: Program
    draws: list[tuple[Case, int, Draw]]
    outputs: list[tuple[np.ndarray, ...]]


class _Refusal(Exception):
    """Why a mutant goes no further."""


def try_mutants(ground: Ground, built: Built, name: str, *, seed: str, every: int = 1) -> Iterator[Trial]:
    """Yield what becomes of each mutant of a kernel that grades as correct.

    Args:
        ground: Where draws come from.
        built: The kernel.
        name: What it is called.
        seed: Of the draws that mutants are graded on.
        every: Try one of so many mutants: for a quick look.
    """
    kernel = f"{built.task.id}/{name}"
    bench = _Bench(ground, built, seed)
    if (refusal := bench.try_original()) is not None:
        yield Trial(kernel, "none", "none", Ending.FAULT, f"the kernel itself is refused: {refusal}")
        return
    programs = [shape.program for shape in bench.shapes]
    reasons = read_reasons()
    for number, mutant in enumerate(make_mutants(programs)):
        if number % every == 0:
            ending, how = bench.try_one(mutant)
            reason = reasons.get((kernel, mutant.mutation.name, mutant.site.line))
            if ending is Ending.SURVIVED and reason is not None:
                ending, how = Ending.ARGUED, reason
            yield Trial(kernel, mutant.name, mutant.mutation.name, ending, how)


class _Bench:
    """A kernel, its draws and its own outputs, beside which mutants are tried."""

    def __init__(self, ground: Ground, built: Built, seed: str) -> None:
        if built.result is None or built.result.verdict is not None:
            raise ValueError("mutants are made of kernels that build")
        self._ground, self._built, self._task = ground, built, built.task
        self._build: BuildResult = built.result
        summaries = sorted(self._build.programs, key=lambda summary: (summary.instructions, summary.artifact))
        self._summaries = summaries
        self.shapes = [self._shape(summary, seed) for summary in summaries]
        self._extra: list[_Shape] | None = None

    def try_original(self) -> str | None:
        """Return why the kernel itself is refused, if it is: its mutants would say nothing."""
        try:
            for shape in self.shapes:
                for (case, number, draw), outputs in zip(shape.draws, shape.outputs, strict=True):
                    self._judge(case, number, draw, outputs)
        except _Refusal as refusal:
            return str(refusal)
        return None

    def try_one(self, mutant: Mutant) -> tuple[Ending, str]:
        """Return what becomes of a mutant, and how."""
        ulps = 0.0
        readings: dict[int, ProgramReading] = {}
        results: list[CaseResult] = []
        try:
            for index, (shape, program) in enumerate(zip(self.shapes, mutant.programs, strict=True)):
                if program is not shape.program:
                    readings[index] = self._read(shape, program)
                    # Most are caught on the first draw.
                    for part in (slice(0, 1), slice(1, None)):
                        outputs = self._execute(program, shape.draws[part])
                        for (case, number, draw), got in zip(shape.draws[part], outputs, strict=True):
                            results.append(self._judge(case, number, draw, got))
                        ulps = max(ulps, self._distance(outputs, shape.outputs[part]))
            self._settle(readings, results)
        except _Refusal as refusal:
            return Ending.CAUGHT, str(refusal)
        except Exception as error:  # whatever it is, the machine and the comparator must not raise it
            return Ending.FAULT, f"{type(error).__name__}: {error}"
        if mutant.mutation.harmless:
            return Ending.HARMLESS, f"outputs at most {ulps:.3g} ulp apart"
        if ulps <= 1:
            ulps = max(ulps, self._extra_distance(mutant))
        if ulps == 0:
            return Ending.IDENTICAL, "outputs equal on every draw and on those of two further seeds"
        if ulps <= 1:
            return (
                Ending.ONE_ULP,
                "outputs at most one ulp apart on every draw and on those of two more seeds",
            )
        return Ending.SURVIVED, f"passes with outputs up to {ulps:.3g} ulp from the kernel's"

    def _shape(self, summary: ProgramSummary, *seeds: str, small: bool = False) -> _Shape:
        program = decode_program(self._built.shelf.load_artifact(summary.artifact))
        draws = [
            (case, number, self._ground.draw(self._task, case, number, seed))
            for seed in seeds
            for case in self._task.cases
            if case.axes == summary.axes and not (small and case.kind is CaseKind.SCORED)
            for number in range(case.seeds)
        ]
        return _Shape(program, draws, self._execute(program, draws))

    def _read(self, shape: _Shape, program: Program) -> ProgramReading:
        """Inspect a program as the trusted worker does.

        Raises:
            _Refusal: If it is refused or illegal.
        """
        axes = self._summaries[self.shapes.index(shape)].axes
        request = InspectRequest(
            candidates=(
                Candidate(
                    encode(program), tensors_at(self._task.inputs, axes), tensors_at(self._task.outputs, axes)
                ),
            ),
            source="",  # the text is the good kernel's, which was read already
            entry=self._task.entry,
            target=self._task.targets[0],
            version=self._task.toolchain[0],
            cores=self._task.lnc,
            instruction_limit=self._task.limits.instructions,
        )
        (reading,) = decode(machine.inspect(encode_frame(request)), InspectReply).readings
        if reading.refusal is not None:
            raise _Refusal(f"refused: {reading.refusal.message}")
        illegal = next((note for note in reading.violations if note.severity == "error"), None)
        if illegal is not None:
            raise _Refusal(f"{Verdict.ILLEGAL_ON_TARGET.value}: {illegal.message}")
        return reading

    def _execute(
        self, program: Program, draws: Sequence[tuple[Case, int, Draw]]
    ) -> list[tuple[np.ndarray, ...]]:
        """Run a program as the trusted worker does.

        Raises:
            _Refusal: If the machine stops it.
        """
        if not draws:
            return []
        inputs = tuple(
            tuple(Array.of(v, spec.dtype) for v, spec in zip(draw.inputs, self._task.inputs, strict=True))
            for _, _, draw in draws
        )
        request = ExecuteRequest((ProgramRun(encode(program), inputs),))
        (outcome,) = decode(machine.execute(encode_frame(request)), ExecuteReply).outcomes
        if outcome.error is not None:
            verdict, fault = outcomes.explain_machine_error(outcome.error)
            raise _Refusal(f"{verdict.value}: {fault.message}")
        return [tuple(array.numpy() for array in arrays) for arrays in outcome.outputs]

    def _judge(self, case: Case, number: int, draw: Draw, outputs: Sequence[np.ndarray]) -> CaseResult:
        result = judge(self._task, case, number, outputs, draw)
        if result.verdict is not Verdict.CORRECT:
            raise _Refusal(f"{result.verdict.value}, case {case.name!r}: {result.message}")
        return result

    def _settle(self, readings: dict[int, ProgramReading], results: Sequence[CaseResult]) -> None:
        """Let the checks speak of a mutant whose values pass.

        Raises:
            _Refusal: If it is not accepted nevertheless.
        """
        programs = tuple(
            _summarise(summary, readings[index]) if index in readings else summary
            for index, summary in enumerate(self._summaries)
        )
        build = self._build.model_copy(update={"programs": programs})
        run = RunResult(
            verdict=Verdict.CORRECT, cases=tuple(results), executor=build.executor, sandbox=build.sandbox
        )
        inspection = inspect_submission(Evidence(self._task, self._built.submission, build, run))
        if (refusal := say_refusal(self._task, inspection)) is not None:
            raise _Refusal(refusal)

    def _distance(
        self, outputs: Sequence[tuple[np.ndarray, ...]], others: Sequence[tuple[np.ndarray, ...]]
    ) -> float:
        """Return by how many ulp two executions differ at most."""
        farthest = 0.0
        for some, more in zip(outputs, others, strict=True):
            for spec, got, wanted in zip(self._task.outputs, some, more, strict=True):
                if got.tobytes() == wanted.tobytes():
                    continue
                left, right = got.astype(np.float64), wanted.astype(np.float64)
                finite = np.isfinite(left) & np.isfinite(right)
                if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
                    return np.inf
                distances = measure_ulps(left[finite], right[finite], DTYPES[spec.dtype])
                farthest = max(farthest, float(distances.max(initial=0.0)))
        return farthest

    def _extra_distance(self, mutant: Mutant) -> float:
        """Return by how many ulp a mutant differs from the kernel on draws of further seeds."""
        if self._extra is None:
            self._extra = [self._shape(summary, *_EXTRA_SEEDS, small=True) for summary in self._summaries]
        return max(
            (
                self._distance(self._execute(program, shape.draws), shape.outputs)
                for shape, program in zip(self._extra, mutant.programs, strict=True)
                if shape.draws
            ),
            default=0.0,
        )


def _summarise(summary: ProgramSummary, reading: ProgramReading) -> ProgramSummary:
    """Return the summary of another program of the same shape."""
    read = {name: value for name, value in msgspec.structs.asdict(reading).items() if hasattr(summary, name)}
    return summary.model_copy(update=read)
