"""Comparing the journal with the tables when a database is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.store.desk_rows import event_body, event_commands, record_body, record_commands
from pipeline.store.journal import Entry, Journal
from pipeline.store.lanes import Lanes
from pipeline.store.reader import Reader
from pipeline.store.rows import decision_commands, review_commands
from pipeline.store.transport import Command, Insert
from pipeline.types import Decision, DeskEvent, Review

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


def recover(journal: Journal, reader: Reader, writer: Lanes) -> Recovery:
    """Name what the tables have lost since the journal was written, and bring back all work of people.

    A mark is committed after everything that its entry counts, and a damaged write-ahead log loses its
    end, never its middle. So an entry whose mark is there is whole, and only the others are compared.

    Raises:
        StoreError: If the database cannot be read or written.
    """
    marks = {row[0] for row in reader.select("marks")}
    found = Recovery(list(journal.notices))
    commands: list[Command] = []
    brought_back: list[DeskEvent] = []
    records: list[str] = []
    for entry in journal.entries:
        if entry.kind == "batch":
            found.closed[entry.body["batch_id"]] = entry
        elif entry.hash in marks:
            continue
        elif entry.kind == "decision":
            commands += _replay(entry, reader, found)
        elif entry.kind == "record":
            commands += _replay_record(entry, reader, records)
        else:
            commands += _replay_event(entry, reader, brought_back)
    if brought_back:
        found.notices.append(_name_events(brought_back))
    if records:
        found.notices.append(_name_records(records))
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
    subjects = {
        "batch": ("batch_id",),
        "decision": ("decision", "review_id"),
        "desk": ("event", "review_id"),
        "record": ("record", "key"),
    }
    subject: Any = entry.body
    for name in subjects[entry.kind]:
        subject = subject[name]
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


def _replay_event(entry: Entry, reader: Reader, brought_back: list[DeskEvent]) -> list[Command]:
    event = DeskEvent.model_validate(entry.body["event"])
    commands: list[Command] = [mark(entry)]
    if reader.find("desk_events", [event.id]) is None:
        if entry.body["review"] is not None:
            commands += review_commands(Review.model_validate(entry.body["review"]))
        commands += event_commands(event)
        brought_back.append(event)
    return commands


def _name_events(events: list[DeskEvent]) -> str:
    reviews = sorted({event.review_id for event in events})
    listed = ", ".join(reviews[:_NAMED]) + (", ..." if len(reviews) > _NAMED else "")
    return (
        f"{len(events)} events of the review desk, on {listed}, were missing and were brought back from the "
        "journal"
    )


def _replay_record(entry: Entry, reader: Reader, brought_back: list[str]) -> list[Command]:
    kind, key, text = (entry.body["record"][name] for name in ("kind", "key", "text"))
    row = reader.find("desk_records", [kind, key])
    if row is not None and row[-1] == text:
        return [mark(entry)]
    brought_back.append(kind.replace("_", " "))
    return [mark(entry), *record_commands(kind, key, text)]


def _name_records(kinds: list[str]) -> str:
    listed = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return f"{len(kinds)} records ({listed}) were missing and were brought back from the journal"


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


def _restore_journal(journal: Journal, reader: Reader, writer: Lanes, lost: int) -> str:
    """Write what people did and only the tables still have into the journal again, and say so."""
    restored = []
    for what, entries in (
        ("decisions", _lost_decisions(journal, reader)),
        ("events of the review desk", _lost_events(journal, reader)),
        ("records", _lost_records(journal, reader)),
    ):
        for entry in entries:
            writer.submit([mark(entry)])
        if entries:
            restored.append(f"{len(entries)} {what}")
    writer.wait()
    what_was_done = (
        f"{' and '.join(restored)} were written to it again from the database"
        if restored
        else "no decision is lost"
    )
    return f"the journal lacks {lost} entries that the database has seen: {what_was_done}"


def _lost_decisions(journal: Journal, reader: Reader) -> list[Entry]:
    journaled = {entry.body["decision"]["review_id"] for entry in journal.entries if entry.kind == "decision"}
    entries = []
    for decision_text, review_text in reader.select("decisions_with_reviews"):
        decision = Decision.model_validate_json(decision_text)
        if decision.review_id not in journaled:
            entries.append(journal.append("decision", decision_body(_read_review(review_text), decision)))
    return entries


def _lost_events(journal: Journal, reader: Reader) -> list[Entry]:
    journaled = {entry.body["event"]["id"] for entry in journal.entries if entry.kind == "desk"}
    entries = []
    for event_text, review_text in reader.select("desk_events_with_reviews"):
        event = DeskEvent.model_validate_json(event_text)
        if event.is_journalled and event.id not in journaled:
            entries.append(journal.append("desk", event_body(event, _read_review(review_text))))
    return entries


def _lost_records(journal: Journal, reader: Reader) -> list[Entry]:
    journaled = {
        (one["kind"], one["key"]): one["text"]
        for one in (entry.body["record"] for entry in journal.entries if entry.kind == "record")
    }
    return [
        journal.append("record", record_body(kind, key, text))
        for kind, key, text in reader.select("vouched_records")
        if journaled.get((kind, key)) != text
    ]


def _read_review(text: str | None) -> Review | None:
    return Review.model_validate_json(text) if text else None
