"""The register of certificates: what is in force, what was refused, replaced or taken back.

One calibration of a scope for a policy is put in as one record, so that either all of it is in force or none.
Whatever replaces it stands beside it: a grade's reason can be looked up for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline.errors import GraderError
from pipeline.routing.splits import root_of
from pipeline.store import Store
from pipeline.types import Calibrator, Certificate, Fault, Frozen, Owner, Scope

__all__ = ["Kept", "Register", "explain_void"]

_KIND: Final = "certificates"
_REVOKED: Final = "certificate_revoked"
_SHORTEST: Final = 6

#: What each part of a scope is called where it changed.
_PARTS: Final = {
    "rubric": "the rubric",
    "prompt": "the prompt",
    "judge": "the judge",
    "executor": "the executor",
    "target": "the target",
    "toolchain": "the toolchain",
    "numerics": "the numerics libraries",
    "comparison": "the comparison",
    "checks": "the checks",
}


class Kept(Frozen):
    """A certificate, or a refusal, with what became of it."""

    certificate: Certificate
    calibrator: Calibrator | None
    """Whose probabilities its threshold is for; None where labels supported none."""
    put_at: datetime
    revoked_at: datetime | None = None
    revoked_by: str = ""
    revoked_because: str = ""


class _Issue(Frozen):
    """What one calibration put in."""

    calibrator: Calibrator | None
    certificates: tuple[Certificate, ...]
    put_at: datetime

    @property
    def scope(self) -> Scope:
        return self.calibrator.scope if self.calibrator is not None else self.certificates[0].scope

    @property
    def policy(self) -> str:
        return self.certificates[0].policy if self.certificates else ""

    @property
    def says(self) -> list[Certificate]:
        return _says(self.certificates)


class _Revocation(Frozen):
    """That a certificate was taken back: it, and whatever says the same, whenever that is issued."""

    certificate: str
    """Content hash."""
    says: str = ""
    """Content hash of what it says; empty where an earlier release kept it."""
    by: str
    reason: str
    at: datetime


class Register:
    """The certificates of one store.

    Scopes whose rubrics differ in words only, by a change that a lead signed, are one scope here.

    Args:
        store: Where they are kept.
        clock: For tests.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._clock = clock

    def put(self, calibrator: Calibrator | None, certificates: Sequence[Certificate]) -> None:
        """Put in force what one calibration came to; committed on return.

        It replaces what the scope had for the same policy, also where it certifies nothing. What differs from
        that in nothing but when and by whom it was issued changes nothing: it is the very same certificate.

        Raises:
            ValueError: If there is nothing to put, or the certificates are not of one policy, of the
                calibrator's scope and on its probabilities.
        """
        if calibrator is None and not certificates:
            raise ValueError("there is neither a calibrator nor a certificate to put in force")
        scopes = {certificate.scope for certificate in certificates}
        scopes |= {calibrator.scope} if calibrator is not None else set()
        named = calibrator.content_hash() if calibrator is not None else ""
        if len(scopes) != 1 or len({certificate.policy for certificate in certificates}) > 1:
            raise ValueError("what is put in force together must be of one scope and one policy")
        if any(certificate.calibrator != named for certificate in certificates):
            raise ValueError("a certificate is not on the probabilities of this calibrator")
        known = self._find(next(iter(scopes)), certificates[0].policy) if certificates else None
        if known is not None and known.calibrator == calibrator and known.says == _says(certificates):
            return
        # Later than all others, whatever the clock says: the latest counts.
        newest = max((issue.put_at for issue in self._list()), default=None)
        at = self._clock()
        if newest is not None and at <= newest:
            at = newest + timedelta(microseconds=1)
        issue = _Issue(calibrator=calibrator, certificates=tuple(certificates), put_at=at)
        self._store.desk.vouch(_KIND, issue.content_hash(), issue)

    def calibrator_for(self, scope: Scope, policy: str | None = None) -> Calibrator | None:
        """Return the calibrator that is in force.

        Args:
            scope: Of the draft.
            policy: Content hash of a policy whose calibrator is wanted; by default the newest of any.
        """
        issue = self._find(scope, policy)
        return issue.calibrator if issue is not None else None

    def in_force(self, scope: Scope, policy: str) -> dict[str, Certificate]:
        """Return, by criterion, what lets grades of a scope stand alone under a policy.

        A threshold is one on the probabilities of `Certificate.calibrator` and means nothing beside another
        calibrator's.

        Args:
            scope: Of the draft.
            policy: Content hash of the policy.
        """
        issue = self._find(scope, policy)
        revoked = self._list_revoked()
        return {
            certificate.criterion: certificate
            for certificate in (issue.certificates if issue is not None else ())
            if certificate.threshold is not None and _find_taken(certificate, revoked) is None
        }

    def list_all(self) -> list[Kept]:
        """Return every certificate and every refusal, the newest first."""
        revoked = self._list_revoked()
        return [
            _keep(issue, certificate, _find_taken(certificate, revoked))
            for issue in sorted(self._list(), key=lambda issue: issue.put_at, reverse=True)
            for certificate in issue.certificates
        ]

    def find(self, name: str) -> Kept:
        """Return a certificate or a refusal.

        Args:
            name: Its content hash, or the beginning of it: at least 6 characters that no other begins with.

        Raises:
            GraderError: ``unknown_certificate`` if `name` is no certificate's, or that of several.
        """
        found = {
            kept.certificate.content_hash(): kept
            for kept in reversed(self.list_all())
            if len(name) >= _SHORTEST and kept.certificate.content_hash().startswith(name)
        }
        if len(found) != 1:
            raise _refuse(
                "unknown_certificate",
                f"{len(found) or 'no'} certificates have a hash that begins with {name[:64]!r}",
                f"give at least {_SHORTEST} characters of the hash of one that is listed",
            )
        (kept,) = found.values()
        return kept

    def revoke(self, name: str, *, by: str, reason: str) -> Kept:
        """Take a certificate back for good, and return it; one that was taken back stays as it is.

        Args:
            name: Its content hash, or the beginning of it: at least 6 characters that no other begins with.
            by: Who takes it back.
            reason: Why.

        Raises:
            GraderError: ``unknown_certificate`` if `name` is no certificate's, or that of several;
                ``no_reason`` if who or why is missing.
        """
        if not by.strip() or not reason.strip():
            raise _refuse("no_reason", "a certificate is taken back by somebody, for a reason", "give both")
        kept = self.find(name)
        if kept.revoked_at is None:
            sha256 = kept.certificate.content_hash()
            (said,) = _says([kept.certificate])
            taken = _Revocation(
                certificate=sha256, says=said.content_hash(), by=by, reason=reason, at=self._clock()
            )
            self._store.desk.vouch(_REVOKED, sha256, taken)
            return kept.model_copy(
                update={"revoked_at": taken.at, "revoked_by": by, "revoked_because": reason}
            )
        return kept

    def explain_void(self, certificate: Certificate, scope: Scope) -> str | None:
        """Do as the function of that name, taking rubrics that differ in words only for one."""
        moved = certificate.model_copy(update={"scope": root_of(self._store, certificate.scope)})
        return explain_void(moved, root_of(self._store, scope))

    def _find(self, scope: Scope, policy: str | None) -> _Issue | None:
        root = root_of(self._store, scope)
        ours = (
            issue
            for issue in self._list()
            if policy in (None, issue.policy) and root_of(self._store, issue.scope) == root
        )
        return max(ours, key=lambda issue: issue.put_at, default=None)

    def _list(self) -> list[_Issue]:
        return self._store.desk.list_records(_KIND, _Issue)

    def _list_revoked(self) -> dict[str, _Revocation]:
        taken = self._store.desk.list_records(_REVOKED, _Revocation)
        return {name: one for one in taken for name in (one.certificate, one.says) if name}


