"""Remarks to an author with what they cite, and where they stand in the code."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from pipeline.report.collect import Detail
from pipeline.types import Citation, Fact, FeedbackItem

__all__ = ["Cited", "Remark", "cite_all", "group_by_line", "make_remark"]

#: How a remark on lines begins; below those lines it says nothing new.
_LINE_NUMBERS: Final = re.compile(r"^Lines? \d+(?:, \d+)*: ")


@dataclass(frozen=True, slots=True)
class Cited:
    """One thing that a statement rests on.

    Attributes:
        text: As it stands behind the statement, e.g. ``line 14`` or ``run.cases = 9, emulated``.
        line: First line cited, 1-based; None for a fact.
        fact: Id of the fact; None for lines.
    """

    text: str
    line: int | None = None
    fact: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark with what it cites.

    Attributes:
        part: Heading of the part it belongs to, or the criterion it explains.
        text: The remark.
        cited: What it rests on.
        spans: First and last line of each place in the code that it cites.
    """

    part: str
    text: str
    cited: tuple[Cited, ...]
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def unnamed(self) -> tuple[Cited, ...]:
        """What it cites and its text does not begin with."""
        names_lines = self.text.startswith(("Line ", "Lines "))
        return tuple(one for one in self.cited if one.fact is not None or not names_lines)


def make_remark(part: str, item: FeedbackItem, known: dict[str, Fact], line_count: int) -> Remark:
    """Return an item of feedback with what it cites; `part` is its heading."""
    spans = dict.fromkeys(
        (citation.first_line or 0, citation.last_line or citation.first_line or 0)
        for citation in item.citations
        if _is_in(citation, line_count)
    )
    return Remark(part, item.text, cite_all(item.citations, known, line_count), tuple(spans))


def _is_in(citation: Citation, line_count: int) -> bool:
    first, last = citation.first_line, citation.last_line
    if citation.kind != "lines" or first is None:
        return False
    return 1 <= first <= (first if last is None else last) <= line_count


def cite_all(citations: tuple[Citation, ...], known: dict[str, Fact], line_count: int) -> tuple[Cited, ...]:
    """Return each citation in words; what lies outside the code or is unknown is named and leads nowhere."""
    return tuple(_say_citation(citation, known, line_count) for citation in citations)


def _say_citation(citation: Citation, known: dict[str, Fact], line_count: int) -> Cited:
    if citation.kind == "lines":
        first = citation.first_line or 0
        last = citation.last_line or first
        text = f"line {first}" if first == last else f"lines {first}–{last}"
        return Cited(text, line=first if _is_in(citation, line_count) else None)
    name = citation.fact or ""
    fact = known.get(name)
    if fact is None:
        return Cited(f"{name} = {citation.value}" if citation.value else name)
    return Cited(f"{name} = {fact.text}, {fact.provenance.value}", fact=name)


def group_by_line(
    detail: Detail, known: dict[str, Fact], parts: dict[str, tuple[Remark, ...]], line_count: int
) -> dict[int, tuple[Remark, ...]]:
    """Return remarks and reasons by the last line of each place they cite; only the first has the words."""
    found = [remark for remarks in parts.values() for remark in remarks]
    titles = {criterion.id: criterion.title for criterion in detail.rubric.criteria} if detail.rubric else {}
    for score in detail.scores:
        if score.level is not None and not score.source.startswith("reviewer:"):
            item = FeedbackItem(part="works", text=score.reason, citations=score.citations)
            name = f"{titles.get(score.criterion, score.criterion)}, level {score.level}"
            found.append(make_remark(name, item, known, line_count))
    grouped: dict[int, list[Remark]] = {}
    for remark in found:
        for place, span in enumerate(remark.spans):
            told = f"See the remark below line {remark.spans[0][1]}."
            whole = replace(remark, text=_LINE_NUMBERS.sub("", remark.text))
            here = whole if place == 0 else Remark(remark.part, told, (), (span,))
            grouped.setdefault(span[1], []).append(replace(here, spans=(span,)))
    return {line: tuple(grouped[line]) for line in sorted(grouped)}
