"""Citations: made exactly, and checked by machine before anybody reads the statement they carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

from pipeline.types import Citation, Fact, Judgment

__all__ = ["check_citations", "cite_fact", "cite_line", "split_lines"]

#: Enough to recognise a line by; a submission may be one line of 256 KiB.
_QUOTE_CHARACTERS = 200
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
    """Return what is wrong with the citations of `judgment`, one line each; nothing when all hold.

    Lines must exist and hold the quote character for character. A fact must exist, and the cited value must
    be its value, rounded at most to the digits that are printed; the fact's unit may follow.
    """
    lines = split_lines(code)
    known = {fact.id: fact for fact in facts}
    problems: list[str] = []
    for place, citation in _list_citations(judgment):
        problem = _check_lines(citation, lines) if citation.kind == "lines" else _check_fact(citation, known)
        if problem is not None:
            problems.append(f"{place}: {problem}")
    return problems


def _list_citations(judgment: Judgment) -> Iterator[tuple[str, Citation]]:
    for score in judgment.scores:
        for citation in score.citations:
            yield f"score {score.criterion}", citation
    for number, item in enumerate(judgment.feedback, start=1):
        for citation in item.citations:
            yield f"feedback item {number}", citation


def _check_lines(citation: Citation, lines: list[str]) -> str | None:
    first, last = citation.first_line, citation.last_line
    if first is None or last is None:
        return "a citation of lines names no lines"
    if not 1 <= first <= last <= len(lines):
        return f"lines {first} to {last} do not exist; the code has {len(lines)}"
    if not citation.quote.strip():
        return f"lines {first} to {last} are cited without a quote"
    if citation.quote not in "\n".join(lines[first - 1 : last]):
        return f"lines {first} to {last} do not hold the quote {citation.quote[:60]!r}"
    return None


def _check_fact(citation: Citation, facts: dict[str, Fact]) -> str | None:
    if citation.fact is None:
        return "a citation of a fact names no fact"
    fact = facts.get(citation.fact)
    if fact is None:
        return f"there is no fact {citation.fact!r}"
    if not _agrees(fact, citation.value):
        return f"{fact.id} is {fact.text}, not {citation.value!r}"
    return None


def _agrees(fact: Fact, cited: str) -> bool:
    text = cited.strip()
    if fact.unit:
        text = text.removesuffix(fact.unit).rstrip()
    if isinstance(fact.value, str):
        return text == fact.value
    if isinstance(fact.value, bool) or text == fact.digits:
        return text == fact.digits
    try:
        printed = Decimal(text.replace(",", ""))
        exact = Decimal(repr(fact.value))
        if not (printed.is_finite() and exact.is_finite()):
            return False
        # Half a unit of the last printed digit is what rounding may cost; 1.2 stands for 1.24, not for 1.26.
        return abs(printed - exact) * 2 <= Decimal(1).scaleb(int(printed.as_tuple().exponent))
    except (InvalidOperation, ValueError):
        return False
