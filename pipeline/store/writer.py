"""One thread that commits everybody's rows in groups."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import duckdb

from pipeline.store.errors import StoreError, explain
from pipeline.store.queries import STATEMENTS
from pipeline.store.tables import TABLES
from pipeline.store.transport import Command, Execute, Insert, Row

__all__ = ["Writer"]

#: A group is committed when it has this many rows or bytes, is this old, or someone has waited for it this
#: long: whoever waits is seldom alone, and a commit costs the same for one as for many.
_GROUP_ROWS = 10_000
_GROUP_BYTES = 8 << 20
_GROUP_SECONDS = 0.05
_WAIT_SECONDS = 0.008
#: After a commit the next one waits this many times as long as it took, within `_GROUP_SECONDS`: a small one
#: costs nearly as much as a large one, and where commits are many so are those who wait for them.
_REST = 3.0
#: Whoever writes while this much waits to be committed waits too, so that memory stays flat.
_BACKLOG_ROWS = 40_000
_BACKLOG_BYTES = 64 << 20
#: Keys of committed rows that are remembered for each table whose rows many bring.
_REMEMBERED = 100_000


class _Group:
    """Commands that are committed together, and the rows in them by key."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.rows = 0
        self.bytes = 0
        self._by_key: dict[str, dict[tuple[object, ...], Row]] = defaultdict(dict)
        self._touched: set[str] = set()

    def add(self, commands: Iterable[Command]) -> None:
        for command in commands:
            self.commands.append(command)
            if isinstance(command, Execute):
                self._touched.update(STATEMENTS[command.statement].tables)
                self.rows += 1
                continue
            table = TABLES[command.table]
            known = self._by_key[command.table]
            for row in command.rows:
                key = table.key_of(row)
                if table.repeats or command.replace:
                    known[key] = row
                else:
                    known.setdefault(key, row)
                for value in row:
                    # Exact types: this runs for every value there is.
                    if type(value) is str or type(value) is bytes:
                        self.bytes += len(value)
            self.rows += len(command.rows)

    def find(self, table: str, key: tuple[object, ...]) -> Row | None:
        return self._by_key[table].get(key) if table in self._by_key else None

    def touches(self, tables: Iterable[str], first: object | None) -> bool:
        for table in tables:
            if table in self._touched:
                return True
            keys = self._by_key.get(table)
            if keys and (first is None or any(key[0] == first for key in keys)):
                return True
        return False


