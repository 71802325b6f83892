"""Renders the report of a batch: one HTML file that needs no other files, no scripts and no network.

What people submitted is hostile here: every text is escaped by the template engine, code by the highlighter,
and invisible characters are made visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any, Final, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline import __version__
from pipeline.report.code import highlight_code, line_anchor, style_sheet
from pipeline.report.collect import Collector, Detail
from pipeline.report.error_figure import draw_errors
from pipeline.report.figures import draw_funnel, draw_overall, draw_standing, draw_verdicts
from pipeline.report.numerals import show_grade
from pipeline.report.output import write_whole
from pipeline.report.precision import find_precision
from pipeline.report.sections import Rate, Sections, count_sections
from pipeline.store import Store
from pipeline.types import Citation
from pipeline.types.visible import show_controls

__all__ = ["report_path_for", "write_report"]

_PARTS: Final = {"works": "What works", "change": "What must change", "next": "Next step"}


def report_path_for(database: Path) -> Path:
    """Return where the report of a database goes unless somebody says otherwise: beside it."""
    return database.with_name(f"{database.stem}.report.html")


def write_report(store: Store, batch_id: str, path: Path) -> Path:
    """Write the report of a batch to `path`, whole or not at all, and return `path`.

    The same rows of the store give the same bytes.

    Raises:
        KeyError: If the store knows no such batch.
        GraderError: If the file cannot be written.
    """
    with write_whole(path, "report") as file:
        collector = Collector(store)
        batch, rows = collector.load_batch(batch_id)
        environment = _environment()
        # Numbers stand before details on the page but are known after them. Details wait in a file, so that a
        # batch of any size is read once and needs the memory of one submission.
        with TemporaryFile("w+", encoding="utf-8", newline="") as spool:
            details = (collector.load_detail(row) for row in rows)
            sections = count_sections(batch, rows, _spool(details, spool, environment))
            spool.seek(0)
            file.writelines(_render(sections, spool, environment))
    return path


def _spool(details: Iterable[Detail], spool: TextIO, environment: Environment) -> Iterator[Detail]:
    """Pass `details` on, each after it was rendered into `spool`."""
    template = environment.get_template("submission.html")
    for number, detail in enumerate(details, 1):
        spool.writelines(template.generate(detail=detail, number=number))
        yield detail


def _render(sections: Sections, details: TextIO, environment: Environment) -> Iterator[str]:
    return environment.get_template("report.html").generate(
        sections=sections,
        # Rendered before, and escaped then.
        details=map(Markup, details),
        version=__version__,
        code_style=style_sheet(),
        funnel=Markup(draw_funnel(sections.funnel)),
        standing_figure=Markup(draw_standing(sections.standing)),
        verdicts=Markup(draw_verdicts(sections.tasks)),
        overall=Markup(draw_overall(sections.tasks)),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    environment.filters |= {"percent": _percent, "readable": _readable, "rate": _say_rate, "median": median}
    environment.filters["grade"] = show_grade
    environment.globals |= {
        "cite": _cite,
        "parts": _PARTS,
        "find_precision": find_precision,
        "draw_errors": draw_errors,
        "code": lambda detail: highlight_code(
            detail.submission.code, detail.summary.grading_id, detail.cited_lines
        ),
    }
    return environment


def _show(value: Any) -> Any:
    """Make control characters of whatever becomes text visible, on its way into the page."""
    return value if isinstance(value, Markup) else show_controls(str(value))


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _readable(word: str) -> str:
    return word.replace("_", " ")


def _say_rate(rate: Rate) -> Markup:
    """Return a rate with its count and interval, e.g. ``7 of 12 · 58 % (32–81 %)``."""
    if not rate.total:
        return Markup('<span class="muted">none</span>')
    share, low, high = (
        round(100 * part) for part in (rate.count / rate.total, rate.interval.low, rate.interval.high)
    )
    return Markup('{} of {} <span class="muted">· {} % ({}–{} %)</span>').format(
        rate.count, rate.total, share, low, high
    )


def _cite(detail: Detail, citation: Citation) -> Markup:
    """Return a link to what a statement rests on: a line of the code, or a fact with its provenance."""
    grading_id = detail.summary.grading_id
    if citation.kind == "fact":
        fact = next((fact for fact in detail.facts if fact.id == citation.fact), None)
        value = citation.value or (fact.text if fact else "")
        how = Markup(' <i class="how">{}</i>').format(fact.provenance.value) if fact else ""
        return Markup('<a class="cite" href="#{}-F-{}">{}{}</a>{}').format(
            grading_id, citation.fact, _show(citation.fact or ""), _show(f" = {value}" if value else ""), how
        )
    first, last = citation.first_line or 0, citation.last_line or citation.first_line or 0
    words = f"line {first}" if first == last else f"lines {first}–{last}"
    return Markup('<a class="cite" href="#{}">{}</a>').format(line_anchor(grading_id, first), words)
