"""A plain plot as inline SVG: two axes of shares, lines, points and bars, in the page's own colours.

Written by hand and not by matplotlib: the same numbers give the same bytes with any version of it, and the
colours are style variables of the page, so that figures follow its light and dark scheme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup

__all__ = ["Plot"]

#: Sizes in the figure's own units, which the page scales.
_WIDTH: Final = 520
_HEIGHT: Final = 360
_LEFT: Final = 62
_RIGHT: Final = 28
_TOP: Final = 16
_BOTTOM: Final = 52


class Plot:
    """A plot that grows as things are drawn into it; what is drawn later lies on top.

    Args:
        key: Tells this figure from others of the same page.
        title: What it shows, in few words.
        words: The same for whoever cannot see it.
        across: Name of the horizontal axis, which goes from 0 to 1.
        up: Name of the vertical axis, which goes from 0 to `highest`.
        highest: Above 0.
    """

    def __init__(
        self, key: str, *, title: str, words: str, across: str, up: str, highest: float = 1.0
    ) -> None:
        self._key = key
        self._title = title
        self._words = words
        self._highest = highest
        self._parts: list[Markup] = [*self._draw_axes(across, up)]

    def line(self, points: Sequence[tuple[float, float]], role: str, *, dashed: bool = False) -> None:
        """Draw a line through `points`."""
        path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
        dashes = Markup(' stroke-dasharray="5 4"') if dashed else Markup("")
        self._parts.append(
            Markup('<polyline points="{}" fill="none" stroke="var(--{})" stroke-width="{}"{}/>').format(
                path, role, 1.3 if dashed else 2, dashes
            )
        )

    def bar(self, x: float, low: float, high: float, role: str) -> None:
        """Draw an interval as a vertical bar with ends."""
        at, top, bottom = self._x(x), self._y(high), self._y(low)
        path = f"M{at - 4:.1f} {top:.1f}h8m-4 0V{bottom:.1f}m-4 0h8"
        self._parts.append(
            Markup('<path d="{}" fill="none" stroke="var(--{})" stroke-width="1.3"/>').format(path, role)
        )

    def point(self, x: float, y: float, role: str, radius: float = 4.5) -> None:
        """Draw a point."""
        self._parts.append(
            Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="var(--{})"/>').format(
                self._x(x), self._y(y), radius, role
            )
        )

    def note(self, x: float, y: float, text: str, role: str, anchor: str = "start") -> None:
        """Write `text` just above a place; one that would leave the figure on the right ends there."""
        at = self._x(x)
        # An average letter is a little over half as wide as high.
        if anchor == "start" and at + 6.2 * len(text) > _WIDTH - _RIGHT:
            at, anchor = _WIDTH - _RIGHT, "end"
        self._parts.append(_write(at, max(self._y(y) - 7, 12), text, role, anchor))

    def draw(self) -> Markup:
        """Return the figure as an ``<svg>`` element."""
        return Markup(
            '<svg class="figure plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            ' role="img" aria-labelledby="{key}-title {key}-words" font-size="12">'
            '<title id="{key}-title">{title}</title><desc id="{key}-words">{words}</desc>{parts}</svg>'
        ).format(
            width=_WIDTH,
            height=_HEIGHT,
            key=self._key,
            title=self._title,
            words=self._words,
            parts=Markup("").join(self._parts),
        )

    def _draw_axes(self, across: str, up: str) -> Iterable[Markup]:
        for step in range(5):
            share = step / 4
            x, y = self._x(share), self._y(share * self._highest)
            yield Markup('<path d="M{:.1f} {}V{}M{} {:.1f}H{}" stroke="var(--line)" fill="none"/>').format(
                x, _TOP, _HEIGHT - _BOTTOM, _LEFT, y, _WIDTH - _RIGHT
            )
            yield _write(x, _HEIGHT - _BOTTOM + 18, _percent(share), "muted", "middle")
            yield _write(_LEFT - 8, y + 4, _percent(share * self._highest), "muted", "end")
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        yield _write(middle, _HEIGHT - 10, across, "muted", "middle")
        height = (_TOP + _HEIGHT - _BOTTOM) / 2
        yield Markup(
            '<text transform="translate(14 {:.1f}) rotate(-90)" fill="var(--muted)"'
            ' text-anchor="middle">{}</text>'
        ).format(height, up)

    def _x(self, share: float) -> float:
        return _LEFT + share * (_WIDTH - _RIGHT - _LEFT)

    def _y(self, share: float) -> float:
        kept = min(max(share / self._highest, 0.0), 1.0)
        return _HEIGHT - _BOTTOM - kept * (_HEIGHT - _BOTTOM - _TOP)


def _percent(share: float) -> str:
    return f"{round(100 * share, 2):g} %"


def _write(left: float, base: float, text: str, role: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" fill="var(--{})" text-anchor="{}">{}</text>').format(
        left, base, role, anchor, text
    )
