"""The code of a submission as a reviewer reads it: whole, beside what it is compared with, and marked.

Everything is rendered on the server and once: the marks are what checks found, never what a judge said.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from pipeline.judge.citations import split_lines
from pipeline.report.code import highlight_lines
from pipeline.types import Finding, Severity, Task
from pipeline.types.visible import show_controls
from pipeline.web.diffs import Row, compare_lines

__all__ = ["Cache", "Mark", "Mode", "list_modes", "mark_lines", "render_beside", "render_code", "render_diff"]

#: Lines per block: a browser lays out only the blocks in view.
_BLOCK: Final = 200
_SIGNS: Final = {"same": " ", "removed": "−", "added": "+"}
_ICONS: Final = {Severity.ERROR: "✖", Severity.WARNING: "▲", Severity.INFO: "●"}
_ORDER: Final = tuple(_ICONS)


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to look at the code.

    Attributes:
        id: What an address names it by.
        title: What its button says.
    """

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What checks found on one line.

    Attributes:
        severity: Of the worst finding.
        target: Anchor of that finding in the page.
        words: The findings, one sentence each.
    """

    severity: Severity
    target: str
    words: str


def list_modes(task: Task | None) -> tuple[Mode, ...]:
    """Return the ways to look at a submission to `task`, the submission alone first."""
    modes = [Mode("submission", "Submission")]
    if task is not None:
        modes += [
            Mode(f"reference:{solution.name}", f"vs {solution.name}")
            for solution in task.solutions
            if solution.name.startswith("good_")
        ]
        if task.starter:
            modes.append(Mode("starter", "vs starter"))
        modes += [Mode(f"source:{name}", f"beside {name}") for name in sorted(task.source)]
    return (*modes, Mode("previous", "vs previous attempt"))


def mark_lines(findings: Sequence[Finding]) -> dict[int, Mark]:
    """Return what `findings`, numbered from 1 as the page lists them, say of each line."""
    found: dict[int, list[tuple[int, Finding]]] = {}
    for number, finding in enumerate(findings, 1):
        for line in dict.fromkeys(finding.lines):
            found.setdefault(line, []).append((number, finding))
    marks = {}
    for line, here in found.items():
        number, worst = min(here, key=lambda one: _ORDER.index(one[1].severity))
        words = " ".join(f"{finding.severity.value}: {finding.message}" for _, finding in here)
        marks[line] = Mark(worst.severity, f"finding-{number}", words)
    return marks


def render_code(code: str, marks: dict[int, Mark]) -> Markup:
    """Return the lines of `code` with their numbers and marks; line 12 has the id ``L12``."""
    lines = highlight_lines("\n".join((*_lines(code), "")))
    return _pane(
        f'<div class="line" id="L{number}" data-line="{number}">{_mark(marks.get(number))}'
        f'<span class="number">{number}</span> {text}\n</div>'
        for number, text in enumerate(lines, 1)
    )


def render_diff(before: str, after: str, marks: dict[int, Mark]) -> Markup:
    """Return `after`, which is the submission, with what it lacks of `before` and has beyond it."""
    old, new = _lines(before), _lines(after)
    old_html, new_html = (highlight_lines("\n".join((*lines, ""))) for lines in (old, new))
    return _pane(_diff_line(row, old_html, new_html, marks) for row in compare_lines(old, new))


def render_beside(code: str, marks: dict[int, Mark], other: str, name: str) -> Markup:
    """Return the submission and a text in another language, one beside the other."""
    lines = highlight_lines("\n".join((*_lines(other), "")), name)
    right = _pane(
        f'<div class="line"><span class="number">{number}</span> {text}\n</div>'
        for number, text in enumerate(lines, 1)
    )
    return Markup('<div class="beside"><div>{}</div><div><h3 class="file">{}</h3>{}</div></div>').format(
        render_code(code, marks), show_controls(name), right
    )


def _lines(code: str) -> list[str]:
    """Return lines as Python counts them, which is how findings and citations do."""
    lines = split_lines(code)
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _diff_line(row: Row, old: Sequence[Markup], new: Sequence[Markup], marks: dict[int, Mark]) -> str:
    before = "" if row.before is None else str(row.before + 1)
    if row.after is None:
        number, text, place, mark = "", old[row.before or 0], "", ""
    else:
        number, text, mark = str(row.after + 1), new[row.after], _mark(marks.get(row.after + 1))
        place = f' id="L{number}" data-line="{number}"'
    word = f'<span class="unseen">{row.kind} </span>' if row.kind != "same" else ""
    return (
        f'<div class="line {row.kind}"{place}>{mark}<span class="number old">{before}</span>'
        f'<span class="number">{number}</span><span class="sign">{_SIGNS[row.kind]}</span>'
        f"{word}{text}\n</div>"
    )


def _mark(mark: Mark | None) -> str:
    if mark is None:
        return ""
    return Markup(
        '<a class="mark {0}" href="#{1}" title="{2}"><span aria-hidden="true">{3}</span>'
        '<span class="unseen">{0} found here </span></a>'
    ).format(mark.severity.value, mark.target, show_controls(mark.words), _ICONS[mark.severity])


def _pane(lines: Iterable[str]) -> Markup:
    # Lines come as text that is HTML already: with `Markup.format` for each it would take ten times as long.
    listed = list(lines)
    blocks = (listed[start : start + _BLOCK] for start in range(0, len(listed), _BLOCK))
    inside = "".join(f'<div class="block">{"".join(block)}</div>' for block in blocks)
    return Markup(f'<div class="code">{inside}</div>')


class Cache:
    """What was rendered last, up to a number of characters; any number of threads may use it."""

    def __init__(self, characters: int) -> None:
        """Keep at most `characters` of HTML."""
        self._limit = characters
        self._held = 0
        self._kept: OrderedDict[tuple[str, ...], Markup] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: tuple[str, ...]) -> bool:
        """Whether something is kept under `key`."""
        with self._lock:
            return key in self._kept

    def find(self, key: tuple[str, ...], make: Callable[[], Markup]) -> Markup:
        """Return what is kept under `key`, or what `make` returns, which is kept from now on."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        # Two that ask at once both render it: that costs less than making everybody else wait.
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._held += len(made)
            while self._held > self._limit and len(self._kept) > 1:
                self._held -= len(self._kept.popitem(last=False)[1])
        return made
