"""Golden-set replay: whether a judge still says of the same submissions what it said when they were graded.

A provider may change a model without a word. So the present judge is asked afresh about a fixed set, with the
facts, rubric and prompt that its kept drafts were made from: whatever differs is the judge. A model never
agrees with itself wholly, so its flips are held against those that it makes unchanged: between answers of
earlier replays that found no change, or, where too few are known, between two fresh answers of this one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pipeline.config import Settings
from pipeline.judge import Judge, JudgeRequest, open_judge
from pipeline.judge.protocol import JudgmentDeferred
from pipeline.routing.golden_set import GoldenItem, choose_golden
from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.paired import estimate_difference, estimate_share
from pipeline.store import Store
from pipeline.types import Fault, Frozen, Judgment, hash_text

if TYPE_CHECKING:
    from pipeline.judge.calls.caller import Caller

__all__ = ["CONFIDENCE", "Replay", "ReplayedItem", "replay_golden"]

#: Two-sided, of the interval that decides. With 20 or 40 items an unchanged judge was suspected in 0.3 to
#: 2.5 % of simulated nights.
CONFIDENCE: Final = 0.99

_KIND: Final = "judge_replay"


class ReplayedItem(Frozen):
    """What a replay found of one submission."""

    grading_id: str
    submission_id: str
    task_id: str
    levels: int
    """Criteria that the judge was asked about."""
    flips: int
    """Of these, criteria to which it now gives another level, or one instead of none, than the kept draft."""
    pass_flipped: bool
    """Whether the overall pass or fail is another."""
    self_flips: int | None
    """Flips between two fresh answers; None where only one was asked for."""


class _Record(Frozen):
    """One replay, as it is kept for the next."""

    judge: str
    label: str
    at: datetime
    items: tuple[ReplayedItem, ...]
    changed: bool | None


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of asking a judge again.

    Attributes:
        judge: Its id.
        label: Under which it was asked; the same label again asks nothing anew.
        items: What was compared.
        left_out: Items that were not, by the reason in words.
        flips: Share of levels that flipped, the mean over items.
        passes: Share of items whose pass or fail flipped.
        usual: Share of levels that flip while nothing changes.
        asked_twice: Whether `usual` rests on two fresh answers, not on earlier replays.
        excess: `flips` minus `usual`, on the same items.
        changed: Whether the flips are beyond that noise; None where too little is known.
        stopped: Why nothing more could be asked; nothing is concluded then, and the same label goes on.
    """

    judge: str
    label: str
    items: tuple[ReplayedItem, ...]
    left_out: Mapping[str, int]
    flips: Estimate
    passes: Estimate
    usual: Estimate
    asked_twice: bool
    excess: Estimate
    changed: bool | None
    stopped: Fault | None

    @property
    def sentence(self) -> str:
        """The verdict."""
        if self.stopped is not None:
            return f"Nothing can be said yet: {self.stopped.message}."
        span = self.excess.interval
        if self.changed is None or span is None or self.flips.value is None or self.excess.value is None:
            return f"Nothing can be said of this judge: {self.excess.reason} submissions."
        verdict = "The judge has changed" if self.changed else "No change beyond the judge's own noise"
        return (
            f"{verdict}: {self.flips.value:.3f} of its levels flip, {self.excess.value:+.3f} beside what"
            f" flips while nothing changes ({100 * CONFIDENCE:g} % interval {span.low:+.3f} to"
            f" {span.high:+.3f}, {self.excess.n} submissions)."
        )


