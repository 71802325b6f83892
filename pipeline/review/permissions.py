"""Which role may do what. Every action at the desk names its permission, and the server asks here."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pipeline.types import Role

__all__ = ["PERMISSIONS", "Permission", "may"]


class Permission(StrEnum):
    """One thing somebody may do."""

    REVIEW = "review"  # draw items, assess them, finish them
    ADJUDICATE = "adjudicate"  # decide between assessments that differ
    SEE_HISTORY = "see_history"  # timelines of items; of open ones only without what would anchor
    SEE_PROGRESS = "see_progress"  # progress and agreement, in aggregate
    SEE_BATCHES = "see_batches"  # the figures of batches
    EXPORT = "export"  # labels and timesheets of everybody
    UNBLIND = "unblind"  # be told who wrote a submission
    MANAGE = "manage"  # accounts, settings, gold items, norming, release


_EVERYBODY: Final = frozenset({Permission.SEE_BATCHES, Permission.SEE_PROGRESS})

PERMISSIONS: Final[dict[Role, frozenset[Permission]]] = {
    Role.VIEWER: _EVERYBODY,
    Role.REVIEWER: frozenset({Permission.SEE_BATCHES, Permission.REVIEW, Permission.SEE_HISTORY}),
    Role.ADJUDICATOR: frozenset(
        {Permission.SEE_BATCHES, Permission.REVIEW, Permission.ADJUDICATE, Permission.SEE_HISTORY}
    ),
    Role.LEAD: frozenset(Permission),
}


def may(role: Role, permission: Permission) -> bool:
    """Whether `role` has `permission`."""
    return permission in PERMISSIONS[role]
