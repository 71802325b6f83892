"""The figures of batches, kept for seconds, so that a dashboard that many people watch costs what one costs.

What one-line summaries hold is read at once. What needs whole gradings (checks, levels, the funnel) is read a
little per request and kept, and the page says how many it has read so far.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from time import monotonic
from typing import Final

from pipeline.report.collect import Collector, Detail
from pipeline.report.sections import Sections, count_sections
from pipeline.store import GradingSummary, Store

__all__ = ["BatchFigures", "Depth"]

#: For how long figures are not read again, in seconds; pages ask every five.
_FRESH: Final = 2.0
#: Reading a large batch anew takes at most this share of the time.
_SHARE: Final = 0.02
#: Where somebody reads ahead, nobody waits for figures that are this many times older than that.
_TOLERATED: Final = 4.0
#: For how long after somebody looked figures are read ahead, in seconds.
_WATCHED: Final = 300.0
#: How long one request may read gradings, in seconds.
_PATIENCE: Final = 0.06
_BATCHES: Final = 50
_GRADINGS: Final = 20_000


@dataclass(slots=True)
class _Known:
    """Figures of a batch, when they were read, how long that took, and when somebody looked last."""

    sections: Sections
    read_at: float
    took: float
    asked_at: float


@dataclass(frozen=True, slots=True)
class Depth:
    """Figures that need whole gradings.

    Attributes:
        sections: The figures, of the gradings read so far.
        read: How many were read.
        total: How many there are.
    """

    sections: Sections
    read: int
    total: int


class BatchFigures:
    """Figures of one store's batches; any number of threads may use it.

    Args:
        store: Where to read.
        clock: Seconds that only go forward; for tests.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._collector = Collector(store)
        self._shallow: OrderedDict[str, _Known] = OrderedDict()
        self._details: OrderedDict[GradingSummary, Detail] = OrderedDict()
        self._reads_ahead = False
        self._lock = Lock()

    def count(self, batch_id: str) -> Sections:
        """Return the figures that one-line summaries hold.

        Raises:
            KeyError: If the store knows no such batch.
        """
        with self._lock:
            known = self._shallow.get(batch_id)
            if known is not None:
                known.asked_at = self._clock()
        if known is None or self._is_stale(known, times=_TOLERATED if self._reads_ahead else 1.0):
            known = self._read(batch_id)
        return known.sections

    def step(self) -> None:
        """Read what somebody looks at before it is stale, and the newest batch for whoever looks first."""
        self._reads_ahead = True
        newest = self._store.list_batches(1)
        with self._lock:
            missing = [batch.id for batch in newest if batch.id not in self._shallow]
            ageing = [
                batch_id
                for batch_id, known in self._shallow.items()
                if self._clock() - known.asked_at < _WATCHED and self._is_stale(known)
            ]
        for batch_id in missing + ageing:
            self._read(batch_id, asked=batch_id in missing)

    def _is_stale(self, known: _Known, times: float = 1.0) -> bool:
        return self._clock() - known.read_at >= times * max(_FRESH, known.took / _SHARE)

    def _read(self, batch_id: str, *, asked: bool = True) -> _Known:
        started = self._clock()
        batch, rows = self._collector.load_batch(batch_id)
        sections = count_sections(batch, rows, ())
        with self._lock:
            ended, before = self._clock(), self._shallow.get(batch_id)
            asked_at = ended if asked or before is None else before.asked_at
            known = self._shallow[batch_id] = _Known(sections, ended, ended - started, asked_at)
            self._shallow.move_to_end(batch_id)
            while len(self._shallow) > _BATCHES:
                self._shallow.popitem(last=False)
        return known

    def count_some(self, batch_ids: list[str]) -> dict[str, Sections]:
        """Return figures of those batches that are known or quickly read; the next call has more."""
        found: dict[str, Sections] = {}
        until = self._clock() + _PATIENCE
        for batch_id in batch_ids:
            if self._clock() < until:
                found[batch_id] = self.count(batch_id)
                continue
            with self._lock:
                known = self._shallow.get(batch_id)
            if known is not None:
                found[batch_id] = known.sections
        return found

    def count_deep(self, batch_id: str) -> Depth:
        """Return the figures that need whole gradings; one call reads some of them.

        Raises:
            KeyError: If the store knows no such batch.
        """
        shallow = self.count(batch_id)
        rows = shallow.rows
        until = self._clock() + _PATIENCE
        details: list[Detail] = []
        for row in rows:
            with self._lock:
                known = self._details.get(row)
            if known is None and self._clock() < until:
                known = self._keep(row)
            if known is not None:
                details.append(known)
        return Depth(count_sections(shallow.batch, rows, details), len(details), len(rows))

    def _keep(self, row: GradingSummary) -> Detail:
        # A grading that changed has another summary, so that what is kept under this one stays right.
        detail = _slim(self._collector.load_detail(row))
        with self._lock:
            self._details[row] = detail
            while len(self._details) > _GRADINGS:
                self._details.popitem(last=False)
        return detail


def _slim(detail: Detail) -> Detail:
    """Return what figures need of a grading: neither its code nor its cases."""
    submission = detail.submission.model_copy(update={"code": "", "received": ""})
    inspection = detail.inspection
    if inspection is not None:
        reports = tuple(one.model_copy(update={"findings": (), "facts": ()}) for one in inspection.reports)
        inspection = inspection.model_copy(update={"facts": (), "reports": reports})
    return replace(detail, submission=submission, inspection=inspection, run=None, reviews=())
