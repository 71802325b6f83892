"""Grade many submissions: each is one thread of the graph, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.graph.services import Services
from pipeline.graph.threads import Planned, Progress, advance, resume_decided
from pipeline.judge.calls.spending import Spending
from pipeline.library.submissions import Received
from pipeline.store import Store
from pipeline.types import Batch, BatchItem, Fault, Rejection, Submission, hash_text

__all__ = [
    "BatchOutcome",
    "Progress",
    "grade_batch",
    "list_unfinished",
    "open_batch",
    "register",
    "resume_decided",
    "separate",
]


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What a run over a batch came to.

    Attributes:
        batch_id: Its id; the same inputs under the same settings make the same batch.
        total: Gradings in the batch.
        computed: Of these, gradings that this run worked on.
        unchanged: Of these, gradings that were finished, or waited, before.
        graded: Gradings with a grade now.
        waiting: Gradings that wait for a person now.
        held: Gradings that infrastructure kept from being graded.
        left: Gradings that are still to be worked on, because the run ended before its time.
        rejections: Inputs that are no submissions.
        interrupted: Whether a person stopped the run before its end.
        stopped: Why it stopped itself before its end, such as a cap on cost; None if it did not.
        spending: What the judge asked and paid in this run; None for one that asks nobody, or not at once.
    """

    batch_id: str
    total: int
    computed: int
    unchanged: int
    graded: int
    waiting: int
    held: int
    left: int
    rejections: tuple[Rejection, ...]
    interrupted: bool
    stopped: Fault | None
    spending: Spending | None


def grade_batch(
    items: Iterable[Received | Rejection],
    services: Services,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> BatchOutcome:
    """Grade `items`, resuming whatever an earlier run of the same batch left.

    Ctrl-C stops it cleanly: what is finished is kept, and the same call goes on from there.

    Raises:
        SandboxError: If this machine can no longer run submissions.
        StoreError: If the store can no longer keep results.
    """
    batch, planned = _open(items, services)
    store, ids = services.store, [plan.grading.id for plan in planned]
    todo = list_unfinished(planned, store, ask_again=not store.is_batch_closed(batch.id))
    interrupted = False
    stopped: Fault | None = None
    try:
        if todo:
            stopped = advance(todo, services, on_progress=on_progress)
        resume_decided(services)
    except KeyboardInterrupt:
        interrupted = True
    store.flush()
    if not interrupted and stopped is None and not store.is_batch_closed(batch.id):
        store.close_batch(batch.id)
        store.snapshot()
    after = list(store.finished(ids).values())
    return BatchOutcome(
        batch_id=batch.id,
        total=len(ids),
        computed=len(todo),
        unchanged=len(ids) - len(todo),
        graded=after.count("graded"),
        waiting=after.count("waiting"),
        held=after.count("held"),
        left=len(ids) - len(after),
        rejections=batch.rejections,
        interrupted=interrupted,
        stopped=stopped,
        spending=services.judge.spending,
    )


def list_unfinished(planned: Iterable[Planned], store: Store, *, ask_again: bool) -> list[Planned]:
    """Return the distinct gradings of `planned` that are to be worked on.

    Args:
        planned: Gradings; equal ones count once.
        store: Knows how far each has come.
        ask_again: Whether those wait in vain that wait for a person only because nobody could be asked for
            a draft, such as for a wrong key.
    """
    distinct = {plan.grading.id: plan for plan in planned}
    state = store.finished(distinct)
    waiting = [name for name, where in state.items() if where == "waiting"]
    again = store.list_unanswered(waiting) if ask_again and waiting else set()
    return [
        plan
        for name, plan in distinct.items()
        if name in again or state.get(name) not in ("graded", "waiting")
    ]


def register(submissions: Sequence[Submission], services: Services) -> list[Planned]:
    """Plan the grading of each submission, and keep everything that shapes it before any work is done.

    Returns:
        One plan per submission, in their order; equal submissions have equal plans.
    """
    services.refresh()
    planned = [Planned(services.plan(submission), submission) for submission in submissions]
    gradings = [plan.grading for plan in planned]
    fingerprints = {grading.fingerprint.content_hash(): grading.fingerprint for grading in gradings}
    tasks = {submission.task_id for submission in submissions}
    services.library.keep_documents(tasks, list(fingerprints.values()))
    services.store.save_submissions(submissions)
    services.store.save_gradings(gradings)
    return planned


def separate(items: Iterable[Received | Rejection]) -> tuple[list[Received], list[Rejection]]:
    """Return the submissions among `items`, and what is none."""
    received: list[Received] = []
    rejections: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections.append(item)
        else:
            received.append(item)
    return received, rejections


def open_batch(
    received: Sequence[Received],
    rejections: Sequence[Rejection],
    planned: Sequence[Planned],
    services: Services,
) -> Batch:
    """Keep where submissions came from, and who wrote them; what was kept before stays as it was.

    Args:
        received: The submissions.
        rejections: What was handed in with them and is none.
        planned: The plan of each submission, in their order.
        services: Keep it, and route by it.
    """
    gradings = {plan.grading.id for plan in planned}
    # Only what names authors: batches of earlier releases, which had none, keep their ids.
    authors = {
        f"{plan.grading.id} {item.author}"
        for item, plan in zip(received, planned, strict=True)
        if item.author
    }
    rejected = (f"{rejection.origin} {rejection.fault.code}" for rejection in rejections)
    batch = Batch(
        id="b-" + hash_text(*sorted(gradings), *rejected, *sorted(authors))[:16],
        opened_at=datetime.now(UTC),
        items=tuple(
            BatchItem(
                grading_id=plan.grading.id,
                submission_id=plan.submission.id,
                origin=item.origin,
                author=item.author,
            )
            for item, plan in zip(received, planned, strict=True)
        ),
        rejections=tuple(rejections),
    )
    services.store.open_batch(batch)
    services.deciding.note_sources(batch.items)
    return batch


def _open(items: Iterable[Received | Rejection], services: Services) -> tuple[Batch, list[Planned]]:
    received, rejections = separate(items)
    planned = register([item.submission for item in received], services)
    batch = open_batch(received, rejections, planned, services)
    return batch, list({plan.grading.id: plan for plan in planned}.values())
