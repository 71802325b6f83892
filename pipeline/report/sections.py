"""The numbers of a batch report: counted from gradings, never formatted here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.report.collect import Detail
from pipeline.stats.intervals import Interval, wilson_interval
from pipeline.store import GradingSummary
from pipeline.types import Batch, CheckStatus, Destination, Rubric, Verdict

__all__ = [
    "CheckCount",
    "CriterionLevels",
    "Identity",
    "Rate",
    "Sections",
    "Standing",
    "Step",
    "TaskOutcome",
    "count_sections",
]

#: Verdicts of a program that was traced, whatever became of it afterwards.
_BUILT = (None, Verdict.ILLEGAL_ON_TARGET, Verdict.NO_DEVICE_WORK)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with what it is a share of.

    Attributes:
        count: Successes.
        total: Trials.
        interval: 95 % Wilson interval; 0 to 1 without trials.
    """

    count: int
    total: int
    interval: Interval

    @staticmethod
    def of(count: int, total: int) -> Rate:
        """Return the rate of `count` out of `total`."""
        return Rate(count, total, wilson_interval(count, total))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the funnel.

    Attributes:
        name: What a submission that got here is.
        count: How many got here.
        lost: Why others of the step before did not, with counts, most frequent first.
    """

    name: str
    count: int
    lost: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the inputs of a batch stand now; the counts add up to the inputs.

    Attributes:
        released: Graded, by gates that facts closed or by a person.
        waiting: A person is asked.
        decided: A person has decided, and the grade is about to be written.
        held: Infrastructure failed; the next run tries again.
        open: Not reached yet.
        rejected: No submission of a known task.
    """

    released: int
    waiting: int
    decided: int
    held: int
    open: int
    rejected: int


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """One task in the batch.

    Attributes:
        task_id: The task.
        title: Its title, or its id where the task's text is lost.
        verdicts: Count per verdict; None counts those without one yet.
        correct: Correct ones among those with a verdict that says something about the submission.
        passed: Passes among those with an overall pass or fail.
        overall: Overall numbers, 0..1, ascending; those without one are absent.
        pass_mark: Smallest overall number that passes.
    """

    task_id: str
    title: str
    verdicts: dict[Verdict | None, int]
    correct: Rate
    passed: Rate
    overall: tuple[float, ...]
    pass_mark: float | None


@dataclass(frozen=True, slots=True)
class CriterionLevels:
    """How often each level of a criterion was given.

    Attributes:
        title: What the criterion is called.
        source: Who scores it.
        levels: Count per level from 0 to 4.
        unscored: How often it has no level.
    """

    title: str
    source: str
    levels: tuple[int, ...]
    unscored: int


@dataclass(frozen=True, slots=True)
class CheckCount:
    """How often a check passed, failed and had nothing to go by."""

    check: str
    passed: int
    failed: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Identity:
    """What graded the batch; each holds every distinct value found in it."""

    executors: tuple[str, ...]
    targets: tuple[str, ...]
    toolchains: tuple[str, ...]
    sandboxes: tuple[str, ...]
    judges: tuple[str, ...]
    rubrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sections:
    """Every number of a report, in the order in which it shows them."""

    batch: Batch
    rows: tuple[GradingSummary, ...]
    funnel: tuple[Step, ...]
    standing: Standing
    waiting_reasons: tuple[tuple[str, int], ...]
    """Kinds of reasons for which gradings wait for a person, most frequent first."""
    tasks: tuple[TaskOutcome, ...]
    criteria: dict[str, tuple[CriterionLevels, ...]]
    """By rubric and version, e.g. ``performance_quality v1``."""
    checks: tuple[CheckCount, ...]
    identity: Identity


def count_sections(batch: Batch, rows: tuple[GradingSummary, ...], details: Iterable[Detail]) -> Sections:
    """Return every number of the report of `batch`; `details` is read once and not kept."""
    tally = _Tally()
    for detail in details:
        tally.add(detail)
    return Sections(
        batch=batch,
        rows=rows,
        funnel=tally.funnel(rejected=Counter(rejection.fault.code for rejection in batch.rejections)),
        standing=_stand(rows, len(batch.rejections)),
        waiting_reasons=_rank(Counter(_kind_of(row.reason) for row in rows if row.state == "waiting")),
        tasks=_outcomes(rows, tally),
        criteria=tally.criteria(),
        checks=tally.checks(),
        identity=tally.identity(),
    )


