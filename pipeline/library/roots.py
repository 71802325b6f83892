"""Where tasks, rubrics, prompts and policies lie: in the installed wheel, else in the checkout."""

from __future__ import annotations

from pathlib import Path

from pipeline.library.errors import LibraryError
from pipeline.types import Fault, Owner

__all__ = ["policies_root", "prompts_root", "rubrics_root", "tasks_root"]

_PACKAGE = Path(__file__).resolve().parent.parent


def tasks_root() -> Path:
    """Return the folder that holds one folder per task.

    Raises:
        LibraryError: If neither the package nor a checkout around it has one.
    """
    return _find("tasks", "data/tasks")


def rubrics_root() -> Path:
    """Return the folder that holds one folder per rubric and their lock file.

    Raises:
        LibraryError: If neither the package nor a checkout around it has one.
    """
    return _find("rubrics", "rubrics")


def prompts_root() -> Path:
    """Return the folder that holds one folder per prompt and their lock file.

    Raises:
        LibraryError: If neither the package nor a checkout around it has one.
    """
    return _find("prompts", "prompts")


def policies_root() -> Path:
    """Return the folder that holds one folder per routing policy and their lock file.

    Raises:
        LibraryError: If neither the package nor a checkout around it has one.
    """
    return _find("policies", "data/policies")


def _find(bundled: str, in_checkout: str) -> Path:
    # The bundle first: beside an installed package a folder called "prompts" can be anybody's.
    for root in (_PACKAGE / "bundle" / bundled, _PACKAGE.parent / in_checkout):
        if root.is_dir():
            return root
    raise LibraryError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="incomplete_installation",
            message=f"this installation holds no {bundled}",
            where=f"bundle/{bundled}",
            remedy="install the wheel again, or run from a complete checkout",
        )
    )
