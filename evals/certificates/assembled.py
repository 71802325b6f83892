"""How often the whole path, from labels in a store to certificates, promises what is not so.

    python -m evals.certificates.assembled [--json] [--trials 100]

A trial is a store of its own: drafts whose risk is known, labels that chance gives, then what ``calibrate``
does: observe, split, fit, certify. A violation is a certificate under which more than alpha of what it lets
stand is wrong: of all drafts that are sure enough, for a task and by an author that it covers. Alpha and
delta are .10. Filling a store is what takes time, so each stream is filled once and copied for every trial.

*Smooth*, *flat* and *adversarial* are those of `evals.certificates.selective`, the flat one at .115. *Rare
tasks* and *rare authors*: a third of the stream is wrong at .2, the rest is right and mostly too rare to be
covered. *Copies*: every code was handed in 30 times. *Unequal*: the surest are drawn with twice the chance of
others, and right more often. *Looks*: labels come in four parts, with a calibration after each. *Filed*: what
is wrong was labelled by hand, besides what chance drew. *Criteria*: two levels are wrong together, at .11
where the judge is sure of both, .5 where of neither, and never where of one.

*Answered* makes no claim: where experts answer what is right rather than what is wrong, answers are no sample
of what was drawn, and no test of answers can tell.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evals.certificates.selective import smooth_risk
from evals.certificates.trials import Outcome, report
from pipeline.judge.scoring import grade_overall
from pipeline.review.chances import Secret
from pipeline.review.labels import Label
from pipeline.routing.certifying import certify_policy
from pipeline.routing.fitting import fit, probabilities_of
from pipeline.routing.observations import Observations, observe
from pipeline.routing.splits import Splits
from pipeline.store import Document, StageRecord, Store, open_store
from pipeline.types import (
    Batch,
    BatchItem,
    Costs,
    Criterion,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Level,
    Loss,
    Overall,
    RoutingPolicy,
    Rubric,
    Scope,
    Score,
    Split,
    Submission,
    Verdict,
)

__all__ = ["main", "measure"]

_Array = NDArray[np.float64]

ALPHA: Final = 0.1
DELTA: Final = 0.1
NOON: Final = datetime(2026, 12, 1, 12, tzinfo=UTC)
#: Of drafts in a store, of which about 600 are labelled and half of these certify.
_DRAFTS: Final = 700
_HALVES: Final[dict[Split, float]] = {"choose": 0, "fit": 0.5, "certify": 0.5, "report": 0}
_JUDGED: Final = ("clarity", "safety")
_LEVEL: Final = 3
_WRONG: Final = 0
_COPIES: Final = 30

RUBRIC: Final = Rubric(
    id="assembled",
    version="v1",
    title="Assembled",
    purpose="Two criteria, both for the judge.",
    criteria=tuple(
        Criterion(
            id=name,
            title=name,
            question="?",
            weight=50,
            source="judge",
            evidence=("code",),
            levels=tuple(Level(level=level, anchor="what one sees") for level in range(5)),
        )
        for name in _JUDGED
    ),
    overall=Overall(gates=(), pass_mark=0.6, minimum_scored_weight=0.5),
)
POLICY: Final = RoutingPolicy(
    id="assembled",
    version="v1",
    title="Assembled",
    mode="selective",
    alpha=ALPHA,
    delta=DELTA,
    loss=Loss(),
    by="grade",
    looks=(1.0,),
    calibration_rate=0.2,
    fewest_per_task=5,
    second_review_below=0.5,
    costs=Costs(expert_hour=120, wrong_grade=60),
)
MADE: Final = Fingerprint(
    task="t",
    rubric=RUBRIC.content_hash(),
    prompt="p",
    judge="judge 1",
    executor="emulator 1",
    target="trn2",
    toolchain="0.3",
    numerics="numpy 2",
    comparison="1",
    checks="1",
    confidence="1",
    policy="1",
    isolated=True,
)
SCOPE: Final = Scope.of(MADE)


@dataclass(frozen=True)
class Stream:
    """Drafts, by number.

    Attributes:
        share: Place of each by what the judge says of safety, 0 for the surest; of shape (drafts,).
        risk: Probability that its safety is wrong.
        tasks: Number of its task.
        authors: Number of its author.
        codes: Number of its code.
        other: As `share`, of clarity, which is wrong as often; None where nothing is asked of it.
    """

    share: _Array
    risk: _Array
    tasks: NDArray[np.int64]
    authors: NDArray[np.int64]
    codes: NDArray[np.int64]
    other: _Array | None = None


@dataclass(frozen=True)
class Drawn:
    """What chance made of a stream in one trial.

    Attributes:
        wrong: Whether each draft is; of shape (drafts,).
        parts: Numbers of drafts that were labelled, and with which chance drawn, one part after the other.
    """

    wrong: NDArray[np.bool_]
    parts: tuple[tuple[NDArray[np.int64], _Array], ...]


Draw = Callable[[np.random.Generator, Stream], Drawn]


def _stream(risk: Callable[[_Array], _Array]) -> Stream:
    share = (np.arange(_DRAFTS) + 0.5) / _DRAFTS
    numbers = np.arange(_DRAFTS)
    return Stream(share, risk(share), numbers % 7, numbers % 3, numbers)


def _rare(stream: Stream, *, tasks: bool) -> Stream:
    """Return the stream with a third in one group, wrong at .2, the rest in small groups and right."""
    numbers = np.arange(_DRAFTS)
    large = numbers % 3 == 0
    group = np.where(large, 0, 1 + np.cumsum(~large) // (8 if tasks else 1))
    risk = np.where(large, 0.2, 0.0)
    if tasks:
        return dataclasses.replace(stream, risk=risk, tasks=group)
    return dataclasses.replace(stream, risk=risk, authors=group)


def _copied(stream: Stream) -> Stream:
    codes = np.random.default_rng(0).permutation(_DRAFTS) // _COPIES
    return dataclasses.replace(stream, codes=codes, tasks=codes % 7)


def _crossed(stream: Stream) -> Stream:
    """Return the stream with errors where the judge is sure of both criteria or of none."""
    other = np.random.default_rng(0).permutation(stream.share)
    sure = np.add(stream.share < 0.6, other < 0.6, dtype=np.int64)
    risk = np.array([0.5, 0.0, 0.11])[sure]
    return dataclasses.replace(stream, risk=risk, other=other)


def _toss(generator: np.random.Generator, stream: Stream) -> NDArray[np.bool_]:
    """Return which drafts are wrong; copies of one code are wrong together."""
    tossed: NDArray[np.bool_] = generator.random(_DRAFTS)[stream.codes] < stream.risk
    return tossed


def _draw_all(generator: np.random.Generator, stream: Stream) -> Drawn:
    found = np.flatnonzero(generator.random(_DRAFTS) < 0.85)
    return Drawn(_toss(generator, stream), ((found, np.full(len(found), 0.85)),))


def _draw_unequally(generator: np.random.Generator, stream: Stream) -> Drawn:
    chance = np.where(stream.share < 0.5, 0.9, 0.45)
    found = np.flatnonzero(generator.random(_DRAFTS) < chance)
    return Drawn(_toss(generator, stream), ((found, chance[found]),))


def _draw_in_parts(generator: np.random.Generator, stream: Stream) -> Drawn:
    order = generator.permutation(_DRAFTS)
    parts = tuple((order[: 180 + 170 * part], np.full(180 + 170 * part, 0.2)) for part in range(4))
    return Drawn(_toss(generator, stream), parts)


def _draw_answered(generator: np.random.Generator, stream: Stream) -> Drawn:
    drawn = _draw_all(generator, stream)
    found, chance = drawn.parts[0]
    answered = generator.random(len(found)) < np.where(drawn.wrong[found], 0.5, 1.0)
    return Drawn(drawn.wrong, ((found[answered], chance[answered]),))


@dataclass(frozen=True)
class Setting:
    """A stream, how its labels come about, and what is certified."""

    name: str
    stream: Stream
    draw: Draw = _draw_all
    policy: RoutingPolicy = POLICY
    filed: bool = False
    claim: bool = True


_FLAT: Final = _stream(lambda share: np.full_like(share, 0.115))
_SMOOTH: Final = _stream(smooth_risk)
_LOOKS: Final = POLICY.model_copy(update={"looks": (0.25,) * 4})
SETTINGS: Final = (
    Setting("smooth", _SMOOTH),
    Setting("flat .115", _FLAT),
    Setting("adversarial", _stream(lambda share: np.where(share < 0.1, 0.5, 0.06))),
    Setting("rare tasks", _rare(_FLAT, tasks=True)),
    Setting("rare authors", _rare(_FLAT, tasks=False)),
    Setting("copies", _copied(_FLAT)),
    Setting("unequal", _stream(lambda share: np.where(share < 0.5, 0.05, 0.17)), _draw_unequally),
    Setting("looks, flat", _FLAT, _draw_in_parts, _LOOKS),
    Setting("looks, smooth", _SMOOTH, _draw_in_parts, _LOOKS),
    Setting("filed", _FLAT, filed=True),
    Setting("criteria", _crossed(_FLAT), policy=POLICY.model_copy(update={"by": "criteria"})),
    Setting("answered where right", _FLAT, _draw_answered, claim=False),
)


def measure(trials: int = 100, seed: int = 0, wanted: str = "") -> list[Outcome]:
    """Return how often a certificate is wrong, in every setting.

    Args:
        trials: Stores per setting.
        seed: Of all draws.
        wanted: Beginning of the names of settings that are wanted.
    """
    return [
        _measure(setting, trials, np.random.default_rng([seed, place]))
        for place, setting in enumerate(SETTINGS)
        if setting.name.startswith(wanted)
    ]


def _measure(setting: Setting, trials: int, generator: np.random.Generator) -> Outcome:
    violated, coverages = 0, np.zeros(trials)
    with tempfile.TemporaryDirectory() as folder:
        filled = Path(folder) / "filled.duckdb"
        with open_store(filled) as store:
            fill(store, setting.stream)
        for trial in range(trials):
            copied = Path(folder) / f"trial-{trial}.duckdb"
            shutil.copy(filled, copied)
            with open_store(copied) as store:
                secret = Secret(value=generator.bytes(32).hex())
                store.desk.save_record("secret", "desk", secret)
                found = _try(store, setting, setting.draw(generator, setting.stream))
            copied.unlink()
            violated += any(bad for bad, _ in found)
            coverages[trial] = found[-1][1]
    mean = f"mean coverage {coverages.mean():.2f}"
    if not setting.claim:
        return Outcome(setting.name, violated, trials, remark=mean)
    return Outcome(setting.name, violated, trials, "most", DELTA, mean)


def _try(store: Store, setting: Setting, drawn: Drawn) -> list[tuple[bool, float]]:
    """Return of each calibration whether more than alpha of what stands is wrong, and how much stands."""
    splits = Splits(store, _HALVES)
    found = []
    for numbers, chances in drawn.parts:
        labels = [
            one
            for number, chance in zip(numbers.tolist(), chances.tolist(), strict=True)
            for one in tell(setting.stream, number, wrong=bool(drawn.wrong[number]), chance=chance)
        ]
        if setting.filed:
            by_hand = np.flatnonzero(drawn.wrong & (np.arange(_DRAFTS) % 3 == 0)).tolist()
            labels += [
                one
                for number in by_hand
                for one in tell(setting.stream, number, wrong=True, chance=None, rater="adam")
            ]
        seen = observe(store, SCOPE, labels, setting.policy)
        found.append(_judge(seen, splits, setting))
    return found


def _judge(seen: Observations, splits: Splits, setting: Setting) -> tuple[bool, float]:
    fitted = fit(seen, splits, setting.policy)
    issued = [one.certificate for one in certify_policy(seen, fitted, splits, setting.policy)]
    if fitted.calibrator is None or any(one.threshold is None for one in issued):
        return False, 0.0
    stands = np.ones(len(seen.units), dtype=np.bool_)
    for one in issued:
        assert one.threshold is not None
        stands &= probabilities_of(fitted.calibrator, seen.units, one.criterion) >= one.threshold
        stands &= [unit.task in one.tasks and unit.author in one.authors for unit in seen.units]
    numbers = [int(unit.submission_id.removeprefix("s-")) for unit in seen.units]
    risk = setting.stream.risk[numbers]
    return bool(stands.any() and risk[stands].mean() > ALPHA), float(stands.mean())


def fill(store: Store, stream: Stream) -> None:
    """Keep the drafts of a stream as grading would."""
    rubric = Document(
        kind="rubric",
        id=RUBRIC.id,
        version=RUBRIC.version,
        sha256=RUBRIC.content_hash(),
        text=RUBRIC.model_dump_json(),
    )
    store.save_documents([rubric])
    inspection = Inspection(verdict=Verdict.CORRECT, sandbox="bubblewrap")
    store.record_stage(
        StageRecord(stage="inspect", key="all", output=inspection.model_dump_json(), seconds=1)
    )
    items = []
    for number, share in enumerate(stream.share.tolist()):
        other = 0.5 if stream.other is None else 1 - float(stream.other[number])
        scores = [
            Score(criterion=name, level=_LEVEL, source="judge", reason="", confidence=sure)
            for name, sure in zip(_JUDGED, (other, 1 - share), strict=True)
        ]
        draft = Judgment(judge="judge 1", scores=tuple(scores), overall=grade_overall(RUBRIC, scores, ()))
        submission = Submission(
            id=f"s-{number}", task_id=f"task-{stream.tasks[number]}", code=f"# {stream.codes[number]}"
        )
        store.save_submissions([submission])
        store.save_gradings([Grading(id=f"g-{number}", submission_id=submission.id, fingerprint=MADE)])
        record = StageRecord(stage="judge", key=f"{number}", output=draft.model_dump_json(), seconds=1)
        store.record_stage(record)
        store.link_stages(f"g-{number}", {"inspect": "all", "judge": f"{number}"})
        origin = f"author-{stream.authors[number]}/{number}.py"
        items.append(BatchItem(grading_id=f"g-{number}", submission_id=submission.id, origin=origin))
    store.open_batch(Batch(id="b", opened_at=NOON, items=tuple(items)))
    store.flush()


def tell(
    stream: Stream, number: int, *, wrong: bool, chance: float | None, rater: str = "anna"
) -> list[Label]:
    """Return what an expert says of a draft, safety being what is wrong, or both where both are asked."""
    far = _JUDGED if stream.other is not None else _JUDGED[1:]
    return [
        Label(
            review_id="",
            slot=None,
            grading_id=f"g-{number}",
            submission_id=f"s-{number}",
            task_id=f"task-{stream.tasks[number]}",
            rubric=RUBRIC.content_hash(),
            criterion=name,
            state="judged",
            level=_WRONG if wrong and name in far else _LEVEL,
            reason="",
            rater=rater,
            source="file",
            purpose=None,
            sampling="route",
            probability=chance,
            calibration=chance,
            seconds=None,
            at=NOON,
        )
        for name in _JUDGED
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; exit code 1 where a claim fails."""
    parser = argparse.ArgumentParser(description="Violation rates of the assembled path.")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--only", default="", help="beginning of the names of settings")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    title = f"Assembled path: alpha {ALPHA}, delta {DELTA}"
    return report(title, measure(asked.trials, wanted=asked.only), ["--json"] if asked.json else [])


if __name__ == "__main__":
    sys.exit(main())