def replay_golden(
    store: Store,
    settings: Settings,
    count: int,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Replay:
    """Ask the judge of `settings` again about its golden set, and keep what came of it for the next replay.

    Args:
        store: Where drafts are, and where answers, costs and replays are kept.
        settings: Name the judge, and in `fresh` the label to ask under.
        count: How many submissions at most; those of earlier replays first.
        clock: For tests.

    Raises:
        ValueError: If `settings` have no label: stored answers would be compared with themselves.
        GraderError: If there is no such judge, it is not set up as it should be, or no draft by it is of a
            planted or labelled submission.
    """
    if not settings.fresh:
        raise ValueError("a replay needs a label to ask afresh under")
    judge = open_judge(replace(settings, fresh=""), store).id
    earlier = [
        record
        for record in store.desk.list_records(_KIND, _Record)
        if record.judge == judge and record.label != settings.fresh
    ]
    before = {item.submission_id for record in earlier for item in record.items}
    golden = choose_golden(store, judge, count, first=before)
    usual = _read_noise(earlier)
    twice = sum(item.request.grading_id in usual for item in golden) < MINIMUM
    labels = (settings.fresh, f"{settings.fresh}.2") if twice else (settings.fresh,)
    answers, stopped = asyncio.run(_ask_each(store, settings, labels, [item.request for item in golden]))
    items: list[ReplayedItem] = []
    left_out: Counter[str] = Counter()
    for item, given in zip(golden, answers, strict=True):
        drafts = [draft for draft in given if draft is not None and draft.fault is None]
        if len(drafts) == len(labels):
            items.append(_compare(item, drafts))
        else:
            left_out[_explain(given)] += 1
    found = _conclude(judge, settings.fresh, items, left_out, None if twice else usual, stopped)
    if stopped is None:
        record = _Record(
            judge=judge, label=settings.fresh, at=clock(), items=found.items, changed=found.changed
        )
        store.desk.save_record(_KIND, hash_text(judge, settings.fresh), record)
    return found


def _conclude(
    judge: str,
    label: str,
    items: Sequence[ReplayedItem],
    left_out: Mapping[str, int],
    known: Mapping[str, float] | None,
    stopped: Fault | None,
) -> Replay:
    noise = known or {item.grading_id: (item.self_flips or 0) / item.levels for item in items}
    paired = [item for item in items if item.grading_id in noise]
    usual = [noise[item.grading_id] for item in paired]
    excess = estimate_difference(
        usual,
        [item.flips / item.levels for item in paired],
        [item.grading_id for item in paired],
        confidence=CONFIDENCE,
    )
    changed = excess.interval.low > 0 if stopped is None and excess.interval is not None else None
    return Replay(
        judge=judge,
        label=label,
        items=tuple(items),
        left_out=dict(left_out),
        flips=_estimate_share([item.flips / item.levels for item in items]),
        passes=_estimate_share([float(item.pass_flipped) for item in items]),
        usual=_estimate_share(usual),
        asked_twice=known is None,
        excess=excess,
        changed=changed,
        stopped=stopped,
    )


def _estimate_share(shares: Sequence[float]) -> Estimate:
    """Return the mean of one share per item."""
    return estimate_share(shares, range(len(shares)))


def _read_noise(earlier: Iterable[_Record]) -> dict[str, float]:
    """Return, by grading, how often its levels flipped while nothing changed."""
    levels: Counter[str] = Counter()
    flips: Counter[str] = Counter()
    for record in earlier:
        for item in record.items:
            found = [item.flips] if record.changed is False else []
            found += [item.self_flips] if item.self_flips is not None else []
            levels[item.grading_id] += item.levels * len(found)
            flips[item.grading_id] += sum(found)
    return {name: flips[name] / count for name, count in levels.items() if count}


def _compare(item: GoldenItem, drafts: Sequence[Judgment]) -> ReplayedItem:
    kept, first, *second = [_levels_of(draft) for draft in (item.kept, *drafts)]
    return ReplayedItem(
        grading_id=item.request.grading_id,
        submission_id=item.request.submission.id,
        task_id=item.request.task.id,
        levels=len(kept),
        flips=_count_flips(kept, first),
        pass_flipped=item.kept.overall.passed != drafts[0].overall.passed,
        self_flips=_count_flips(first, second[0]) if second else None,
    )


def _levels_of(draft: Judgment) -> dict[str, int | None]:
    return {score.criterion: score.level for score in draft.scores if score.source == "judge"}


def _count_flips(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> int:
    return sum(level != after.get(criterion) for criterion, level in before.items())


def _explain(given: Iterable[Judgment | None]) -> str:
    fault = next((draft.fault for draft in given if draft is not None and draft.fault is not None), None)
    return f"the judge could not draft it: {fault.code}" if fault is not None else "the judge was not asked"


async def _ask_each(
    store: Store, settings: Settings, labels: Sequence[str], requests: Sequence[JudgeRequest]
) -> tuple[list[list[Judgment | None]], Fault | None]:
    """Return per request the answer under each label, None where it was not asked, and what stopped that."""
    # One caller for both draws: what a run may cost is counted there.
    caller = _open_caller(settings, store)
    answers: list[list[Judgment | None]] = [[] for _ in requests]
    for label in labels:
        judge = open_judge(replace(settings, fresh=label), store, caller=caller)
        try:
            for given, answer in zip(answers, await _ask_all(judge, requests), strict=True):
                given.append(answer)
        finally:
            await judge.aclose()
        if judge.stopped is not None:
            return answers, judge.stopped
    return answers, None


async def _ask_all(judge: Judge, requests: Sequence[JudgeRequest]) -> list[Judgment | None]:
    found: list[Judgment | None] = [None] * len(requests)

    async def ask_some(places: Iterator[int]) -> None:
        for place in places:
            if judge.stopped is None:
                try:
                    found[place] = await judge.judge(requests[place])
                except JudgmentDeferred:
                    continue

    while True:
        left = [place for place, answer in enumerate(found) if answer is None]
        places = iter(left)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(judge.in_flight, len(left))):
                    group.create_task(ask_some(places))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        if None not in found or judge.stopped is not None or not await judge.fetch():
            return found


def _open_caller(settings: Settings, store: Store) -> Caller | None:
    if settings.judge == "rules":
        return None
    # The SDKs take seconds to import: only judges that ask a model pay for them.
    from pipeline.judge.batches import BatchCaller
    from pipeline.judge.calls.caller import LiveCaller
    from pipeline.judge.setup import read_setup

    setup = read_setup(settings)
    return BatchCaller(setup, store) if settings.provider_batches else LiveCaller(setup, store)
