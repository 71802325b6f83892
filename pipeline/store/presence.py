"""Which keys a database holds, known in memory: most keys that grading looks up are not there yet.

A lookup in the table costs about a millisecond of processor time, found or not; a run over new submissions
makes several per submission, and all of them miss.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from pipeline.store.lanes import Lanes
from pipeline.store.reader import Reader
from pipeline.store.tables import TABLES
from pipeline.store.transport import Command, Insert

__all__ = ["Presence"]


class Presence:
    """The keys of every sparse table, from the first question about it on.

    Only hashes are kept: two keys with the same one cost a lookup too many, never a wrong answer.
    """

    def __init__(self, reader: Reader, writer: Lanes) -> None:
        """Learn what is committed through `reader`, once `writer` has committed what is on its way."""
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self._noted: dict[str, set[int]] = {}
        self._known: dict[str, set[int]] = {}

    def may_hold(self, table: str, key: tuple[object, ...]) -> bool:
        """Whether `table` may have a row under `key`; no is certain, of rows on their way too."""
        known = self._known.get(table)
        if known is None:
            known = self._learn(table)
        looked_in = TABLES[table]
        return hash(key[looked_in.key.index(looked_in.looked_up_by)]) in known

    def note(self, commands: Iterable[Command]) -> None:
        """Learn the keys of rows that were handed to the writer."""
        for command in commands:
            if isinstance(command, Insert) and command.table in self._noted:
                place = list(TABLES[command.table].columns).index(TABLES[command.table].looked_up_by)
                self._noted[command.table].update(hash(row[place]) for row in command.rows)

    def _learn(self, table: str) -> set[int]:
        with self._lock:
            if table not in self._known:
                # In this order: what is handed over from here on is noted, what was before is committed. Only
                # a set that holds both answers anybody.
                noted = self._noted.setdefault(table, set())
                self._writer.wait()
                noted.update(map(hash, self._reader.list_keys(table)))
                self._known[table] = noted
            return self._known[table]
