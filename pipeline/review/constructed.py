"""Constructed labels: the levels that tasks give their own solutions, as labels of their gradings.

They are written from rubric and code by whoever wrote the task, and are no evidence of quality: they show
that calibration works, and nothing that rests on them may stand alone. They are read from the tasks each time
they are asked for, so that no store, export or statistic of experts' labels ever holds one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pipeline.library.levels import LEVELS_FILE
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks
from pipeline.review.labels import Label
from pipeline.store import Store
from pipeline.types import Rubric, Submission, Task

__all__ = ["RATER", "constructed_labels"]

#: Who the labels are said to be by.
RATER: Final = "the task's author"
#: Nobody knows when they were thought of, and labels are the same every time they are asked for.
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


def constructed_labels(store: Store, root: Path | None = None) -> Iterator[Label]:
    """Yield labels for every grading of a shipped solution in `store`; what checks settle has none.

    Args:
        store: Only read.
        root: Folder of the tasks; those that come with the grader by default.

    Raises:
        TaskError: If a task cannot be loaded.
        LibraryError: If this installation holds no tasks.
    """
    folder = root or tasks_root()
    rubrics: dict[str, Rubric | None] = {}
    for task in load_tasks(folder).values():
        named = _named_rubric(folder / task.id / LEVELS_FILE)
        if named is not None:
            yield from _of_task(store, task, named, rubrics)


def _of_task(store: Store, task: Task, named: str, rubrics: dict[str, Rubric | None]) -> Iterator[Label]:
    for solution in task.solutions:
        submission_id = Submission.identify(task.id, solution.code.encode())
        for grading_id in store.list_gradings_of(submission_id):
            sha256 = store.load_grading(grading_id).fingerprint.rubric
            rubric = _find_rubric(store, sha256, rubrics)
            # Levels of one version say nothing about the anchors of another.
            if rubric is None or f"{rubric.id} {rubric.version}" != named:
                continue
            for criterion in rubric.criteria:
                given = solution.levels.get(criterion.id)
                if given is None or criterion.check is not None:
                    continue
                yield Label(
                    review_id="",
                    slot=None,
                    grading_id=grading_id,
                    submission_id=submission_id,
                    task_id=task.id,
                    rubric=sha256,
                    criterion=criterion.id,
                    state="judged",
                    level=given.level,
                    reason=given.reason,
                    rater=RATER,
                    source="constructed",
                    purpose=None,
                    sampling="route",
                    probability=None,
                    seconds=None,
                    at=_NO_TIME,
                )


def _named_rubric(path: Path) -> str | None:
    return str(tomllib.loads(path.read_text())["rubric"]) if path.is_file() else None


def _find_rubric(store: Store, sha256: str, known: dict[str, Rubric | None]) -> Rubric | None:
    if sha256 not in known:
        document = store.find_document(sha256)
        known[sha256] = Rubric.model_validate_json(document.text) if document is not None else None
    return known[sha256]
