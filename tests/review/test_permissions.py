"""Who may do what, as a table that a person can check."""

from __future__ import annotations

import pytest

from pipeline.review.permissions import PERMISSIONS, Permission, may
from pipeline.types import Role

#: Written by hand from the issue: roles in the order viewer, reviewer, adjudicator, lead.
TABLE = {
    Permission.REVIEW: "-xxx",
    Permission.ADJUDICATE: "--xx",
    Permission.SEE_HISTORY: "-xxx",
    Permission.SEE_PROGRESS: "x--x",
    Permission.SEE_BATCHES: "xxxx",
    Permission.EXPORT: "---x",
    Permission.UNBLIND: "---x",
    Permission.MANAGE: "---x",
}
ROLES = (Role.VIEWER, Role.REVIEWER, Role.ADJUDICATOR, Role.LEAD)


def test_the_table_is_complete() -> None:
    assert set(TABLE) == set(Permission)
    assert set(ROLES) == set(Role) == set(PERMISSIONS)


@pytest.mark.parametrize("permission", list(Permission))
def test_each_role_may_what_the_table_says(permission: Permission) -> None:
    assert "".join("x" if may(role, permission) else "-" for role in ROLES) == TABLE[permission]