def _rank(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _kind_of(reason: str) -> str:
    """Return a reason without what is particular to one submission, which stands after the colon."""
    return reason.partition(": ")[0]


def _stand(rows: tuple[GradingSummary, ...], rejected: int) -> Standing:
    states = Counter(row.state for row in rows)
    return Standing(
        released=states["graded"],
        waiting=states["waiting"],
        decided=states["decided"],
        held=states["held"],
        open=states["open"],
        rejected=rejected,
    )


def _outcomes(rows: tuple[GradingSummary, ...], tally: _Tally) -> tuple[TaskOutcome, ...]:
    by_task: defaultdict[str, list[GradingSummary]] = defaultdict(list)
    for row in rows:
        by_task[row.task_id].append(row)
    return tuple(
        _outcome(task_id, of_task, tally.titles.get(task_id, task_id), tally.pass_marks.get(task_id))
        for task_id, of_task in sorted(by_task.items())
    )


def _outcome(task_id: str, rows: list[GradingSummary], title: str, pass_mark: float | None) -> TaskOutcome:
    verdicts = Counter(row.verdict for row in rows)
    # What the emulator does not know or a machine broke says nothing about the author.
    silent = verdicts[None] + verdicts[Verdict.UNSUPPORTED] + verdicts[Verdict.INFRASTRUCTURE]
    settled = [row.passed for row in rows if row.passed is not None]
    return TaskOutcome(
        task_id=task_id,
        title=title,
        verdicts=dict(verdicts),
        correct=Rate.of(verdicts[Verdict.CORRECT], len(rows) - silent),
        passed=Rate.of(sum(settled), len(settled)),
        overall=tuple(sorted(row.overall for row in rows if row.overall is not None)),
        pass_mark=pass_mark,
    )


class _Tally:
    """Counts that need more than the one-line summaries, gathered one grading at a time."""

    def __init__(self) -> None:
        self.titles: dict[str, str] = {}
        self.pass_marks: dict[str, float] = {}
        self._reached: Counter[str] = Counter()
        self._lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._checks: defaultdict[str, Counter[CheckStatus]] = defaultdict(Counter)
        self._levels: defaultdict[tuple[str, str], Counter[int | None]] = defaultdict(Counter)
        self._rubrics: dict[str, Rubric] = {}
        self._identity: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, detail: Detail) -> None:
        self._follow(detail)
        if detail.task is not None:
            self.titles[detail.task.id] = detail.task.title
        if detail.inspection is not None:
            for report in detail.inspection.reports:
                self._checks[report.check][report.status] += 1
        self._identify(detail)
        if detail.rubric is None:
            return
        self.pass_marks[detail.submission.task_id] = detail.rubric.overall.pass_mark
        name = f"{detail.rubric.id} {detail.rubric.version}"
        self._rubrics[name] = detail.rubric
        for score in detail.scores:
            self._levels[name, score.criterion][score.level] += 1

    def _follow(self, detail: Detail) -> None:
        """Count how far a submission came, and what stopped it there."""
        verdict = detail.inspection.verdict if detail.inspection else detail.summary.verdict
        word = _why_stopped(detail, verdict)
        if detail.submission.refusal is not None:
            self._lost["admitted"][word] += 1
            return
        self._reached["admitted"] += 1
        if detail.build is None or detail.build.verdict not in _BUILT:
            self._lost["built"][word] += 1
            return
        self._reached["built"] += 1
        if detail.build.verdict is Verdict.ILLEGAL_ON_TARGET:
            self._lost["legal"][word] += 1
            return
        self._reached["legal"] += 1
        if verdict is not Verdict.CORRECT:
            self._lost["correct"][word] += 1
            return
        self._reached["correct"] += 1

    def _identify(self, detail: Detail) -> None:
        made = detail.fingerprint
        self._identity["targets"].add(made.target)
        self._identity["toolchains"].add(made.toolchain)
        self._identity["judges"].add(made.judge)
        if detail.build is not None:
            self._identity["executors"].add(detail.build.executor)
            self._identity["sandboxes"].add(detail.build.sandbox)
        if detail.rubric is not None:
            self._identity["rubrics"].add(f"{detail.rubric.id} {detail.rubric.version}")

    def funnel(self, rejected: Counter[str]) -> tuple[Step, ...]:
        refused = self._lost["admitted"]
        steps = [Step("received", self._reached["admitted"] + refused.total() + rejected.total(), ())]
        for name in ("admitted", "built", "legal", "correct"):
            lost = self._lost[name] + rejected if name == "admitted" else self._lost[name]
            steps.append(Step(name, self._reached[name], _rank(lost)))
        return tuple(steps)

    def criteria(self) -> dict[str, tuple[CriterionLevels, ...]]:
        tables = {}
        for name, rubric in sorted(self._rubrics.items()):
            tables[name] = tuple(
                CriterionLevels(
                    title=criterion.title,
                    source=criterion.source,
                    levels=tuple(self._levels[name, criterion.id][level] for level in range(5)),
                    unscored=self._levels[name, criterion.id][None],
                )
                for criterion in rubric.criteria
            )
        return tables

    def checks(self) -> tuple[CheckCount, ...]:
        return tuple(
            CheckCount(
                check,
                statuses[CheckStatus.PASSED],
                statuses[CheckStatus.FAILED],
                statuses[CheckStatus.UNKNOWN],
            )
            for check, statuses in self._checks.items()
        )

    def identity(self) -> Identity:
        return Identity(
            **{
                name: tuple(sorted(self._identity[name]))
                for name in ("executors", "targets", "toolchains", "sandboxes", "judges", "rubrics")
            }
        )


def _why_stopped(detail: Detail, verdict: Verdict | None) -> str:
    if verdict is not None:
        return verdict.value
    if detail.route is not None and detail.route.destination is Destination.HOLD:
        return "held"
    return "not reached yet"
