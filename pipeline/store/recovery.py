"""Comparing the journal with the tables when a database is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.store.journal import Entry, Journal
from pipeline.store.reader import Reader
from pipeline.store.rows import decision_commands, review_commands
from pipeline.store.transport import Command, Insert
from pipeline.store.writer import Writer
from pipeline.types import Decision, Review

__all__ = ["Recovery", "count_rows", "decision_body", "mark", "recover"]

#: How many ids one notice spells out.
_NAMED = 5


@dataclass
class Recovery:
    """What the journal and the tables together say."""

    notices: list[str]
    """What was missing and what was done about it, one line each."""
    closed: dict[str, Entry] = field(default_factory=dict)
    """The last closing of every batch."""
    incomplete: set[str] = field(default_factory=set)
    """Batches that were closed and have lost rows since."""


def recover(journal: Journal, reader: Reader, writer: Writer) -> Recovery:
    """Name what the tables have lost since the journal was written, and bring back every decision.

    A mark is committed after everything that its entry counts, and a damaged write-ahead log loses its
    end, never its middle. So an entry whose mark is there is whole, and only the others are compared.

    Raises:
        StoreError: If the database cannot be read or written.
    """
    marks = {row[0] for row in reader.select("marks")}
    found = Recovery(list(journal.notices))
    commands: list[Command] = []
    for entry in journal.entries:
        if entry.kind == "batch":
            found.closed[entry.body["batch_id"]] = entry
        elif entry.hash not in marks:
            commands += _replay(entry, reader, found)
    for batch_id, entry in found.closed.items():
        if entry.hash in marks:
            continue
        if problem := _compare(entry, reader):
            found.incomplete.add(batch_id)
            found.notices.append(problem)
        else:
            commands.append(mark(entry))
    if commands:
        writer.wait(writer.submit(commands))
    if lost := marks - {entry.hash for entry in journal.entries}:
        found.notices.append(_restore_journal(journal, reader, writer, len(lost)))
    return found


def mark(entry: Entry) -> Insert:
    """Return what notes that every row of `entry` is stored."""
    subject = entry.body["batch_id"] if entry.kind == "batch" else entry.body["decision"]["review_id"]
    return Insert("journal_marks", [(entry.hash, entry.seq, entry.kind, subject)])


def decision_body(review: Review | None, decision: Decision) -> dict[str, Any]:
    """Return the journal's body for `decision`, from which both it and its review can be stored again."""
    return {
        "decision": decision.model_dump(mode="json"),
        "review": review.model_dump(mode="json") if review else None,
    }


def count_rows(reader: Reader, gradings: list[str]) -> dict[str, int]:
    """Return how many rows of each table belong to `gradings`."""
    return {str(table): int(count) for table, count in reader.select("counts", [gradings])}


def _replay(entry: Entry, reader: Reader, found: Recovery) -> list[Command]:
    decision = Decision.model_validate(entry.body["decision"])
    commands: list[Command] = [mark(entry)]
    if reader.find("decisions", [decision.review_id]) is None:
        if entry.body["review"] is not None:
            commands += review_commands(Review.model_validate(entry.body["review"]))
        commands += decision_commands(decision)
        found.notices.append(
            f"the decision of {decision.reviewer} on {decision.review_id} was missing and was brought "
            "back from the journal"
        )
    return commands


def _compare(entry: Entry, reader: Reader) -> str | None:
    """Return what the tables lack of a closed batch, in one line, or None."""
    expected: dict[str, list[str]] = entry.body["gradings"]
    names = list(expected)
    now = {row[0]: row[1:] for row in reader.select("closing_of_gradings", [names])}
    damaged = [
        name
        for name, (state, digest) in expected.items()
        if name not in now
        or (now[name][0] == state and now[name][1] != digest)
        # A grading may have moved on since, from waiting to graded; it never goes back to open.
        or (now[name][0] == "open" != state)
    ]
    counts = count_rows(reader, names)
    short = [
        f"{table} {counts.get(table, 0)} of {count}"
        for table, count in entry.body["counts"].items()
        if counts.get(table, 0) < count
    ]
    if not damaged and not short:
        return None
    listed = ", ".join(damaged[:_NAMED]) + (", ..." if len(damaged) > _NAMED else "")
    gradings = (
        f"{len(damaged)} of {len(names)} gradings lost rows ({listed})" if damaged else "rows were lost"
    )
    tables = f"; {', '.join(short)} rows are left" if short else ""
    return f"batch {entry.body['batch_id']}: {gradings}{tables}: grade the same paths again to fill them in"


def _restore_journal(journal: Journal, reader: Reader, writer: Writer, lost: int) -> str:
    """Write decisions that only the tables still have into the journal again, and say so."""
    journaled = {entry.body["decision"]["review_id"] for entry in journal.entries if entry.kind == "decision"}
    restored = 0
    for decision_text, review_text in reader.select("decisions_with_reviews"):
        decision = Decision.model_validate_json(decision_text)
        if decision.review_id in journaled:
            continue
        review = Review.model_validate_json(review_text) if review_text else None
        entry = journal.append("decision", decision_body(review, decision))
        writer.submit([mark(entry)])
        restored += 1
    writer.wait()
    what = (
        f"{restored} decisions were written to it again from the database"
        if restored
        else "no decision is lost"
    )
    return f"the journal lacks {lost} entries that the database has seen: {what}"
