"""Citations: made exactly, and checked by machine before anybody reads the statement they carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pipeline.judge.passages import Passages
from pipeline.judge.quantities import read_value, stands_for
from pipeline.types import Citation, Fact, Judgment

__all__ = ["check_citations", "cite_fact", "cite_line", "find_citation_problem", "split_lines"]

#: Enough to recognise a line by; a submission may be one line of 256 KiB.
_QUOTE_CHARACTERS = 200
#: Characters of a quote, blanks apart, that is no whole line: a bracket stands everywhere.
_LEAST_QUOTED = 4
_LINE_END = re.compile(r"\r\n|\r|\n")


def split_lines(code: str) -> list[str]:
    """Return the lines of `code` as Python counts them: form feeds and Unicode separators end none."""
    return _LINE_END.split(code)


def cite_fact(fact: Fact) -> Citation:
    """Return the citation of `fact`, with its value as it is printed."""
    return Citation(kind="fact", fact=fact.id, value=fact.digits)


def cite_line(code: str, line: int) -> Citation | None:
    """Return the citation of one line of `code`, 1-based, or None when it is blank or does not exist."""
    lines = split_lines(code)
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    quote = lines[line - 1].strip()[:_QUOTE_CHARACTERS]
    return Citation(kind="lines", first_line=line, last_line=line, quote=quote)


def check_citations(judgment: Judgment, code: str, facts: Iterable[Fact]) -> list[str]:
    """Return what is wrong with the citations of `judgment`, one line each; nothing when all hold."""
    lines = Passages(split_lines(code))
    known = {fact.id: fact for fact in facts}
    return [
        f"{place}: {problem}"
        for place, citation in _list_citations(judgment)
        if (problem := find_citation_problem(citation, lines, known)) is not None
    ]


def find_citation_problem(
    citation: Citation, lines: Passages, facts: Mapping[str, Fact], shown: Passages | None = None
) -> str | None:
    """Return what is wrong with `citation` in one line, or None when it holds.

    Lines must exist and hold the quote character for character, indentation apart. A fact must exist, and
    the cited value must be its value, rounded at most to the digits that are printed; a unit may follow, and
    then it must fit.

    Args:
        citation: From a draft.
        lines: The code's lines.
        facts: By id.
        shown: The same lines as the judge saw them, without comments; a quote may be of those.
    """
    if citation.kind == "lines":
        return _check_lines(citation, lines, shown)
    return _check_fact(citation, facts)


def _list_citations(judgment: Judgment) -> Iterator[tuple[str, Citation]]:
    for score in judgment.scores:
        for citation in score.citations:
            yield f"score {score.criterion}", citation
    for number, item in enumerate(judgment.feedback, start=1):
        for citation in item.citations:
            yield f"feedback item {number}", citation


def _check_lines(citation: Citation, lines: Passages, shown: Passages | None) -> str | None:
    first, last = citation.first_line, citation.last_line
    if first is None or last is None:
        return "a citation of lines names no lines"
    if not 1 <= first <= last <= len(lines):
        return f"lines {first} to {last} do not exist; the code has {len(lines)}"
    if not citation.quote.strip():
        return f"lines {first} to {last} are cited without a quote"
    # Both number their lines alike; a caller may know the code only as it was submitted.
    texts = [text for text in (lines, shown) if text is not None and last <= len(text)]
    quote = "\n".join(split_lines(citation.quote))
    if not any(text.holds_quote((first, last), quote) for text in texts):
        return f"lines {first} to {last} do not hold the quote {citation.quote[:60]!r}"
    if len("".join(quote.split())) < _LEAST_QUOTED and not any(
        text.holds_line((first, last), quote) for text in texts
    ):
        return f"the quote {quote!r} is too short to tell what it stands for"
    return None


def _check_fact(citation: Citation, facts: Mapping[str, Fact]) -> str | None:
    if not citation.fact:
        return "a citation of a fact names no fact"
    fact = facts.get(citation.fact)
    if fact is None:
        return f"there is no fact {citation.fact[:60]!r}"
    if not _agrees(fact, citation.value):
        return f"{fact.id} is {fact.text}, not {citation.value[:60]!r}"
    return None


def _agrees(fact: Fact, cited: str) -> bool:
    text = cited.strip()
    if text in (fact.digits, fact.text) or (fact.unit and text == f"{fact.digits} {fact.unit}"):
        return True
    quantity = read_value(text)
    return quantity is not None and stands_for(quantity, fact, bare=True)
