"""The nodes: each calls one service, keeps what it returned under its content key, and returns ids.

All are coroutines. What waits for a process or a disk goes to a thread, and only that: handing over to a
thread and back costs more than most nodes do.
"""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from pipeline.checks.inspection import inspect_submission
from pipeline.compare.correctness import run_cases
from pipeline.graph.services import Services
from pipeline.graph.state import State
from pipeline.review.queue import conclude, enqueue
from pipeline.types import BuildResult, Confidence, Inspection, Judgment, ProfileResult, RunResult, Verdict

__all__ = [
    "admit",
    "assess",
    "await_review",
    "build",
    "finish",
    "inspect",
    "judge",
    "profile",
    "route",
    "run",
]


async def admit(state: State, runtime: Runtime[Services]) -> State:
    """Turn away what is no kernel source."""
    work = runtime.context.work(state["grading_id"])
    refusal = work.submission.refusal
    return {"verdict": refusal.verdict.value if refusal else None}


async def build(state: State, runtime: Runtime[Services]) -> State:
    """Trace the submission for every shape of its task."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    fingerprint = work.grading.fingerprint
    result = await work.perform_beside(
        "build",
        BuildResult,
        lambda: services.executor.build(
            work.task,
            work.submission.code,
            target=fingerprint.target,
            toolchain=fingerprint.toolchain,
            artifacts=services.store,
        ),
    )
    return {"verdict": result.verdict.value if result.verdict else None}


async def run(state: State, runtime: Runtime[Services]) -> State:
    """Execute every case and compare with the oracle."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    built = work.result("build", BuildResult)
    result = await work.perform_beside(
        "run",
        RunResult,
        lambda: run_cases(
            work.task, built, services.executor, services.oracle, artifacts=services.store, study=True
        ),
    )
    return {"verdict": None if result.verdict is Verdict.CORRECT else result.verdict.value}


async def profile(state: State, runtime: Runtime[Services]) -> State:
    """Count what the program does, and bound its time."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    built = work.result("build", BuildResult)
    target = work.grading.fingerprint.target
    work.perform(
        "profile",
        ProfileResult,
        lambda: services.executor.profile(work.task, built, target=target, artifacts=services.store),
    )
    return {}


async def inspect(state: State, runtime: Runtime[Services]) -> State:
    """Let every deterministic check speak, and settle the verdict."""
    work = runtime.context.work(state["grading_id"])
    result = work.perform("inspect", Inspection, lambda: inspect_submission(work.evidence()))
    return {"verdict": result.verdict.value}


async def judge(state: State, runtime: Runtime[Services]) -> State:
    """Draft scores and feedback."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    await work.perform_async("judge", Judgment, lambda: services.judge.judge(work.judge_request()))
    return {}


async def assess(state: State, runtime: Runtime[Services]) -> State:
    """Say how far the draft can be trusted."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    work.perform("assess", Confidence, lambda: services.deciding.assess(work))
    return {}


async def route(state: State, runtime: Runtime[Services]) -> State:
    """Decide whether the grade stands, waits for a person, or is held; a place in the queue is kept first."""
    services, work = runtime.context, runtime.context.work(state["grading_id"])
    decided = services.deciding.decide(work)
    drawn = services.deciding.draw(work, decided)
    review_id = enqueue(services.store, work.grading, decided, work.keys.as_dict(), drawn)
    await services.settling.settle()
    return {"destination": decided.destination.value, "rule": decided.rule, "review_id": review_id}


async def await_review(state: State, runtime: Runtime[Services]) -> State:
    """Wait for a person, unless one has already decided."""
    review_id = state["review_id"] or ""
    while runtime.context.store.find_decision(review_id) is None:
        # Whoever resumes only says that there is one: what was decided is in the store, never in the answer.
        interrupt({"review_id": review_id})
    return {}


async def finish(state: State, runtime: Runtime[Services]) -> State:
    """Release the grade."""
    work = runtime.context.work(state["grading_id"])
    inspection, draft = work.result("inspect", Inspection), work.result("judge", Judgment)
    store, certified = runtime.context.store, state.get("rule") == "certified"
    conclude(store, work.grading, work.rubric, inspection, draft, state["review_id"], certified=certified)
    return {}
