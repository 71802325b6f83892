"""The emulator executor: traces in one confined worker, validates and computes in another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np

from pipeline.execute import outcomes
from pipeline.execute.artifacts import Artifacts
from pipeline.execute.counts import profile_facts
from pipeline.execute.executor import Execution, Run
from pipeline.execute.findings import list_findings
from pipeline.execute.frames import (
    Array,
    Candidate,
    ExecuteReply,
    ExecuteRequest,
    InspectReply,
    InspectRequest,
    Note,
    ProgramOutcome,
    ProgramReading,
    ProgramRun,
    TraceReply,
    TraceRequest,
    decode,
    encode,
)
from pipeline.execute.sandbox import Level, Limits, SandboxPool, Status
from pipeline.execute.shapes import hidden_shapes, largest_scored_case, listed_shapes, tensors_at
from pipeline.execute.study import study_program
from pipeline.execute.study_frames import StudyReply
from pipeline.types import (
    BuildResult,
    Fault,
    Finding,
    Observation,
    ProfileResult,
    ProgramSummary,
    Task,
    Verdict,
)

__all__ = ["EmulatorExecutor"]

#: Raised whenever the emulator can answer differently; part of every fingerprint.
VERSION: Final = 5

_TRACE_JOB: Final = "pipeline.execute.jobs.trace:run"
_INSPECT_JOB: Final = "pipeline.execute.jobs.machine:inspect"
_EXECUTE_JOB: Final = "pipeline.execute.jobs.machine:execute"

_PROGRAM_BYTES: Final = 64 << 20
_READING_BYTES: Final = 4 << 20
#: Input bytes up to which programs share a worker job: starting one costs more than running a small shape.
_GROUP_BYTES: Final = 32 << 20
_PROGRAM_MEDIA_TYPE: Final = "application/x-nki-program"


class EmulatorExecutor:
    """Runs kernels on the CPU emulator of NKI.

    Submissions and trusted computation never share a worker: a worker's memory may hold traces of earlier
    jobs, and those of a computing worker are references and hidden inputs.

    Args:
        level: Isolation of every worker.
        workers: How many submissions are traced, and how many programs computed, at a time.
    """

    def __init__(self, level: Level, *, workers: int = 2) -> None:
        self._level = level
        self._tracers = SandboxPool(workers, level, ("pipeline.execute.jobs.trace",))
        self._computers = SandboxPool(
            workers,
            level,
            (
                "pipeline.execute.jobs.machine",
                "pipeline.execute.jobs.reference",
                "pipeline.execute.jobs.study",
            ),
        )

    @property
    def id(self) -> str:
        """Name and version."""
        return f"emulator {VERSION}"

    @property
    def isolation(self) -> str:
        """Sandbox level in use."""
        return self._level.value

    @property
    def computers(self) -> SandboxPool:
        """The workers for trusted computation; references run there too."""
        return self._computers

    def build(
        self, task: Task, code: str, *, target: str, toolchain: str, artifacts: Artifacts
    ) -> BuildResult:
        """Trace `code` for every shape of `task` and judge each program on the trusted side.

        Listed and hidden shapes are traced in jobs of their own. A submission can find all shapes of its job
        and say them in an error or in print, so of the job with hidden shapes nothing it says is passed on.
        """
        build_at = partial(self._build_shapes, task, code, target, toolchain, artifacts)
        listed = build_at(listed_shapes(task))
        hidden_axes = hidden_shapes(task)
        if listed.verdict is not None or not hidden_axes:
            return listed
        hidden = build_at(hidden_axes)
        if hidden.verdict is None:
            return listed.model_copy(update={"programs": listed.programs + hidden.programs})
        fault = hidden.fault
        if fault is not None and hidden.verdict is not Verdict.INFRASTRUCTURE:
            fault = outcomes.withhold_shape(fault)
        return listed.model_copy(update={"verdict": hidden.verdict, "fault": fault, "programs": ()})

    def _build_shapes(
        self,
        task: Task,
        code: str,
        target: str,
        toolchain: str,
        artifacts: Artifacts,
        shapes: list[dict[str, int]],
    ) -> BuildResult:
        request = TraceRequest(
            source=code,
            filename="submission.py",
            entry=task.entry,
            shapes=tuple(tensors_at(task.inputs, axes) for axes in shapes),
            target=target,
            version=toolchain,
            cores=task.lnc,
            instruction_limit=task.limits.instructions,
        )
        outcome = self._tracers.run(_TRACE_JOB, encode(request), _trace_limits(task, len(shapes)))
        log = outcome.log
        if outcome.reply is None:
            verdict, fault = outcomes.explain_submission(outcome, task)
            return self._built(verdict=verdict, fault=fault, log=log)
        try:
            traced = decode(outcome.reply, TraceReply)
        except msgspec.DecodeError:
            return self._built(
                verdict=Verdict.SUSPECT, fault=outcomes.forged_reply("the child's reply is no trace"), log=log
            )
        inspected = self._inspect(task, shapes, traced.programs, request)
        if isinstance(inspected, Fault):
            return self._built(verdict=Verdict.INFRASTRUCTURE, fault=inspected, log=log)
        obstacle = _find_obstacle(traced, inspected, len(shapes))
        if obstacle is None and self._is_substituted(task, request, inspected.essence, traced.programs):
            obstacle = outcomes.substituted_program()
        findings = list_findings(inspected)
        if obstacle is not None:
            verdict, fault = obstacle
            return self._built(verdict=verdict, fault=fault, findings=findings, log=log)
        built = zip(shapes, traced.programs, inspected.readings, strict=True)
        return self._built(
            programs=tuple(
                _summarize(reading, axes, artifacts.save_artifact(data, _PROGRAM_MEDIA_TYPE))
                for axes, data, reading in built
            ),
            findings=findings,
            log=log,
        )

    def run(self, task: Task, runs: Sequence[Run], *, artifacts: Artifacts) -> list[Execution]:
        """Execute programs; small ones share a worker job."""
        executions: list[Execution] = []
        for group in _group_runs(runs):
            executions += self._execute(task, group, artifacts)
        return executions

    def study(
        self,
        task: Task,
        program: ProgramSummary,
        inputs: Sequence[np.ndarray],
        expected: Sequence[np.ndarray],
        *,
        artifacts: Artifacts,
    ) -> StudyReply:
        """Execute a program in float64, and again with one line rounding at a time."""
        code = artifacts.load_artifact(program.artifact)
        return study_program(self._computers, task, code, inputs, expected)

    def profile(self, task: Task, build: BuildResult, *, target: str, artifacts: Artifacts) -> ProfileResult:
        """Return counts and modelled bounds of the largest scored shape, as the build read them off."""
        case = largest_scored_case(task)
        program = next((p for p in build.programs if p.axes == case.axes), None)
        if program is None or not program.counts:
            return ProfileResult()
        return ProfileResult(facts=profile_facts(task, case, program, target))

    def close(self) -> None:
        """End every worker."""
        self._tracers.close()
        self._computers.close()

    def _inspect(
        self,
        task: Task,
        shapes: list[dict[str, int]],
        programs: tuple[bytes, ...],
        traced: TraceRequest,
    ) -> InspectReply | Fault:
        request = InspectRequest(
            candidates=tuple(
                Candidate(data, tensors_at(task.inputs, axes), tensors_at(task.outputs, axes))
                for axes, data in zip(shapes, programs, strict=False)
            ),
            source=traced.source,
            entry=traced.entry,
            target=traced.target,
            version=traced.version,
            cores=traced.cores,
            instruction_limit=traced.instruction_limit,
        )
        limits = Limits(
            wall_seconds=task.limits.run_seconds,
            cpu_seconds=math.ceil(task.limits.run_seconds),
            memory_bytes=task.limits.memory_bytes,
            reply_bytes=_READING_BYTES * len(shapes),
        )
        outcome = self._computers.run(_INSPECT_JOB, encode(request), limits)
        if outcome.status in (Status.MEMORY, Status.TIMEOUT, Status.OVERSIZED):
            return InspectReply((ProgramReading(refusal=outcomes.too_much_to_inspect(outcome)),))
        if outcome.reply is None:
            return outcomes.explain_worker(outcome, "inspecting the program")
        return decode(outcome.reply, InspectReply)

    def _is_substituted(
        self, task: Task, request: TraceRequest, essence: str, programs: tuple[bytes, ...]
    ) -> bool:
        """Whether another program comes out of the text alone: see `frontend.language.essence`."""
        if not essence:
            return False
        again = msgspec.structs.replace(request, source=essence)
        outcome = self._tracers.run(_TRACE_JOB, encode(again), _trace_limits(task, len(request.shapes)))
        try:
            return outcome.reply is None or decode(outcome.reply, TraceReply).programs != programs
        except msgspec.DecodeError:
            return True

    def _execute(self, task: Task, runs: Sequence[Run], artifacts: Artifacts) -> list[Execution]:
        dtypes = [spec.dtype for spec in task.inputs]
        request = ExecuteRequest(
            runs=tuple(
                ProgramRun(
                    artifacts.load_artifact(run.program.artifact),
                    tuple(
                        tuple(Array.of(values, dtype) for values, dtype in zip(arrays, dtypes, strict=True))
                        for arrays in run.inputs
                    ),
                )
                for run in runs
            )
        )
        outcome = self._computers.run(_EXECUTE_JOB, encode(request), _run_limits(task, runs))
        if outcome.reply is not None:
            return [_read_outcome(found) for found in decode(outcome.reply, ExecuteReply).outcomes]
        if len(runs) > 1:
            # One of them ended the worker; alone, each shows which.
            return [self._execute(task, [run], artifacts)[0] for run in runs]
        verdict, fault = outcomes.explain_execution(outcome, task)
        return [Execution((), verdict, fault)]

    def _built(
        self,
        *,
        verdict: Verdict | None = None,
        fault: Fault | None = None,
        programs: tuple[ProgramSummary, ...] = (),
        findings: tuple[Finding, ...] = (),
        log: str = "",
    ) -> BuildResult:
        return BuildResult(
            verdict=verdict,
            fault=fault,
            programs=programs,
            findings=findings,
            log=log,
            executor=self.id,
            sandbox=self.isolation,
        )


def _trace_limits(task: Task, shapes: int) -> Limits:
    return Limits(
        wall_seconds=task.limits.wall_seconds,
        cpu_seconds=math.ceil(task.limits.wall_seconds),
        memory_bytes=task.limits.memory_bytes,
        reply_bytes=_PROGRAM_BYTES * shapes,
    )


def _group_runs(runs: Sequence[Run]) -> list[list[Run]]:
    """Split `runs` into groups that are worth a worker job each, in their order."""
    groups: list[list[Run]] = []
    held = _GROUP_BYTES
    for run in runs:
        size = sum(array.nbytes for arrays in run.inputs for array in arrays)
        if held + size > _GROUP_BYTES:
            groups.append([])
            held = 0
        groups[-1].append(run)
        held += size
    return groups


def _run_limits(task: Task, runs: Sequence[Run]) -> Limits:
    draws = sum(len(run.inputs) for run in runs)
    elements = sum(
        len(run.inputs) * math.prod(tensor.shape)
        for run in runs
        for tensor in tensors_at(task.outputs, run.program.axes)
    )
    seconds = task.limits.run_seconds * draws
    return Limits(
        wall_seconds=seconds,
        cpu_seconds=math.ceil(seconds),
        memory_bytes=task.limits.memory_bytes,
        reply_bytes=(1 << 20) + 8 * elements,
    )


def _read_outcome(outcome: ProgramOutcome) -> Execution:
    outputs = tuple(tuple(array.numpy() for array in arrays) for arrays in outcome.outputs)
    observations = tuple(
        tuple(Observation(**msgspec.structs.asdict(sighting)) for sighting in sightings)
        for sightings in outcome.observations
    )
    if outcome.error is None:
        return Execution(outputs, observations=observations)
    verdict, fault = outcomes.explain_machine_error(outcome.error)
    return Execution(outputs, verdict, fault, observations)


def _find_obstacle(traced: TraceReply, inspected: InspectReply, shapes: int) -> tuple[Verdict, Fault] | None:
    """Return what stands in the way of running the submission on all of `shapes` shapes."""
    readings = inspected.readings
    if readings and (refusal := readings[-1].refusal) is not None:
        return outcomes.explain_refusal(refusal)
    if (refused := _first_error(inspected.language)) is not None:
        return outcomes.explain_language(refused, traced.error)
    if readings and (illegal := _first_error(readings[-1].violations)) is not None:
        return outcomes.explain_violation(illegal)
    if traced.error is not None:
        return outcomes.explain_kernel_error(traced.error)
    if len(traced.programs) != shapes or len(readings) != shapes:
        return Verdict.SUSPECT, outcomes.forged_reply("it does not have one program per shape")
    return None


def _first_error(notes: Sequence[Note]) -> Note | None:
    return next((note for note in notes if note.severity == "error"), None)


def _summarize(reply: ProgramReading, axes: dict[str, int], artifact: str) -> ProgramSummary:
    return ProgramSummary(
        axes=axes,
        artifact=artifact,
        instructions=reply.instructions,
        instructions_per_engine=reply.instructions_per_engine,
        operations=reply.operations,
        compute_dtypes=reply.compute_dtypes,
        stored_dtypes=reply.stored_dtypes,
        sbuf_peak_bytes=reply.sbuf_peak_bytes,
        psum_peak_bytes=reply.psum_peak_bytes,
        unwritten=reply.unwritten,
        mutated_inputs=reply.mutated_inputs,
        independent_outputs=reply.independent_outputs,
        fidelity=reply.fidelity,
        counts=reply.counts,
        approximated=reply.approximated,
    )
