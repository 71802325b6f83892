"""A stored run, and what got worse since, beyond what chance does.

Shares some of whose trials have names that both runs know are compared trial by trial: of those that came
out otherwise, were more for the worse than a fair coin would have? Other shares are compared by Fisher's
exact test, and other numbers with the stored interval. Tests are one-sided, at 5 % over all rows together
(Bonferroni).

Sources: Q. McNemar (1947), in its exact form; R. A. Fisher (1935).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evals.suites.table import Row, Table
from pipeline.errors import GraderError
from pipeline.report.output import write_whole
from pipeline.types import Fault, Owner

__all__ = ["FOLDER", "Comparison", "coin_p_value", "compare", "read_baseline", "write_baseline"]

FOLDER: Final = Path(__file__).parents[1] / "baselines"
_ALPHA: Final = 0.05


class _StoredRow(BaseModel):
    """What is read of a row of a stored run."""

    model_config = ConfigDict(allow_inf_nan=False, extra="allow", strict=True)

    name: str
    what: str
    value: float | None
    n: int = Field(ge=0)
    hits: int | None = Field(ge=0)
    low: float | None
    high: float | None
    items: dict[str, bool] | None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hits is not None and self.hits > self.n:
            raise ValueError("it happened more often than it was tried")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends")
        return self


class _StoredRun(BaseModel):
    """What is read of a stored run."""

    model_config = ConfigDict(extra="allow", strict=True)

    suite: str
    judge: str
    date: str
    rows: list[_StoredRow]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run beside a baseline.

    Attributes:
        judge: Whose run the baseline is; empty where the suite asks none.
        date: When it was made.
        same_judge: Whether this run's judge is the same.
        compared: How many rows were: something was tried then and now.
        worse: What got worse beyond chance, one line each.
        moved: Trials that came out worse, beyond chance or not, one line each.
        better: What got better beyond chance, one line each.
    """

    judge: str
    date: str
    same_judge: bool
    compared: int
    worse: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)


def coin_p_value(heads: int, tails: int) -> float:
    """Return a fair coin's chance to show `heads` or more in as many throws; 1 where there are none.

    Raises:
        ValueError: If a count is below 0.
    """
    if min(heads, tails) < 0:
        raise ValueError("counts are 0 or more")
    from scipy.special import bdtr

    # P(X >= h) = P(n - X <= t), and n - X is such a coin too.
    return float(bdtr(tails, heads + tails, 0.5)) if heads + tails else 1.0


def compare(table: Table, stored: Mapping[str, Any]) -> Comparison:
    """Return `table` beside a baseline that `read_baseline` read."""
    known = {(row["name"], row["what"]): row for row in stored["rows"]}
    pairs = [
        (row, known[row.name, row.what])
        for row in table.rows
        if row.better is not None and row.n and known.get((row.name, row.what), {}).get("n")
    ]
    level = _ALPHA / max(1, len(pairs))
    found = Comparison(
        judge=stored["judge"],
        date=stored["date"],
        same_judge=stored["judge"] == table.judge,
        compared=len(pairs),
    )
    for row, before in pairs:
        was = f"{_show(before['value'])} (n {before['n']})"
        title = f"{row.name}, {row.what}: {_show(row.value)} (n {row.n}), was {was}"
        down, up = _test(row, before)
        if down < level:
            found.worse.append(title)
        elif up < level:
            found.better.append(title)
        found.moved.extend(f"{row.name}, {row.what}: {name}" for name in _moved(row, before)[0])
    return found


def read_baseline(path: Path, suite: str) -> dict[str, Any]:
    """Return the stored run of `suite` at `path`.

    Raises:
        GraderError: If there is none there, or it is another suite's.
    """
    try:
        stored = _StoredRun.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _refuse(path, f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise _refuse(path, "is no baseline of a suite") from None
    if stored.suite != suite:
        raise _refuse(path, f"is a baseline of {stored.suite!r}, not of {suite!r}")
    return stored.model_dump()


def write_baseline(path: Path, table: Table) -> None:
    """Store a run at `path`.

    Raises:
        GraderError: If it cannot be written.
    """
    stored = table.to_data() | {"date": datetime.now(UTC).date().isoformat()}
    with write_whole(path, "run") as file:
        file.write(json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _test(row: Row, before: Mapping[str, Any]) -> tuple[float, float]:
    """Return how improbable it is that `row` is only by chance as much worse, and as much better."""
    if (row.items or {}).keys() & (before["items"] or {}).keys():
        worse, better = _moved(row, before)
        return coin_p_value(len(worse), len(better)), coin_p_value(len(better), len(worse))
    if row.hits is not None and before["hits"] is not None:
        return _test_shares(row, before)
    if row.value is None or before["low"] is None:
        return 1.0, 1.0
    low, high = float(before["low"]), float(before["high"])
    below, above = row.value < low, row.value > high
    down, up = (above, below) if row.better == "lower" else (below, above)
    return 0.0 if down else 1.0, 0.0 if up else 1.0


def _test_shares(row: Row, before: Mapping[str, Any]) -> tuple[float, float]:
    from scipy.stats import fisher_exact

    counts = [[row.hits, row.n - (row.hits or 0)], [before["hits"], before["n"] - before["hits"]]]
    more = float(fisher_exact(counts, alternative="greater").pvalue)
    fewer = float(fisher_exact(counts, alternative="less").pvalue)
    return (more, fewer) if row.better == "lower" else (fewer, more)


def _moved(row: Row, before: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of trials that came out worse than before, and better."""
    now, then = row.items or {}, before["items"] or {}
    differing = [name for name in now if name in then and now[name] is not bool(then[name])]
    bad = row.better == "lower"
    return [n for n in differing if now[n] is bad], [n for n in differing if now[n] is not bad]


def _show(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _refuse(path: Path, what: str) -> GraderError:
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="invalid",
            message=what,
            where=str(path),
            remedy="name a file that `evals run NAME --write-baseline` wrote",
        )
    )
