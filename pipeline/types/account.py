"""Who works at the review desk, and what they may do there."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from pipeline.types.model import Frozen

__all__ = ["Account", "Role", "Token"]


class Role(StrEnum):
    """What somebody may do: each role also has a row in `pipeline.review.permissions`."""

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    LEAD = "lead"
    VIEWER = "viewer"


class Account(Frozen):
    """One person at the desk; the newest record under a name counts."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._@-]{0,63}$")
    role: Role
    display: str = Field(default="", max_length=100)
    password: str = ""
    """Argon2 hash; empty where a proxy says who somebody is, or before a password is set."""
    skills: tuple[str, ...] = ()
    """Ids or families of tasks that this person reviews; empty for all."""
    conflicts: tuple[str, ...] = ()
    """Pseudonyms of authors whose work this person does not see."""
    hours_tonight: float | None = Field(default=None, ge=0, le=24)
    active: bool = True


class Token(Frozen):
    """A key to the HTTP API; only its hash is kept."""

    sha256: str
    account: str
    label: str = Field(max_length=100)
    issued_at: datetime
    revoked: bool = False
