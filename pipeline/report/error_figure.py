"""The errors of one output as inline SVG: a histogram in ulp, and a map of the output beside it.

Written by hand and not by matplotlib: every submission of a report has one, and so it takes a millisecond and
a few kilobytes. Colours are style variables of the page, so that it follows its light and dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from markupsafe import Markup

from pipeline.report.precision import Precision
from pipeline.types import ErrorPicture

__all__ = ["draw_errors"]

#: Steps of an error over its limit: up to where, in what words, and in which colour and how opaque.
_STEPS: Final = (
    (0.1, "up to a tenth", "accent", 0.15),
    (0.5, "up to half", "accent", 0.45),
    (1.0, "up to all of it", "accent", 1.0),
    (math.inf, "beyond", "bad", 1.0),
)

#: Sizes in the figure's own units, which the page scales.
_WIDTH: Final = 640
_LINE: Final = 20
_TOP: Final = 26
_LABELS: Final = 66
_BARS: Final = 150
_MAP_LEFT: Final = 330
_MAP_WIDTH: Final = 290
_MAP_HEIGHT: Final = 200
_HEIGHT: Final = _TOP + 11 * _LINE + 50


def draw_errors(precision: Precision, key: str) -> Markup:
    """Return the errors of an output as an ``<svg>`` element that says what it shows.

    Args:
        precision: The errors, in numbers and in words.
        key: Tells this figure from others of the same page.
    """
    picture = precision.picture
    title = f"Errors of output {precision.output} on case {precision.case}"
    return Markup(
        '<svg class="figure errors" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="{key}-errors-title {key}-errors-words" font-size="12">'
        '<title id="{key}-errors-title">{title}</title><desc id="{key}-errors-words">{words}</desc>'
        "{parts}</svg>"
    ).format(
        width=_WIDTH,
        height=_HEIGHT,
        key=key,
        title=title,
        words=precision.words,
        parts=Markup("").join((*_draw_histogram(picture), *_draw_map(picture), *_draw_legend())),
    )


def _draw_histogram(picture: ErrorPicture) -> Iterator[Markup]:
    yield _write(0, 14, "elements, by error in ulp", "muted")
    most = max(picture.ulp_counts, default=0)
    used = [place for place, count in enumerate(picture.ulp_counts) if count]
    for place in range(used[-1] + 1 if used else 0):
        count, top = picture.ulp_counts[place], _TOP + place * _LINE
        # A hundred wrong elements of a million would be invisible on an even scale.
        length = _BARS * math.log1p(count) / math.log1p(most)
        yield _write(_LABELS - 8, top + 14, _name_bin(picture, place), "ink", "end")
        if count:
            yield _fill(f"M{_LABELS} {top + 2}h{length:.0f}v{_LINE - 4}H{_LABELS}z", "accent", 1)
        yield _write(_LABELS + length + 6, top + 14, str(count), "ink")


def _name_bin(picture: ErrorPicture, place: int) -> str:
    low, high = picture.ulp_edges[place], picture.ulp_edges[place + 1]
    return f"≤ {high:g}" if math.isfinite(high) else f"> {low:g}"


def _draw_map(picture: ErrorPicture) -> Iterator[Markup]:
    rows, columns = picture.map_shape
    yield _write(_MAP_LEFT, 14, f"error over its limit, {rows} rows × {columns} columns", "muted")
    if not picture.map or not picture.map[0]:
        return
    height, width = len(picture.map), len(picture.map[0])
    scale = f"translate({_MAP_LEFT} {_TOP}) scale({_MAP_WIDTH / width:.6g} {_MAP_HEIGHT / height:.6g})"
    cells = [
        _fill(path, role, opacity)
        for place, (_, _, role, opacity) in enumerate(_STEPS)
        if (path := _outline(picture, place))
    ]
    yield Markup('<g transform="{}">{}</g>').format(scale, Markup("").join(cells))
    frame = f"M{_MAP_LEFT} {_TOP}h{_MAP_WIDTH}v{_MAP_HEIGHT}h-{_MAP_WIDTH}z"
    yield Markup('<path d="{}" fill="none" stroke="var(--grid)"/>').format(frame)


def _outline(picture: ErrorPicture, step: int) -> str:
    """Return the outline of all cells whose error belongs to a step, neighbours in a row as one box."""
    low = _STEPS[step - 1][0] if step else 0.0
    high = _STEPS[step][0]
    boxes = []
    for row, cells in enumerate(picture.map):
        column = 0
        for inside, run in groupby(low < value <= high for value in cells):
            length = len(list(run))
            if inside:
                boxes.append(f"M{column} {row}h{length}v1h-{length}z")
            column += length
    return "".join(boxes)


def _draw_legend() -> Iterator[Markup]:
    for place, (_, name, role, opacity) in enumerate(_STEPS):
        left = _MAP_LEFT + place % 2 * _MAP_WIDTH / 2
        top = _TOP + _MAP_HEIGHT + 14 + place // 2 * _LINE
        yield _fill(f"M{left:.0f} {top}h12v12h-12z", role, opacity)
        yield _write(left + 18, top + 11, name, "ink")


def _fill(path: str, role: str, opacity: float) -> Markup:
    return Markup('<path d="{}" fill="var(--{})" fill-opacity="{}"/>').format(path, role, opacity)


def _write(left: float, base: float, text: str, role: str, anchor: str = "start") -> Markup:
    return Markup('<text x="{:.0f}" y="{:.0f}" fill="var(--{})" text-anchor="{}">{}</text>').format(
        left, base, role, anchor, text
    )