class Writer:
    """Commits commands in the order they came, many per transaction.

    DuckDB pays per transaction, not per row: groups make thousands of rows a second out of hundreds.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path, *, patient: bool = True) -> None:
        """Write to the database of `connection`, which becomes the writer's.

        Args:
            connection: Used by the writer's thread alone.
            path: Of the database, for messages.
            patient: Whether those who wait are waited for, so that more of them share a commit.
        """
        self._connection = connection
        self._path = path
        self._patience = _WAIT_SECONDS if patient else 0.0
        self._rest = _REST if patient else 0.0
        self._changed = threading.Condition()
        self._open = _Group()
        self._committing = _Group()
        self._accepted = 0
        self._taken = 0
        self._committed = 0
        self._wanted = 0
        self._rested_at = 0.0
        self._failure: StoreError | None = None
        self._closing = False
        # Touched by the writer's thread alone.
        self._known: dict[str, set[tuple[object, ...]]] = {
            name: set() for name, table in TABLES.items() if table.by_content
        }
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, commands: Sequence[Command]) -> int:
        """Queue `commands` as one indivisible unit and return its number, to wait for.

        Raises:
            StoreError: If an earlier group could not be committed, or the store is closed.
            ValueError: If a row does not fit its table.
            KeyError: If there is no such table or statement.
        """
        for command in commands:
            if isinstance(command, Insert):
                for row in command.rows:
                    TABLES[command.table].check(row)
            elif command.statement not in STATEMENTS:
                raise KeyError(command.statement)
        with self._changed:
            while (
                self._open.rows > _BACKLOG_ROWS or self._open.bytes > _BACKLOG_BYTES
            ) and self._failure is None:
                self._changed.wait()
            self._check()
            self._open.add(commands)
            self._accepted += 1
            if self._accepted - self._committed == 1 or self._is_full():
                self._changed.notify_all()
            return self._accepted

    def wait(self, number: int | None = None) -> None:
        """Return once unit `number` (default: everything so far) is committed.

        Raises:
            StoreError: If it could not be.
        """
        with self._changed:
            wanted = self._accepted if number is None else number
            if self._committed >= wanted:
                self._raise_failure()
                return
            self._wanted = max(self._wanted, wanted)
            self._changed.notify_all()
            while self._committed < wanted and self._failure is None:
                self._changed.wait()
            self._raise_failure()

    def find(self, table: str, key: tuple[object, ...]) -> Row | None:
        """Return the row that is on its way to `table` under `key`, or None."""
        with self._changed:
            newer, older = self._open.find(table, key), self._committing.find(table, key)
        if TABLES[table].repeats:
            return newer if newer is not None else older
        return older if older is not None else newer

    def settle(self, tables: Iterable[str], first: object | None = None) -> None:
        """Return once no row is on its way to `tables`, with `first` as its first value if that is given.

        Raises:
            StoreError: As `wait`.
        """
        with self._changed:
            if self._open.touches(tables, first):
                number = self._accepted
            elif self._committing.touches(tables, first):
                number = self._taken
            else:
                return
        self.wait(number)

    def close(self) -> None:
        """Commit what is left and end the thread.

        Raises:
            StoreError: If something could not be committed.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._connection.close()
        self._raise_failure()

    def _check(self) -> None:
        self._raise_failure()
        if self._closing:
            raise StoreError("closed", "the store is closed", where=str(self._path))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _is_full(self) -> bool:
        return self._open.rows >= _GROUP_ROWS or self._open.bytes >= _GROUP_BYTES

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            started = time.monotonic()
            failure = self._commit(self._committing)
            ended = time.monotonic()
            self._rested_at = ended + min(_GROUP_SECONDS, self._rest * (ended - started))
            with self._changed:
                if failure is None:
                    self._committed = taken
                    self._committing = _Group()
                else:
                    self._failure = failure
                self._changed.notify_all()
            if failure is not None:
                return

    def _take(self) -> int | None:
        """Wait for a group that is due, make it the committing one, and return its last unit's number."""
        with self._changed:
            while not self._open.commands:
                if self._closing:
                    return None
                self._changed.wait()
            due = time.monotonic() + _GROUP_SECONDS
            waited_for = False
            while not (self._closing or self._is_full()):
                if self._wanted > self._committed and not waited_for:
                    waited_for = True
                    due = min(due, max(time.monotonic() + self._patience, self._rested_at))
                left = due - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._committing, self._open = self._open, _Group()
            self._taken = self._accepted
            self._changed.notify_all()
            return self._taken

    def _commit(self, group: _Group) -> StoreError | None:
        try:
            steps = list(self._leave_out_known(_merge(group.commands)))
            try:
                self._transact(steps, self._append)
            except duckdb.ConstraintException:
                # A key is there already: rare, since work that is known is not done again.
                self._connection.execute("ROLLBACK")
                self._transact(steps, self._insert)
            self._remember(steps)
        except duckdb.Error as error:
            # The connection is not used again: the transaction ends with it, whatever state it is in.
            return explain(error, self._path)
        except Exception as error:
            # A bug of ours; everybody who waits must hear of it, and nobody hears a thread that dies.
            return StoreError("bad_rows", f"rows could not be written: {error!r}", where=str(self._path))
        return None

    def _leave_out_known(self, steps: Iterable[Command]) -> Iterable[Command]:
        """Yield `steps` without rows that are in the database for good: one of them would undo the group."""
        for step in steps:
            known = self._known.get(step.table) if isinstance(step, Insert) else None
            if not known:
                yield step
                continue
            assert isinstance(step, Insert)
            key_of = TABLES[step.table].key_of
            rows = [row for row in step.rows if key_of(row) not in known]
            if rows:
                yield Insert(step.table, rows, step.replace)

    def _remember(self, steps: Iterable[Command]) -> None:
        for step in steps:
            if isinstance(step, Insert) and (known := self._known.get(step.table)) is not None:
                if len(known) > _REMEMBERED:
                    known.clear()
                known.update(map(TABLES[step.table].key_of, step.rows))

    def _transact(self, steps: Iterable[Command], put: Callable[[Insert], None]) -> None:
        self._connection.execute("BEGIN")
        for step in steps:
            if isinstance(step, Execute):
                self._connection.execute(STATEMENTS[step.statement].sql, step.parameters)
            else:
                put(step)
        self._connection.execute("COMMIT")

    def _append(self, insert: Insert) -> None:
        """Put rows whose keys are new: three times faster than a statement that looks."""
        columns = list(TABLES[insert.table].columns)
        with self._connection.appender(insert.table, columns=columns) as appender:
            appender.append_rows([tuple(row) for row in insert.rows])

    def _insert(self, insert: Insert) -> None:
        """Put rows of which some keys may be there already."""
        table = TABLES[insert.table]
        columns = [list(column) for column in zip(*insert.rows, strict=True)]
        self._connection.execute(table.replace if insert.replace else table.insert, columns)


def _merge(commands: Iterable[Command]) -> Iterable[Command]:
    """Yield few large commands that have the effect of many small ones; each touches a key once."""
    inserts: dict[str, list[Row]] = defaultdict(list)
    by_key: dict[tuple[str, bool], dict[tuple[object, ...], Row]] = defaultdict(dict)

    def drain() -> Iterable[Command]:
        merged = [Insert(name, rows) for name, rows in inserts.items()]
        merged += [Insert(name, list(found.values()), replace) for (name, replace), found in by_key.items()]
        yield from (insert for insert in merged if insert.rows)
        inserts.clear()
        by_key.clear()

    for command in commands:
        if isinstance(command, Execute):
            yield from drain()
            yield command
        elif TABLES[command.table].repeats:
            inserts[command.table].extend(command.rows)
        else:
            key_of = TABLES[command.table].key_of
            known = by_key[command.table, command.replace]
            for row in command.rows:
                if command.replace:
                    known[key_of(row)] = row
                else:
                    known.setdefault(key_of(row), row)
    yield from drain()
