"""Finding things in a database by what a person types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pipeline.errors import GraderError
from pipeline.store import GradingSummary, ReviewState, Store, open_store
from pipeline.types import Fault, Owner

__all__ = ["echo_notices", "find_batch", "find_review", "find_summary", "not_found", "open_existing"]


@contextmanager
def open_existing(database: Path, *, read_only: bool = True) -> Iterator[Store]:
    """Open a database that must be there: looking something up never creates one.

    Raises:
        GraderError: If there is no such file.
        StoreError: If it cannot be opened.
    """
    if not database.exists():
        raise not_found(
            f"there is no database {database}", "grade something first, or give its path with --db"
        )
    with open_store(database, read_only=read_only) as store:
        yield store


def echo_notices(store: Store) -> None:
    """Say on standard error what opening the database found, such as the age of a snapshot."""
    for notice in store.notices:
        click.echo(f"note: {notice}", err=True)


def find_summary(store: Store, identifier: str) -> GradingSummary:
    """Return the grading that `identifier` means: a grading, the latest of a submission, or that of a review.

    Raises:
        GraderError: If it is a batch.
        StoreError: If nothing, or more than one thing, begins with it.
    """
    found = store.resolve(identifier)
    if found.startswith("g-"):
        return store.load_summary(found)
    if found.startswith("r-"):
        return store.load_summary(store.load_review(found).review.grading_id)
    if found.startswith("s-"):
        return store.load_summary(store.list_gradings_of(found)[0])
    raise not_found(f"{found} is a batch", f"nki-grader report {found} shows it whole")


def find_review(store: Store, identifier: str) -> ReviewState:
    """Return the review that `identifier` means: itself, or the latest of a grading or submission.

    Raises:
        GraderError: If no person was asked about it.
        StoreError: If nothing, or more than one thing, begins with it.
    """
    found = store.resolve(identifier)
    if found.startswith("r-"):
        return store.load_review(found)
    summary = find_summary(store, found)
    reviews = store.list_reviews_of(summary.grading_id)
    if not reviews:
        raise not_found(f"no person was asked about {found}", "nki-grader review list shows what waits")
    return reviews[-1]


def find_batch(store: Store, identifier: str | None) -> str:
    """Return the id of the batch that `identifier` means; the latest one without it.

    Raises:
        GraderError: If there is no batch, or it is something else.
        StoreError: If nothing, or more than one thing, begins with it.
    """
    if identifier is None:
        batches = store.list_batches(limit=1)
        if not batches:
            raise not_found("the database holds no batch yet", "grade something first")
        return batches[0].id
    found = store.resolve(identifier)
    if not found.startswith("b-"):
        raise not_found(f"{found} is no batch", f"nki-grader show {found} shows it")
    return found


def not_found(message: str, remedy: str) -> GraderError:
    """Return the error for something a person asked for that is not there."""
    return GraderError(Fault(owner=Owner.ENVIRONMENT, code="not_found", message=message, remedy=remedy))
