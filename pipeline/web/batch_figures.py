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
#: How long one request may read gradings, in seconds.
_PATIENCE: Final = 0.06
_BATCHES: Final = 50
_GRADINGS: Final = 20_000


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
        self._shallow: OrderedDict[str, tuple[float, Sections]] = OrderedDict()
        self._details: OrderedDict[GradingSummary, Detail] = OrderedDict()
        self._lock = Lock()

    def count(self, batch_id: str) -> Sections:
        """Return the figures that one-line summaries hold.

        Raises:
            KeyError: If the store knows no such batch.
        """
        with self._lock:
            known = self._shallow.get(batch_id)
        if known is not None and self._clock() - known[0] < _FRESH:
            return known[1]
        batch, rows = self._collector.load_batch(batch_id)
        sections = count_sections(batch, rows, ())
        with self._lock:
            self._shallow[batch_id] = (self._clock(), sections)
            self._shallow.move_to_end(batch_id)
            while len(self._shallow) > _BATCHES:
                self._shallow.popitem(last=False)
        return sections

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
                found[batch_id] = known[1]
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
