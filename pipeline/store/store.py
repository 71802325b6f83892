"""The typed store: what grading, reviewing and reporting keep and read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from pipeline.store import rows
from pipeline.store.desk import DeskRecords
from pipeline.store.drafts import Drafts
from pipeline.store.errors import StoreError
from pipeline.store.ledger import Ledger
from pipeline.store.records import (
    BatchSummary,
    Document,
    DraftLevel,
    GradingSummary,
    ReviewState,
    StageRecord,
)
from pipeline.store.transport import Command, Insert, Row, Transport
from pipeline.types import Batch, Decision, Grade, Grading, Review, Route, Submission

if TYPE_CHECKING:
    from pipeline.store.checkpoints import StoreSaver

__all__ = ["Store"]

#: More rows than any list has; LIMIT takes no "all" as a parameter.
_NO_LIMIT = 2**62


class Store:
    """One database, the same whether this process owns the file or speaks to the process that does.

    Any number of threads may use it. Writes are queued and committed in groups, in order; a method says so
    where it returns only once its rows are on the disk. Reads see every earlier write of every process.
    """

    path: Path
    """The database file, with every link resolved."""
    notices: list[str]
    """What opening found, one line each: missing rows, decisions brought back, the age of a snapshot."""
    ledger: Ledger
    """Calls to models: what was asked, answered and paid."""
    desk: DeskRecords
    """What the review desk keeps: events, drafts, activity, accounts and settings."""
    drafts: Drafts
    """What facts and judges said, of very many gradings at once."""

    def __init__(self, transport: Transport, path: Path, *, read_only: bool = False) -> None:
        """Use `transport`; `pipeline.store.open_store` is what makes one."""
        self._transport = transport
        self._read_only = read_only
        self.path = path
        self.notices = transport.list_notices()
        self.ledger = Ledger(transport, self._write)
        self.desk = DeskRecords(transport, self._write, self._refuse_if_read_only)
        self.drafts = Drafts(transport)

    @property
    def is_owner(self) -> bool:
        """Whether this process holds the database file."""
        return self._transport.is_owner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit everything and let go of the database; closing twice is harmless."""
        self._transport.close()

    def flush(self) -> None:
        """Return once every earlier write is committed.

        Raises:
            StoreError: If one could not be.
        """
        self._transport.flush()

    # Documents

    def save_documents(self, documents: Sequence[Document]) -> None:
        """Keep the full texts of whatever shaped a grade; known ones are ignored."""
        self._write(rows.document_commands(documents))

    def find_document(self, sha256: str) -> Document | None:
        """Return the text with that hash, or None."""
        found = self._transport.select("document", [sha256])
        if not found:
            return None
        kind, name, version, digest, text = found[0]
        return Document(kind=kind, id=name, version=version, sha256=digest, text=text)

    # Submissions, gradings and batches

    def save_submissions(self, submissions: Sequence[Submission]) -> None:
        """Keep `submissions`; known ones are ignored."""
        self._write(rows.submission_commands(submissions))

    def load_submission(self, submission_id: str) -> Submission:
        """Return a submission.

        Raises:
            KeyError: If it is unknown.
        """
        return Submission.model_validate_json(self._require("submissions", submission_id)[-1])

    def save_gradings(self, gradings: Sequence[Grading]) -> None:
        """Keep `gradings`; known ones are ignored."""
        self._write(rows.grading_commands(gradings))

    def load_grading(self, grading_id: str) -> Grading:
        """Return a grading.

        Raises:
            KeyError: If it is unknown.
        """
        return Grading.model_validate_json(self._require("gradings", grading_id)[-1])

    def open_batch(self, batch: Batch) -> bool:
        """Keep `batch`, committed on return; False when it was known already."""
        if self._transport.find("batches", [batch.id]) is not None:
            return False
        self._write(rows.batch_commands(batch), wait=True)
        return True

    def load_batch(self, batch_id: str) -> Batch:
        """Return a batch.

        Raises:
            KeyError: If it is unknown.
        """
        return Batch.model_validate_json(self._require("batches", batch_id)[-1])

    def close_batch(self, batch_id: str) -> None:
        """Commit everything and journal what the batch came to: row counts, and a hash per grading.

        To be called when every grading of the batch is graded, waits for a person, or is held. Closing again
        what has not changed is harmless.

        Raises:
            StoreError: If the batch is unknown.
        """
        self._refuse_if_read_only()
        self._transport.close_batch(batch_id)

    def is_batch_closed(self, batch_id: str) -> bool:
        """Whether the batch was closed and has lost no rows since."""
        return self._transport.is_batch_closed(batch_id)

    def list_batches(self, limit: int | None = None) -> list[BatchSummary]:
        """Return the newest batches first."""
        return [
            BatchSummary(
                id=name,
                opened_at=opened_at,
                gradings=gradings,
                rejections=rejections,
                closed=self.is_batch_closed(name),
            )
            for name, opened_at, gradings, rejections in self._select("batches", _limit(limit))
        ]

    # The stage memo

    def find_stage(self, stage: str, key: str) -> StageRecord | None:
        """Return what `stage` produced for `key`, also when it is not committed yet, or None."""
        row = self._transport.find("stages", [stage, key])
        return rows.read_stage(row) if row is not None else None

    def record_stage(self, record: StageRecord) -> None:
        """Keep what a stage produced; equal keys mean equal outputs, so the first record of a key stays."""
        self._write(rows.stage_commands(record))

    def link_stages(self, grading_id: str, keys: Mapping[str, str]) -> None:
        """Say which records belong to a grading: stage to key, in the order of the stages.

        Of several keys for one stage the last one linked counts.
        """
        self._write([Insert("stage_links", [(grading_id, stage, key) for stage, key in keys.items()])])

    def list_stages(self, grading_id: str) -> dict[str, str]:
        """Return stage to key of a grading, as it was linked last; that stage may be lost."""
        return dict(self._select("stages_of_grading", grading_id))  # type: ignore[arg-type]

    def count_stages(self) -> int:
        """Return how many stage records there are: a run that finds all of them does not add to it."""
        return int(self._select("stage_count")[0][0])

    # Artifacts

    def save_artifact(self, data: bytes, media_type: str) -> str:
        """Keep `data` and return its SHA-256 in hex."""
        sha256 = hashlib.sha256(data).hexdigest()
        self._write([Insert("artifacts", [(sha256, media_type, len(data), data)])])
        return sha256

    def load_artifact(self, sha256: str) -> bytes:
        """Return what was kept under `sha256`.

        Raises:
            KeyError: If nothing was.
        """
        data: bytes = self._require("artifacts", sha256)[-1]
        return data

    # Review

    def open_review(self, review: Review) -> None:
        """Put `review` into the queue; opening it again is harmless."""
        self._write(rows.review_commands(review))

    def load_review(self, review_id: str) -> ReviewState:
        """Return a review and, once there is one, its decision.

        Raises:
            KeyError: If it is unknown.
        """
        review = Review.model_validate_json(self._require("reviews", review_id)[-1])
        return ReviewState(review=review, decision=self.find_decision(review_id))

    def find_decision(self, review_id: str) -> Decision | None:
        """Return what was decided about a review, or None."""
        decided = self._transport.find("decisions", [review_id])
        return Decision.model_validate_json(decided[-1]) if decided is not None else None

    def decide(self, decision: Decision) -> None:
        """Journal and store `decision`; on return it survives the loss of the database.

        The very same decision again is no second one. Whether its levels fit the rubric is for the caller.

        Raises:
            StoreError: If the review is unknown or was decided otherwise.
        """
        self._refuse_if_read_only()
        self._transport.decide(decision.model_dump_json())

    def list_reviews(self, *, open_only: bool = True, limit: int | None = None) -> list[ReviewState]:
        """Return the queue: the longest wait first, of one submission the newest grading first.

        Without `open_only` decided reviews are there too, all in the order they were opened.
        """
        name = "reviews_open" if open_only else "reviews_all"
        return _read_reviews(self._select(name, _limit(limit)))

    def list_reviews_of(self, grading_id: str) -> list[ReviewState]:
        """Return every review of a grading, oldest first."""
        return _read_reviews(self._select("reviews_of_grading", grading_id))

    def list_decided(self) -> list[str]:
        """Return ids of gradings whose reviews are all decided and whose grade is not written yet."""
        return [row[0] for row in self._select("decided")]

    # Routes and grades

    def save_route(self, grading_id: str, route: Route) -> None:
        """Make `route` the grading's newest."""
        if self.load_route(grading_id) != route:
            self._write(rows.route_commands(grading_id, route))

    def load_route(self, grading_id: str) -> Route | None:
        """Return the grading's newest route, or None."""
        row = self._transport.find("routes", [grading_id])
        return Route.model_validate_json(row[-1]) if row is not None else None

    def save_grade(self, grade: Grade) -> None:
        """Make `grade` the grading's newest; one that differs in its time only is ignored."""
        known = self.load_grade(grade.grading_id)
        if known is None or known != grade.model_copy(update={"released_at": known.released_at}):
            self._write(rows.grade_commands(grade))

    def load_grade(self, grading_id: str) -> Grade | None:
        """Return the grading's newest grade, or None."""
        row = self._transport.find("grades", [grading_id])
        return Grade.model_validate_json(row[-1]) if row is not None else None

    def finished(self, grading_ids: Iterable[str]) -> dict[str, Literal["graded", "waiting", "held"]]:
        """Return those of `grading_ids` that no work is left on, with why."""
        return dict(self._select("finished", list(grading_ids)))  # type: ignore[arg-type]

    def list_unanswered(self, grading_ids: Iterable[str]) -> set[str]:
        """Return those of `grading_ids` whose newest draft the environment kept from being made."""
        return {row[0] for row in self._select("unanswered", list(grading_ids))}

    def list_draft_levels(self, grading_ids: Iterable[str]) -> list[DraftLevel]:
        """Return what the newest drafts of `grading_ids` say of each criterion, in the rubric's order."""
        return [DraftLevel(*row) for row in self._select("draft_levels", list(grading_ids))]

    # Reading for people

    def list_gradings(self, batch_id: str | None = None, limit: int | None = None) -> list[GradingSummary]:
        """Return one line per grading: of a batch in its order, or all, the newest first."""
        if batch_id is None:
            found = self._select("summaries", _limit(limit))
        else:
            found = self._select("summaries_of_batch", batch_id, _limit(limit))
        return [rows.read_summary(row) for row in found]

    def load_summary(self, grading_id: str) -> GradingSummary:
        """Return one line about a grading.

        Raises:
            KeyError: If it is unknown.
        """
        found = self._select("summary", grading_id)
        if not found:
            raise KeyError(grading_id)
        return rows.read_summary(found[0])

    def list_gradings_of(self, submission_id: str) -> list[str]:
        """Return ids of the gradings of a submission, newest first."""
        return [row[0] for row in self._select("gradings_of_submission", submission_id)]

    def resolve(self, prefix: str) -> str:
        """Return the one id of a grading, submission, review or batch that starts with `prefix`.

        Raises:
            StoreError: If there is none, or several (the message lists them).
        """
        found = [row[0] for row in self._select("ids", prefix)] if prefix.isascii() and prefix else []
        if prefix in found:
            return prefix
        if not found:
            raise StoreError("unknown_id", f"no grading, submission, review or batch starts with {prefix!r}")
        if len(found) > 1:
            listed = ", ".join(found[:10]) + (", ..." if len(found) > 10 else "")
            raise StoreError("ambiguous_id", f"{prefix!r} is the beginning of several ids: {listed}")
        name: str = found[0]
        return name

    def canonical_hash(self, batch_id: str | None = None) -> str:
        """Return the SHA-256 over what grading came to: no times, costs or attempts, nor ids made of them."""
        if batch_id is None:
            found = self._select("canonical")
        else:
            found = self._select("canonical_of_batch", batch_id)
        digest = hashlib.sha256()
        for row in found:
            digest.update("\t".join(row).encode() + b"\n")
        return digest.hexdigest()

    def snapshot(self) -> Path:
        """Publish a copy of the database beside it, which any program may open, and return its path.

        Raises:
            StoreError: If it cannot be written.
        """
        return Path(self._transport.snapshot())

    def checkpoints(self) -> StoreSaver:
        """Return a LangGraph checkpoint saver that keeps its checkpoints here."""
        # LangGraph takes over a second to import: only the commands that run graphs pay for it.
        from pipeline.store.checkpoints import StoreSaver

        return StoreSaver(self._transport)

    def _select(self, query: str, *parameters: object) -> list[Row]:
        return self._transport.select(query, parameters)

    def _require(self, table: str, key: str) -> Row:
        row = self._transport.find(table, [key])
        if row is None:
            raise KeyError(key)
        return row

    def _write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        self._refuse_if_read_only()
        self._transport.write(commands, wait=wait)

    def _refuse_if_read_only(self) -> None:
        if self._read_only:
            raise StoreError("read_only", "the store was opened for reading only", where=str(self.path))


def _limit(limit: int | None) -> int:
    return _NO_LIMIT if limit is None else limit


def _read_reviews(found: Iterable[Row]) -> list[ReviewState]:
    return [
        ReviewState(
            review=Review.model_validate_json(review),
            decision=Decision.model_validate_json(decision) if decision is not None else None,
        )
        for review, decision in found
    ]
