"""Editorial changes of rubrics that a lead signed: what was said under one version counts under the next.

Whether a change is editorial is said when the version is locked, and holds only where nothing but words
differ (`pipeline.library.rubric_revisions`). That the words mean the same is for a lead to say: the sign-off
is a record of the store, and labels, certificates and waiting reviews follow it. A semantic change has no
such record and connects nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final
from weakref import WeakKeyDictionary

from pydantic import Field

from pipeline.library.rubric_revisions import RubricRevision
from pipeline.review.errors import DeskError
from pipeline.review.labels import Label
from pipeline.review.permissions import Permission, may
from pipeline.store import Document, Store
from pipeline.types import Account, Frozen, Rubric

__all__ = [
    "RubricSuccession",
    "Successions",
    "carry_over",
    "find_signature",
    "read_successions",
    "rubric_root",
    "sign_revision",
]

_KIND: Final = "rubric_succession"
_ACCOUNT: Final = "account"
_LONGEST_REASON: Final = 2000

#: Two leads at one desk may press the button together: the second is to find the first one's signature.
_SIGNING: Final = threading.Lock()

#: How old, in seconds, sign-offs in memory may be: another process signs them too.
_FRESH: Final = 3.0


class RubricSuccession(Frozen):
    """That a lead holds a version of a rubric to mean what an earlier one means."""

    rubric: str
    """Id of the rubric."""
    version: str
    after: str
    """The earlier version."""
    sha256: str
    """Content hash of `version`."""
    after_sha256: str
    """Content hash of `after`."""
    lead: str
    """Name of the account that signed."""
    reason: str = Field(default="", max_length=_LONGEST_REASON)
    at: datetime


class Successions:
    """Every sign-off of one store, as it was when it was read."""

    def __init__(self, signed: Iterable[RubricSuccession] = ()) -> None:
        self._before: dict[str, RubricSuccession] = {one.sha256: one for one in signed}
        self._next: dict[str, list[RubricSuccession]] = {}
        for one in sorted(self._before.values(), key=lambda one: one.at):
            self._next.setdefault(one.after_sha256, []).append(one)

    def __len__(self) -> int:
        return len(self._before)

    def root(self, sha256: str) -> str:
        """Return the oldest version that signed changes connect `sha256` with; itself where there is none."""
        seen = {sha256}
        while (earlier := self._before.get(sha256)) is not None and earlier.after_sha256 not in seen:
            sha256 = earlier.after_sha256
            seen.add(sha256)
        return sha256

    def wording(self, sha256: str, at: datetime) -> str:
        """Return the version whose words stood for those of `sha256` at a time, the newest of them."""
        seen = {sha256}
        while True:
            newer = [one for one in self._next.get(sha256, ()) if one.at <= at and one.sha256 not in seen]
            if not newer:
                return sha256
            sha256 = newer[-1].sha256
            seen.add(sha256)


def read_successions(store: Store) -> Successions:
    """Return every sign-off in `store`, as of now."""
    return Successions(store.desk.list_records(_KIND, RubricSuccession))


_KNOWN: WeakKeyDictionary[Store, tuple[float, Successions]] = WeakKeyDictionary()


def rubric_root(store: Store, sha256: str) -> str:
    """Return the content hash of the oldest version that `sha256` means the same as; mostly itself.

    What another process signed counts within three seconds.
    """
    return _recall(store).root(sha256)


def carry_over(store: Store, labels: Iterable[Label]) -> list[Label]:
    """Return `labels` with the roots of their rubrics: those of versions that mean the same count as one."""
    successions = _recall(store)
    carried = []
    for label in labels:
        root = successions.root(label.rubric)
        carried.append(label if root == label.rubric else label.model_copy(update={"rubric": root}))
    return carried


def find_signature(store: Store, revision: RubricRevision) -> RubricSuccession | None:
    """Return the sign-off of a change, or None."""
    return store.desk.find_record(_KIND, revision.after.content_hash(), RubricSuccession)


def sign_revision(
    store: Store,
    revision: RubricRevision,
    *,
    lead: str,
    reason: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> RubricSuccession:
    """Keep that `lead` holds an editorial change to change no meaning; committed on return.

    Raises:
        LibraryError: If the change is not editorial.
        DeskError: ``invalid`` if it was signed already, `lead` is no active account of a lead, or the reason
            is too long.
    """
    revision.require_editorial()
    _require_lead(store, lead)
    reason = reason.strip()
    if len(reason) > _LONGEST_REASON:
        raise DeskError(
            "invalid",
            f"the reason has {len(reason)} characters; at most {_LONGEST_REASON} are kept",
            "say it in fewer words",
        )
    signed = RubricSuccession(
        rubric=revision.after.id,
        version=revision.after.version,
        after=revision.before.version,
        sha256=revision.after.content_hash(),
        after_sha256=revision.before.content_hash(),
        lead=lead,
        reason=reason,
        at=clock(),
    )
    with _SIGNING:
        _require_unsigned(store, revision)
        store.save_documents([_document(revision.before), _document(revision.after)])
        store.desk.vouch(_KIND, signed.sha256, signed)
    _KNOWN.pop(store, None)
    return signed


def _require_unsigned(store: Store, revision: RubricRevision) -> None:
    known = find_signature(store, revision)
    if known is not None:
        raise DeskError(
            "invalid",
            f"{known.rubric} {known.version} was signed already, by {known.lead}"
            f" on {known.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            "there is nothing left to do",
        )


def _require_lead(store: Store, name: str) -> None:
    account = store.desk.find_record(_ACCOUNT, name, Account)
    if account is None:
        raise DeskError(
            "invalid", f"there is no account {name!r}", "nki-grader accounts list shows everybody"
        )
    if not account.active:
        raise DeskError("invalid", f"the account {name} is not active", "ask a lead whose account is")
    if not may(account.role, Permission.MANAGE):
        raise DeskError("invalid", f"{name} is a {account.role.value}; only a lead signs", "ask a lead")


def _recall(store: Store) -> Successions:
    now = time.monotonic()
    known = _KNOWN.get(store)
    if known is None or now - known[0] > _FRESH:
        known = _KNOWN[store] = now, read_successions(store)
    return known[1]


def _document(rubric: Rubric) -> Document:
    return Document(
        kind="rubric",
        id=rubric.id,
        version=rubric.version,
        sha256=rubric.content_hash(),
        text=rubric.model_dump_json(),
    )
