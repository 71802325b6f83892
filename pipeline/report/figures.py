"""Figures of a report as inline SVG, drawn by matplotlib.

The same numbers give the same bytes: ids come from a fixed salt, and no date or version is written. Colours
are style variables of the page, so that figures follow its light and dark scheme.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pipeline.report.sections import Standing, Step, TaskOutcome
from pipeline.types import Verdict
from pipeline.types.visible import show_controls

__all__ = ["draw_funnel", "draw_overall", "draw_standing", "draw_verdicts"]

#: Style variables of the page. Matplotlib draws in stand-ins that nothing else uses, replaced afterwards.
_ROLES: Final = (
    "ink",
    "muted",
    "grid",
    "good",
    "bad",
    "worse",
    "odd",
    "ours",
    "wait",
    "lost",
    "none",
    "accent",
)
_ROLE: Final = {role: f"#fe00{place:02x}" for place, role in enumerate(_ROLES)}

#: Role of each verdict's colour; verdicts of one role stand beside each other, told apart by their labels.
_VERDICT_ROLES: Final[dict[Verdict | None, str]] = {
    Verdict.CORRECT: "good",
    Verdict.INCORRECT: "bad",
    Verdict.COMPILE_ERROR: "worse",
    Verdict.ILLEGAL_ON_TARGET: "worse",
    Verdict.RUNTIME_ERROR: "worse",
    Verdict.TIMEOUT: "worse",
    Verdict.TOO_LARGE: "worse",
    Verdict.NO_DEVICE_WORK: "odd",
    Verdict.SUSPECT: "odd",
    Verdict.UNSUPPORTED: "ours",
    Verdict.INFRASTRUCTURE: "ours",
    None: "none",
}

_WIDTH: Final = 5.6
_ROW: Final = 0.34
_BAR: Final = 0.62
_BINS: Final = 10


def draw_funnel(steps: Sequence[Step]) -> str:
    """Return the funnel: one bar per step, with what was lost on the way to it."""
    total = max(steps[0].count, 1)
    # Behind the counts, however many digits they have.
    reasons = total * (1.05 + 0.045 * len(str(total)))

    def draw(axes: Axes) -> None:
        for place, step in enumerate(steps):
            before = steps[place - 1].count if place else step.count
            axes.barh(place, step.count, color=_ROLE["accent"], height=_BAR)
            axes.barh(place, before - step.count, left=step.count, color=_ROLE["lost"], height=_BAR)
            axes.text(total * 1.02, place, str(step.count), va="center", weight="bold", color=_ROLE["ink"])
            words = ", ".join(f"{count} {_readable(reason)}" for reason, count in step.lost)
            axes.text(reasons, place, _shorten(words, 46), va="center", size=8, color=_ROLE["muted"])
        _name_rows(axes, [step.name for step in steps])
        axes.set_xlim(0, total + reasons)
        axes.set_xticks([])

    return _render("funnel", len(steps), draw)


def draw_standing(standing: Standing) -> str:
    """Return one stacked bar: where the inputs of the batch stand now."""
    parts = (
        ("released", standing.released, "good"),
        ("waiting for a person", standing.waiting, "wait"),
        ("decided", standing.decided, "accent"),
        ("held", standing.held, "ours"),
        ("not reached yet", standing.open, "none"),
        ("rejected", standing.rejected, "worse"),
    )

    def draw(axes: Axes) -> None:
        _stack(axes, 0, [(count, role) for _, count, role in parts])
        _explain(axes, [(f"{name}: {count}", role) for name, count, role in parts if count])
        axes.set_xlim(0, max(sum(count for _, count, _ in parts), 1))
        axes.set_ylim(0.5, -0.5)
        axes.set_yticks([])
        axes.set_xticks([])

    return _render("standing", 2, draw)


def draw_verdicts(tasks: Sequence[TaskOutcome]) -> str:
    """Return a stacked bar of verdicts per task."""
    order = [*Verdict, None]
    seen = {verdict for task in tasks for verdict, count in task.verdicts.items() if count}

    def draw(axes: Axes) -> None:
        for place, task in enumerate(tasks):
            counts = [(task.verdicts.get(verdict, 0), _VERDICT_ROLES[verdict]) for verdict in order]
            _stack(axes, place, counts)
        names = [
            (_readable(verdict or "none yet"), _VERDICT_ROLES[verdict])
            for verdict in order
            if verdict in seen
        ]
        _explain(axes, names)
        _name_rows(axes, [task.task_id for task in tasks])
        axes.set_xlim(0, max((sum(task.verdicts.values()) for task in tasks), default=1))
        axes.set_xticks([])

    return _render("verdicts", len(tasks) + 1.4, draw)


def draw_overall(tasks: Sequence[TaskOutcome]) -> str:
    """Return a strip per task: how many overall numbers lie in each tenth, and where the pass mark lies."""
    bins = [_bin(task.overall) for task in tasks]
    most = max((count for counts in bins for count in counts), default=0) or 1

    def draw(axes: Axes) -> None:
        for place, (task, counts) in enumerate(zip(tasks, bins, strict=True)):
            floor = place + 0.4
            axes.plot([0, 1], [floor, floor], color=_ROLE["grid"], linewidth=0.8)
            for tenth, count in enumerate(counts):
                if count:
                    middle, height = (tenth + 0.5) / _BINS, 0.55 * count / most
                    axes.bar(middle, -height, bottom=floor, width=0.92 / _BINS, color=_ROLE["accent"])
                    axes.text(
                        middle,
                        floor - height,
                        str(count),
                        ha="center",
                        va="bottom",
                        size=7,
                        color=_ROLE["muted"],
                    )
            if task.pass_mark is not None:
                mark = [task.pass_mark, task.pass_mark]
                axes.plot(
                    mark, [floor, floor - 0.75], color=_ROLE["good"], linewidth=1.4, linestyle=(0, (3, 2))
                )
        _name_rows(axes, [task.task_id for task in tasks])
        axes.set_xlim(-0.01, 1.01)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])

    return _render("overall", 1.5 * len(tasks) + 0.6, draw)


def _bin(values: Sequence[float]) -> list[int]:
    counts = [0] * _BINS
    for value in values:
        counts[min(int(value * _BINS), _BINS - 1)] += 1
    return counts


def _readable(word: str) -> str:
    return show_controls(word.replace("_", " "))


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _stack(axes: Axes, place: float, parts: Sequence[tuple[int, str]]) -> None:
    left = 0
    for count, role in parts:
        if count:
            axes.barh(place, count, left=left, color=_ROLE[role], height=_BAR, linewidth=0)
            axes.text(
                left + count / 2,
                place,
                str(count),
                ha="center",
                va="center",
                size=8,
                color="#ffffff",
            )
            left += count


def _explain(axes: Axes, entries: Sequence[tuple[str, str]]) -> None:
    axes.legend(
        handles=[Patch(color=_ROLE[role], label=name) for name, role in entries],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=min(max(len(entries), 1), 4),
        frameon=False,
        fontsize=8,
        labelcolor=_ROLE["ink"],
        handlelength=0.9,
        handleheight=0.9,
        columnspacing=1.4,
    )


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [show_controls(_shorten(name, 28)) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)


def _render(name: str, rows: float, draw: Callable[[Axes], None]) -> str:
    """Return what `draw` draws as an ``<svg>`` element, `rows` bars high."""
    with mpl.rc_context(
        {
            # Ids of one figure must not meet those of another in the same page.
            "svg.hashsalt": f"nki-grader {name}",
            "svg.fonttype": "none",
            # A task called "$x$" is not mathematics.
            "text.parse_math": False,
            "font.family": "sans-serif",
        }
    ):
        figure = Figure(figsize=(_WIDTH, _ROW * rows + 0.2), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes)
        axes.tick_params(length=0, labelcolor=_ROLE["ink"], labelsize=9)
        for spine in axes.spines.values():
            spine.set_visible(False)
        target = io.StringIO()
        undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(target, format="svg", bbox_inches="tight", pad_inches=0.04, metadata=undated)
    return _inline(target.getvalue(), name)


def _inline(svg: str, name: str) -> str:
    """Return the ``<svg>`` element alone: scalable, in the page's font and colours."""
    element = svg[svg.index("<svg") :]
    # A style for "*" would reach the whole page, and names of groups would repeat from figure to figure.
    element = re.sub(r"<style.*?</style>", "", element, count=1, flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*"', "<g", element)
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, count=1, flags=re.DOTALL)
    element = re.sub(r' height="[^"]*"', "", element, count=1)
    element = re.sub(r' width="[^"]*"', f' class="figure {name}"', element, count=1)
    element = re.sub(r'style="font: (?:bold )?([\d.]+px)[^;"]*', r'style="font-size: \1', element)
    for role, stand_in in _ROLE.items():
        element = element.replace(stand_in, f"var(--{role})")
    return element
