"""What commands that grade have in common: settings from options, and bad input refused early."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.judge import check_judge
from pipeline.library.policies import load_policy
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.tasks import load_tasks
from pipeline.types import Fault, Owner, Task

__all__ = ["check_task", "read_settings"]


def read_settings(options: Mapping[str, Any], *, sending: bool = True) -> Settings:
    """Return the settings that the options of `pipeline.cli.options.grading_options` ask for.

    Args:
        options: By name.
        sending: Whether a judge is going to be asked anything.

    Raises:
        GraderError: If there is no such judge, or it is not set up as it should be.
        LibraryError: If a rubric, a policy or a version of one does not exist, or was changed after it was
            published.
    """
    for name, version in options["rubric_versions"].items():
        load_rubric(name, version, root=options["rubrics_root"])
    load_policy(options.get("policy"), root=options.get("policies_root"))
    named = {name.removesuffix("_root"): value for name, value in options.items()}
    # Settings knows how many workers there are when nobody says.
    settings = Settings(
        **{name: value for name, value in named.items() if name != "workers" or value is not None}
    )
    check_judge(settings, sending=sending)
    return settings


def check_task(settings: Settings, task_id: str | None) -> dict[str, Task]:
    """Return the tasks that may be graded for; with `task_id`, make sure that it is one of them.

    Raises:
        TaskError: If a task folder is broken.
        GraderError: If no task is called `task_id`.
    """
    tasks = load_tasks(settings.tasks or tasks_root())
    if task_id is not None and task_id not in tasks:
        raise unknown_task(task_id, tasks)
    return tasks


def unknown_task(task_id: str, tasks: Mapping[str, Task]) -> GraderError:
    """Return the error for a task that does not exist."""
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="unknown_task",
            message=f"no task is called {task_id!r}",
            remedy=f"choose from: {', '.join(tasks)}" if tasks else "give the folder of tasks with --tasks",
        )
    )
