"""A queue of any length for the desk's benchmark, out of a few gradings that were really made.

Every item is a submission, a grading, its stages, its route and its review of its own, as if it had been
graded; they differ by a comment, so that nothing is kept once for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.config import Settings
from pipeline.execute.sandbox import probe_levels
from pipeline.graph.batch import grade_batch
from pipeline.graph.keys import StageKeys
from pipeline.graph.services import open_services
from pipeline.library.roots import tasks_root
from pipeline.library.submissions import Received, admit_code
from pipeline.library.tasks import load_tasks
from pipeline.review.accounts import Accounts
from pipeline.review.queue import enqueue
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Account,
    Batch,
    BatchItem,
    Grading,
    Role,
    Route,
    Submission,
    Task,
)

__all__ = ["LEAD", "PASSWORD", "hire", "make_queue", "write_batch"]

#: Small tasks, so that making the originals takes seconds.
TASKS = ("softmax_rows", "transpose", "cumsum")
PASSWORD = "correct horse battery staple"
LEAD = "lead"
_AUTHORS = 40
_AT_ONCE = 500


class Original(NamedTuple):
    """A grading that was really made and waits for a person."""

    submission: Submission
    grading: Grading
    route: Route
    stages: list[StageRecord]


def make_queue(store: Store, count: int, tasks: Sequence[str] = TASKS) -> None:
    """Put `count` items, out of gradings for `tasks`, into the queue of `store` and into one batch."""
    originals = _grade_originals(store, tasks)
    items: list[BatchItem] = []
    for first in range(0, count, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, count))
        items += _copy(store, originals, numbers)
        store.flush()
    store.open_batch(Batch(id="b-queue", opened_at=datetime.now(UTC), items=tuple(items)))


def hire(store: Store, reviewers: int) -> tuple[list[str], str]:
    """Add people: reviewers, every tenth an adjudicator, and `LEAD`; return names and the lead's token."""
    accounts = Accounts(store)
    roles = {
        f"reviewer{number:02d}": Role.ADJUDICATOR if number % 10 == 9 else Role.REVIEWER
        for number in range(reviewers)
    }
    for name, role in {**roles, LEAD: Role.LEAD}.items():
        lead = accounts.create(Account(name=name, role=role), PASSWORD)
    return [*roles, LEAD], accounts.issue_token(lead, "benchmark")


def write_batch(path: Path, count: int) -> None:
    """Write `count` distinct small submissions, one a row."""
    tasks = load_tasks(tasks_root())
    originals = [(name, _good_codes(tasks[name])[0]) for name in TASKS]
    with path.open("w") as file:
        for number in range(count):
            task_id, code = originals[number % len(originals)]
            row = {"task": task_id, "code": f"{code}\n# submission {number} of the batch\n"}
            file.write(json.dumps(row) + "\n")


def _good_codes(task: Task) -> list[str]:
    return [solution.code for solution in task.solutions if solution.name.startswith("good")]


def _grade_originals(store: Store, tasks: Sequence[str]) -> list[Original]:
    settings = Settings(allow_unsandboxed=not any(probe.available for probe in probe_levels()))
    with open_services(store, settings) as services:
        received = [
            Received(f"original/{name}.py", admit_code(services.library.tasks[name], code.encode()))
            for name in tasks
            for code in _good_codes(services.library.tasks[name])[:2]
        ]
        grade_batch(received, services)
    originals = []
    for state in store.list_reviews():
        grading = store.load_grading(state.review.grading_id)
        route = store.load_route(grading.id)
        found = [store.find_stage(stage, key) for stage, key in store.list_stages(grading.id).items()]
        if route is not None:
            stages = [record for record in found if record is not None]
            originals.append(Original(store.load_submission(grading.submission_id), grading, route, stages))
    if not originals:
        raise RuntimeError("no original waits for a person: there is nothing to fill the queue with")
    return originals


def _copy(store: Store, originals: Sequence[Original], numbers: range) -> list[BatchItem]:
    items = []
    for number in numbers:
        original = originals[number % len(originals)]
        # At the end, so that lines which findings and citations name stay where they are.
        code = f"{original.submission.code}\n# item {number} of the queue\n"
        task_id = original.submission.task_id
        submission = Submission(id=Submission.identify(task_id, code.encode()), task_id=task_id, code=code)
        fingerprint = original.grading.fingerprint
        grading = Grading(
            id=fingerprint.grading_id(submission.id), submission_id=submission.id, fingerprint=fingerprint
        )
        keys = StageKeys.derive(grading, submission).as_dict()
        store.save_submissions([submission])
        store.save_gradings([grading])
        for record in original.stages:
            store.record_stage(record.model_copy(update={"key": keys[record.stage]}))
        enqueue(store, grading, original.route, keys)
        origin = f"authors/{number % _AUTHORS:02d}/{number}.py"
        items.append(BatchItem(grading_id=grading.id, submission_id=submission.id, origin=origin))
    return items
