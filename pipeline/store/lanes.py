"""Two writers side by side: what people do never waits for what a batch does.

A commit costs some milliseconds for every table that it touches, so a group of rows of a batch takes a tenth
of a second on a busy machine. Rows that people make are few and go to tables of their own: they have their
own writer, and are on the disk before a person notices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

from pipeline.store.queries import STATEMENTS
from pipeline.store.transport import Command, Insert, Row
from pipeline.store.writer import Writer

__all__ = ["Lanes", "Ticket"]

#: Tables of what people do, and of the journal that their work stands in.
_PEOPLES: Final = frozenset(
    {"decisions", "desk_activity", "desk_drafts", "desk_events", "desk_records", "journal_marks"}
)


class Ticket(NamedTuple):
    """Names a unit that was submitted, to wait for."""

    writer: Writer
    number: int


class Lanes:
    """Writers over one database, by what they are for; each keeps the order of what it is given.

    A unit is committed whole, so one that touches any other table goes with the batches. Between the two
    there is no order: whoever writes for a person what rests on a batch's row waits for that row first.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Write to the database of `connection`, which stays the caller's."""
        self._batches = Writer(connection.cursor(), path)
        self._people = Writer(connection.cursor(), path, patient=False)
        self._both = (self._people, self._batches)

    def submit(self, commands: Sequence[Command]) -> Ticket:
        """Queue `commands` as one indivisible unit; see `Writer.submit`."""
        writer = self._people if all(map(_is_peoples, commands)) else self._batches
        return Ticket(writer, writer.submit(commands))

    def wait(self, ticket: Ticket | None = None) -> None:
        """Return once a unit (default: everything so far) is committed; see `Writer.wait`."""
        if ticket is not None:
            ticket.writer.wait(ticket.number)
            return
        for writer in self._both:
            writer.wait()

    def wait_for_people(self) -> None:
        """Return once everything that people did so far is committed."""
        self._people.wait()

    def settle(self, tables: Iterable[str], first: object | None = None) -> None:
        """Return once no row is on its way to `tables`, with `first` as its first value if that is given."""
        tables = tuple(tables)
        for writer in self._both:
            writer.settle(tables, first)

    def find(self, table: str, key: tuple[object, ...]) -> Row | None:
        """Return the row that is on its way to `table` under `key`, or None."""
        found = (writer.find(table, key) for writer in self._both)
        return next((row for row in found if row is not None), None)

    def close(self) -> None:
        """Commit what is left and end; see `Writer.close`."""
        try:
            self._people.close()
        finally:
            self._batches.close()


def _is_peoples(command: Command) -> bool:
    if isinstance(command, Insert):
        return command.table in _PEOPLES
    return _PEOPLES.issuperset(STATEMENTS[command.statement].tables)
