"""Feedback for the author of one submission, as HTML, Markdown or plain text.

All three say the same. Whatever was submitted is hostile text in each of them: it is escaped, fenced, and
its invisible characters are made visible.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pipeline.judge.passages import merge_spans
from pipeline.report.author import AuthorView, compose_author_view
from pipeline.report.code import highlight_code, line_anchor, style_sheet
from pipeline.report.collect import Detail
from pipeline.report.error_figure import draw_errors
from pipeline.report.markdown import escape_line, fence_code, quote_code
from pipeline.report.precision import Precision
from pipeline.report.remarks import Cited, Remark
from pipeline.types.visible import show_controls

__all__ = ["FORMATS", "Format", "render_feedback"]

Format = Literal["text", "md", "html"]
FORMATS: Final[tuple[Format, ...]] = ("text", "md", "html")

#: Columns of plain text.
_WIDTH: Final = 80
#: Code lines quoted of one place; a citation may span a whole file.
_QUOTED_LINES: Final = 8
_TAB: Final = 4
_COSTLESS: Final = "This costs you nothing: only what is scored counts."


def render_feedback(detail: Detail, form: Format) -> str:
    """Return what the author of a grading gets; equal details give equal text."""
    view = compose_author_view(detail)
    if form == "html":
        return _render_html(view)
    lines = _write_markdown(view) if form == "md" else _write_text(view)
    return "\n".join(lines).rstrip("\n") + "\n"


def _title(view: AuthorView) -> str:
    return f"Feedback: {view.task}"


def _say_precision(precision: Precision) -> str:
    return f"Of output {precision.output} on case {precision.case}: {precision.words}"


def _write_markdown(view: AuthorView) -> Iterator[str]:
    yield from (f"# {escape_line(_title(view))}", "")
    yield from (f"**{escape_line(view.standing)}**", "")
    yield from (f"{escape_line(view.verdict)} **{escape_line(view.headline)}**", "")
    yield from _list_markdown(map(escape_line, view.decisive))
    if view.comment:
        yield from ("The reviewer says:", "", fence_code(view.comment), "")
    for title, remarks in view.parts.items():
        yield from (f"## {title}", "")
        yield from _list_markdown(f"{escape_line(r.text)}{_cite_markdown(r.unnamed)}" for r in remarks)
    if view.levels:
        yield from ("## Levels", "")
        for row in view.levels:
            reason = f": {escape_line(row.reason)}{_cite_markdown(row.cited)}" if row.reason else ""
            yield f"- **{escape_line(row.title)}: {row.level} of {row.best}** (weight {row.weight:.0%})  "
            yield f"  {escape_line(row.anchor)}  "
            yield f"  {row.by}{reason}."
        yield ""
    if view.unscored:
        yield from ("## Not scored", "", *((_COSTLESS, "") if view.costless else ()))
        yield from _list_markdown(
            f"{escape_line(title)}: {escape_line(why)}." for title, why in view.unscored
        )
    if view.precision:
        yield from ("## Errors", "", escape_line(_say_precision(view.precision)), "")
    if view.remarks:
        yield from ("## Line by line", "")
        for line, remarks in view.remarks.items():
            first = remarks[0].spans[0][0]
            yield from (
                f"**{_name_lines(first, line)}**",
                "",
                fence_code(_quote(view, first, line)),
                "",
            )
            yield from _list_markdown(f"{escape_line(r.part)}: {escape_line(r.text)}" for r in remarks)
    if view.facts:
        yield from ("## Facts", "")
        yield from _list_markdown(
            f"{quote_code(fact.id)} = {escape_line(fact.text)}, {fact.provenance.value}:"
            f" {escape_line(fact.label)}"
            for fact in view.facts
        )
        yield from _list_markdown(f"*{origin}*: {meaning}." for origin, meaning in view.origins.items())
    yield from ("---", "", escape_line(_sign(view)))


def _list_markdown(items: Iterator[str]) -> Iterator[str]:
    lines = [f"- {item}" for item in items]
    if lines:
        yield from (*lines, "")


def _cite_markdown(cited: Sequence[Cited]) -> str:
    return f" ({'; '.join(escape_line(one.text) for one in cited)})" if cited else ""


def _write_text(view: AuthorView) -> Iterator[str]:
    title = show_controls(_title(view))
    yield from (*_wrap(title), "=" * min(len(title), _WIDTH), "")
    yield from (*_wrap(view.standing), "")
    yield from (*_wrap(f"{view.verdict} {view.headline}"), "")
    for sentence in view.decisive:
        yield from _wrap(sentence, "* ")
    if view.decisive:
        yield ""
    if view.comment:
        yield from ("The reviewer says:", *_wrap(view.comment, "  "), "")
    for heading, remarks in view.parts.items():
        yield from _head(heading)
        for remark in remarks:
            yield from _wrap(f"{remark.text}{_cite_text(remark.unnamed)}", "* ")
        yield ""
    if view.levels:
        yield from _head("Levels")
        for row in view.levels:
            yield from _wrap(f"{row.level} of {row.best}  {row.title} (weight {row.weight:.0%})")
            yield from _wrap(row.anchor, " " * 8)
            reason = f": {row.reason}{_cite_text(row.cited)}" if row.reason else ""
            yield from _wrap(f"{row.by}{reason}.", " " * 8)
        yield ""
    if view.unscored:
        yield from _head("Not scored")
        yield from (_COSTLESS, "") if view.costless else ()
        for name, why in view.unscored:
            yield from _wrap(f"{name}: {why}.", "* ")
        yield ""
    if view.precision:
        yield from (*_head("Errors"), *_wrap(_say_precision(view.precision)), "")
    if view.remarks:
        yield from _head("Line by line")
        for line, found in view.remarks.items():
            yield from _quote_text(view, found[0].spans[0][0], line)
            for remark in found:
                yield from _wrap(f"{remark.part}: {remark.text}", "  * ")
            yield ""
    if view.facts:
        yield from _head("Facts")
        for fact in view.facts:
            yield from _wrap(f"{fact.id} = {fact.text}, {fact.provenance.value}: {fact.label}", "* ")
        yield ""
        for origin, meaning in view.origins.items():
            yield from _wrap(f"{origin}: {meaning}.")
        yield ""
    yield from _wrap(_sign(view))


def _head(title: str) -> tuple[str, ...]:
    return title, "-" * len(title)


def _wrap(text: str, first: str = "") -> list[str]:
    """Return `text` in lines of at most 80 columns, `first` before it and the other lines below its text."""
    line = " ".join(show_controls(text).split())
    return textwrap.wrap(line, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def _cite_text(cited: Sequence[Cited]) -> str:
    return f" [{'; '.join(one.text for one in cited)}]" if cited else ""


def _quote_text(view: AuthorView, first: int, last: int) -> Iterator[str]:
    for line in _quote(view, first, last).split("\n"):
        shown = show_controls(line)
        yield shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"


def _quote(view: AuthorView, first: int, last: int) -> str:
    """Return lines of the code with their numbers; of many the first and the last."""
    numbers = [*range(first, min(last, first + _QUOTED_LINES - 2) + 1)]
    if last > numbers[-1]:
        numbers.append(last)
    width = len(str(last))
    quoted = []
    for before, number in zip((first, *numbers), numbers, strict=False):
        if number > before + 1:
            quoted.append(f"{'⋮':>{width}}")
        quoted.append(f"{number:>{width}} | {view.lines[number - 1].expandtabs(_TAB)}".rstrip())
    return "\n".join(quoted)


def _name_lines(first: int, last: int) -> str:
    return f"Line {first}" if first == last else f"Lines {first} to {last}"


def _sign(view: AuthorView) -> str:
    return f"{view.drafted} Submission {view.submission}.".strip()


def _render_html(view: AuthorView) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_show,
    )
    environment.filters |= {"prose": _mark_names}
    environment.globals |= {"cite": _link, "name_lines": _name_lines}
    return environment.get_template("feedback.html").render(
        view=view,
        title=_title(view),
        signature=_sign(view),
        costless=_COSTLESS,
        code=_mark_up(view),
        code_style=style_sheet(),
        say_precision=_say_precision,
        draw_errors=draw_errors,
    )


def _show(value: Any) -> Any:
    return value if isinstance(value, Markup) else show_controls(str(value))


def _mark_names(text: str) -> Markup:
    """Return a remark with its names in backticks as code."""
    pieces = show_controls(text).split("`")
    # An odd number of backticks leaves one that encloses nothing.
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    marked = (
        Markup("<code>{}</code>").format(p) if place % 2 else escape(p) for place, p in enumerate(pieces)
    )
    return Markup("").join(marked)


def _link(view: AuthorView, cited: Cited) -> Markup:
    text = show_controls(cited.text)
    if cited.line is not None:
        target = line_anchor(view.anchor, cited.line)
    elif cited.fact is not None:
        target = f"{view.anchor}-F-{cited.fact}"
    else:
        return Markup('<span class="cite">{}</span>').format(text)
    return Markup('<a class="cite" href="#{}">{}</a>').format(target, text)


def _mark_up(view: AuthorView) -> list[tuple[Markup, tuple[Remark, ...]]]:
    """Return the code line by line, highlighted, each with the remarks that belong below it."""
    if not view.lines:
        return []
    spans = merge_spans(span for rs in view.remarks.values() for r in rs for span in r.spans)
    cited = {number for first, last in spans for number in range(first, last + 1)}
    # The highlighter gives one span per line, and a line feed stands at the end of each and nowhere else.
    end = Markup("\n</span>")
    whole = highlight_code("\n".join((*view.lines, "")), view.anchor, cited)
    lines = [Markup(line) + end for line in str(whole).split(end)[:-1]]
    return [(line, view.remarks.get(number, ())) for number, line in enumerate(lines, start=1)]
