"""What the numerics study saw of an output's errors: the picture, and words for where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipeline.types import CaseKind, ErrorPicture, RunResult

__all__ = ["Precision", "find_precision"]


@dataclass(frozen=True, slots=True)
class Precision:
    """The errors of one output of one case that may be shown.

    Attributes:
        case: Name of the case.
        output: Name of the output.
        picture: How its errors are distributed, and where.
        words: The same in two sentences.
    """

    case: str
    output: str
    picture: ErrorPicture
    words: str


def find_precision(run: RunResult | None) -> Precision | None:
    """Return the errors that the study of `run` saw; None where it saw none, or those of a hidden case."""
    if run is None or run.study is None or run.study.picture is None:
        return None
    study, picture = run.study, run.study.picture
    # A picture has as many rows as its output: a hidden size would be read off it.
    if not any(case.case == study.case and case.kind is not CaseKind.HIDDEN for case in run.cases):
        return None
    return Precision(study.case, study.output, picture, _describe(picture))


def _describe(picture: ErrorPicture) -> str:
    total = sum(picture.ulp_counts)
    rounded = sum(
        count for edge, count in zip(picture.ulp_edges[1:], picture.ulp_counts, strict=True) if edge <= 1
    )
    last = max((place for place, count in enumerate(picture.ulp_counts) if count), default=0)
    most = picture.ulp_edges[last + 1]
    exact = f"all are within {most:g}"
    worst = exact if math.isfinite(most) else f"the worst is over {picture.ulp_edges[last]:g} off"
    return (
        f"{_percent(rounded, total)} of {total} elements are within one unit in the last place, {worst}."
        f" {_describe_worst(picture)}"
    )


def _describe_worst(picture: ErrorPicture) -> str:
    cells = [
        (value, row, column) for row, line in enumerate(picture.map) for column, value in enumerate(line)
    ]
    worst, row, column = max(cells, key=lambda cell: cell[0], default=(0.0, 0, 0))
    if worst == 0:
        return "There is no error at all."
    rows = _range(row, len(picture.map), picture.map_shape[0])
    columns = _range(column, len(picture.map[0]), picture.map_shape[1])
    size = f"{worst:.2g} times" if math.isfinite(worst) else "beyond any multiple of"
    return f"The largest error is {size} its limit, in rows {rows}, columns {columns}."


def _range(cell: int, cells: int, length: int) -> str:
    return f"{cell * length // cells}:{(cell + 1) * length // cells}"


def _percent(count: int, total: int) -> str:
    """Return a share that is 100 % only where it is all, e.g. ``99.9%``."""
    if count == total:
        return "100%"
    return f"{math.floor(1000 * count / total) / 10:g}%"
