"""A stored run, and what got worse since, beyond what chance does.

Shares whose trials have names are compared trial by trial: of those that came out otherwise, were more for
the worse than a fair coin would have? Other shares are compared by Fisher's exact test, and other numbers
with the stored interval. Tests are one-sided, at 5 % over all rows together (Bonferroni).

Sources: Q. McNemar (1947), in its exact form; R. A. Fisher (1935).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evals.suites.table import Row, Table
from pipeline.errors import GraderError
from pipeline.types import Fault, Owner

__all__ = ["FOLDER", "Comparison", "coin_p_value", "compare", "read_baseline", "write_baseline"]

FOLDER: Final = Path(__file__).parents[1] / "baselines"
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run beside a baseline.

    Attributes:
        judge: Whose run the baseline is; empty where the suite asks none.
        date: When it was made.
        same_judge: Whether this run's judge is the same.
        compared: How many rows were.
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
        if row.better is not None and (row.name, row.what) in known
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
        stored = json.loads(path.read_text(encoding="utf-8"))
        named, rows = stored["suite"], stored["rows"]
        whole = all(
            {"name", "what", "value", "n", "hits", "low", "high", "items"} <= row.keys() for row in rows
        )
    except OSError as error:
        raise _refuse(path, f"cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _refuse(path, "is no baseline of a suite") from None
    if not whole or not {"judge", "date"} <= stored.keys():
        raise _refuse(path, "is no baseline of a suite")
    if named != suite:
        raise _refuse(path, f"is a baseline of {named!r}, not of {suite!r}")
    return dict(stored)


def write_baseline(path: Path, table: Table) -> None:
    """Store a run at `path`.

    Raises:
        OSError: If it cannot be written.
    """
    stored = table.to_data() | {"date": datetime.now(UTC).date().isoformat()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _test(row: Row, before: Mapping[str, Any]) -> tuple[float, float]:
    """Return how improbable it is that `row` is only by chance as much worse, and as much better."""
    if row.items is not None and before["items"] is not None:
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
