"""Collect everything that shapes the grades of a task into one fingerprint."""

from __future__ import annotations

from pipeline.checks import checks_version
from pipeline.compare import correctness
from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.execute.executor import Executor
from pipeline.execute.numerics import describe_numerics
from pipeline.graph.library import Library
from pipeline.judge import confidence
from pipeline.judge.protocol import Judge
from pipeline.routing import policy
from pipeline.routing.grounds import Assurance
from pipeline.types import Fault, Fingerprint, Owner, Task

__all__ = ["make_fingerprint", "stamp_assurance"]


def make_fingerprint(
    library: Library, task_id: str, executor: Executor, judge: Judge, settings: Settings
) -> Fingerprint:
    """Return the fingerprint of grading task `task_id` where no labels have earned anything yet.

    Raises:
        GraderError: If the settings ask for a target or toolchain that the task does not offer.
    """
    task = library.tasks[task_id]
    return Fingerprint(
        task=task.content_hash(),
        rubric=library.rubric_of(task).content_hash(),
        prompt=library.prompt.content_hash(),
        judge=judge.id,
        executor=executor.id,
        target=_choose(task, "target", settings.target, task.targets),
        toolchain=_choose(task, "toolchain", settings.toolchain, task.toolchain),
        numerics=describe_numerics(),
        comparison=f"comparison {correctness.VERSION}",
        checks=checks_version(),
        confidence=confidence.VERSION,
        policy=policy.stamp_policy(library.policy, Assurance()),
        isolated=executor.isolation != "limits",
    )


def stamp_assurance(made: Fingerprint, library: Library, assurance: Assurance) -> Fingerprint:
    """Return `made` with the calibrator and the certificates that are in force for its drafts.

    They change what follows a draft and nothing before: stages up to the judge are found again.
    """
    stamp = confidence.VERSION
    if assurance.calibrator is not None:
        stamp = f"{stamp} + {assurance.calibrator.content_hash()[:16]}"
    return made.model_copy(
        update={"confidence": stamp, "policy": policy.stamp_policy(library.policy, assurance)}
    )


def _choose(task: Task, what: str, wanted: str | None, offered: tuple[str, ...]) -> str:
    if wanted is None:
        return offered[0]
    if wanted in offered:
        return wanted
    raise GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=f"unknown_{what}",
            message=f"task {task.id!r} is not offered for {what} {wanted!r}; it has {', '.join(offered)}",
            remedy=f"leave --{what} out to grade on the first of them",
        )
    )
