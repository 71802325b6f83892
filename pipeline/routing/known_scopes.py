"""The scopes that a store holds drafts of: which judge drafted what, and how much of it people labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.errors import GraderError
from pipeline.review.labels import read_labels
from pipeline.review.rubric_succession import rubric_root
from pipeline.routing.calibration_result import ScopeNames
from pipeline.store import DraftPlace, Store
from pipeline.types import Fault, Owner, Scope

__all__ = ["KnownScope", "find_scope", "list_scopes", "name_scope"]


@dataclass(frozen=True, slots=True)
class KnownScope:
    """A scope and its gradings.

    Attributes:
        scope: What all of them were made by.
        names: That in words.
        members: The newest first; gradings that differ only in what follows a draft are all there.
        labelled: Submissions among them that somebody labelled under this rubric.
    """

    scope: Scope
    names: ScopeNames
    members: tuple[DraftPlace, ...]
    labelled: int

    @property
    def sha256(self) -> str:
        """What it is listed and asked for by."""
        return self.scope.content_hash()


def list_scopes(store: Store) -> list[KnownScope]:
    """Return the scopes of all gradings in `store`, the one that graded last first."""
    members: dict[Scope, list[DraftPlace]] = {}
    for place in reversed(store.drafts.list_places()):
        members.setdefault(Scope.of(place.made), []).append(place)
    labelled: dict[str, set[str]] = {}
    for label in read_labels(store):
        labelled.setdefault(rubric_root(store, label.rubric), set()).add(label.submission_id)
    return [
        KnownScope(
            scope=scope,
            names=name_scope(store, scope),
            members=tuple(found),
            labelled=_count_labelled(found, labelled, rubric_root(store, scope.rubric)),
        )
        for scope, found in members.items()
    ]


def find_scope(known: list[KnownScope], prefix: str) -> KnownScope:
    """Return the one of `known` whose hash begins with `prefix`.

    Raises:
        GraderError: ``unknown_id`` if none does, ``ambiguous_id`` if several do.
    """
    found = [scope for scope in known if prefix and scope.sha256.startswith(prefix.lower())]
    if len(found) == 1:
        return found[0]
    code = "ambiguous_id" if found else "unknown_id"
    what = f"{len(found)} scopes begin" if found else "no scope begins"
    raise GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code=code,
            message=f"{what} with {prefix[:64]!r}",
            remedy="nki-grader judge list shows all of them",
        )
    )


def name_scope(store: Store, scope: Scope) -> ScopeNames:
    """Return `scope` in words."""
    return ScopeNames(
        judge=scope.judge,
        rubric=_name_document(store, scope.rubric),
        prompt=_name_document(store, scope.prompt),
        runs_on=f"{scope.executor}, {scope.target}, NKI {scope.toolchain}",
    )


def _name_document(store: Store, sha256: str) -> str:
    document = store.find_document(sha256)
    if document is None:
        return sha256[:12]
    return f"{document.id} {document.version}".strip()


def _count_labelled(found: list[DraftPlace], labelled: Mapping[str, set[str]], rubric: str) -> int:
    return len({member.submission_id for member in found} & labelled.get(rubric, set()))
