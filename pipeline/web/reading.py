"""What a reviewer reads, loaded and rendered once for all who read it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from pipeline.report.collect import Collector, Detail
from pipeline.report.error_figure import draw_errors
from pipeline.review.errors import DeskError
from pipeline.review.history import Follower
from pipeline.store import DeskItem
from pipeline.types import Rubric, Task
from pipeline.web.code_view import (
    Cache,
    Mode,
    list_modes,
    mark_lines,
    render_beside,
    render_code,
    render_diff,
)
from pipeline.web.context import Context
from pipeline.web.evidence import Evidence, collect_evidence

__all__ = ["Exhibits", "Reading"]

#: Kept in memory: HTML in characters, whole gradings, and what of submissions is read before the commit.
_MOST_CHARACTERS: Final = 100_000_000
_MOST_DETAILS: Final = 128
_MOST_SUBMISSIONS: Final = 500
_FIRST_MODE: Final = "submission"


@dataclass(frozen=True, slots=True)
class Exhibits:
    """What may be read before one has committed: all of it is fixed once a submission is in the queue.

    Attributes:
        code: The submission.
        task: The task, as it was when the grading was made.
        rubric: The rubric, likewise.
        evidence: What stages and checks established.
        line_count: Lines of the code.
        modes: The ways to look at the code.
    """

    code: str
    task: Task | None
    rubric: Rubric | None
    evidence: Evidence
    line_count: int
    modes: tuple[Mode, ...]


class Reading:
    """Loads and renders what reviewers read; any number of threads may use it."""

    def __init__(self, context: Context, environment: Environment, follower: Follower) -> None:
        """Read from the store of `context`, whose events `follower` follows; `environment` has templates."""
        self._store, self._desk = context.store, context.desk
        self._environment = environment
        self._follower = follower
        self._collector = Collector(context.store)
        self._rendered = Cache(_MOST_CHARACTERS)
        self._exhibits: OrderedDict[str, Exhibits] = OrderedDict()
        self._details: OrderedDict[tuple[object, ...], Detail] = OrderedDict()
        self._lock = Lock()

    def detail(self, item: DeskItem) -> Detail:
        """Return everything about the grading of a review, the judge's draft included.

        It is read again once it is decided, or when a stage was performed anew.
        """
        stages = self._store.list_stages(item.review.grading_id)
        key = item.review.grading_id, item.decided, *stages.values()
        with self._lock:
            known = self._details.get(key)
        if known is None:
            known = self._collector.load_detail(self._store.load_summary(item.review.grading_id))
            with self._lock:
                self._details[key] = known
                while len(self._details) > _MOST_DETAILS:
                    self._details.popitem(last=False)
        return known

    def exhibits(self, item: DeskItem) -> Exhibits:
        """Return what may be read of a review before the commit."""
        key = item.review.grading_id
        found = self._exhibits.get(key)
        if found is None:
            detail = self.detail(item)
            found = Exhibits(
                code=detail.submission.code,
                task=detail.task,
                rubric=detail.rubric,
                evidence=collect_evidence(detail),
                line_count=detail.line_count,
                modes=list_modes(detail.task),
            )
            self._exhibits[key] = found
            while len(self._exhibits) > _MOST_SUBMISSIONS:
                self._exhibits.popitem(last=False)
        return found

    def code(self, item: DeskItem, mode: str) -> Markup:
        """Return the code as `mode` shows it.

        Raises:
            DeskError: ``unknown`` if there is no such mode.
        """
        exhibits = self.exhibits(item)
        if mode not in {known.id for known in exhibits.modes}:
            known = ", ".join(known.id for known in exhibits.modes)
            raise DeskError("unknown", f"there is no way {mode[:60]!r} to look at this code", f"use {known}")
        return self._rendered.find(_code_key(item, mode), lambda: self._render_code(item, exhibits, mode))

    def evidence(self, item: DeskItem) -> Markup:
        """Return the tabs of the evidence."""
        return self._rendered.find(
            _evidence_key(item), lambda: self._render_evidence(self.exhibits(item).evidence)
        )

    def prepare(self, item: DeskItem) -> bool:
        """Render what is looked at first; return False where all of it was there."""
        if _code_key(item, _FIRST_MODE) in self._rendered and _evidence_key(item) in self._rendered:
            return False
        self.code(item, _FIRST_MODE)
        self.evidence(item)
        return True

    def _render_evidence(self, evidence: Evidence) -> Markup:
        template = self._environment.get_template("workspace/evidence.html")
        return Markup(template.render(evidence=evidence, draw_errors=draw_errors))

    def _render_code(self, item: DeskItem, exhibits: Exhibits, mode: str) -> Markup:
        code, task, marks = exhibits.code, exhibits.task, mark_lines(exhibits.evidence.findings)
        if not code:
            return Markup('<p class="notice">There is no code: it was turned away before it was read.</p>')
        kind, _, name = mode.partition(":")
        if kind == "previous":
            before = self._find_previous(item)
            if before is None:
                return Markup('<p class="notice">No earlier attempt of this author is known here.</p>')
            return render_diff(before, code, marks)
        if kind == "submission" or task is None:
            return render_code(code, marks)
        if kind == "source":
            return render_beside(code, marks, task.source[name], name)
        if kind == "starter":
            return render_diff(task.starter, code, marks)
        return render_diff(next(one.code for one in task.solutions if one.name == name), code, marks)

    def _find_previous(self, item: DeskItem) -> str | None:
        """Return what the same author handed in last before, of all that was ever to be reviewed."""
        author = self._desk.pseudonym(item.review.id)
        earlier = [
            other
            for other in self._follower.read(items=True).items.values()
            if other.task_id == item.task_id
            and other.review.opened_at < item.review.opened_at
            and other.submission_id != item.submission_id
            and self._desk.pseudonym(other.review.id) == author
        ]
        if not earlier:
            return None
        newest = max(earlier, key=lambda other: other.review.opened_at)
        return self._store.load_submission(newest.submission_id).code


def _code_key(item: DeskItem, mode: str) -> tuple[str, ...]:
    return "code", item.review.grading_id, mode


def _evidence_key(item: DeskItem) -> tuple[str, ...]:
    return "evidence", item.review.grading_id