def explain_void(certificate: Certificate, scope: Scope) -> str | None:
    """Return why a certificate says nothing of drafts of `scope`: what changed, in words.

    None where the scope is the certificate's own.
    """
    changed = [
        words for name, words in _PARTS.items() if getattr(certificate.scope, name) != getattr(scope, name)
    ]
    if not changed:
        return None
    *others, last = changed
    return f"void: {', '.join(others)}{' and ' if others else ''}{last} changed since it was issued"


def _says(certificates: Sequence[Certificate]) -> list[Certificate]:
    """Return certificates without when and by whom they were issued."""
    nobody = {"issued_at": datetime.min.replace(tzinfo=UTC), "issued_by": ""}
    return [certificate.model_copy(update=nobody) for certificate in certificates]


def _find_taken(certificate: Certificate, revoked: Mapping[str, _Revocation]) -> _Revocation | None:
    (said,) = _says([certificate])
    return revoked.get(certificate.content_hash()) or revoked.get(said.content_hash())


def _keep(issue: _Issue, certificate: Certificate, taken: _Revocation | None) -> Kept:
    return Kept(
        certificate=certificate,
        calibrator=issue.calibrator,
        put_at=issue.put_at,
        revoked_at=taken.at if taken else None,
        revoked_by=taken.by if taken else "",
        revoked_because=taken.reason if taken else "",
    )


def _refuse(code: str, message: str, remedy: str) -> GraderError:
    return GraderError(Fault(owner=Owner.ENVIRONMENT, code=code, message=message, remedy=remedy))
