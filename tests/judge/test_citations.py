"""Citations are exact, or they are named as wrong."""

import pytest

from pipeline.judge.citations import check_citations, cite_fact, cite_line, split_lines
from pipeline.types import Citation, Fact, FeedbackItem, Judgment, OverallGrade, Provenance

CODE = "first = 1\n\tsecond = {'a': 2}  # why\n\nfourth\f = '\u2028'\n"
FACTS = (
    Fact(id="run.error", value=1.2345, unit="ratio", provenance=Provenance.EMULATED),
    Fact(id="run.bytes", value=1048576, unit="bytes", provenance=Provenance.COUNTED),
    Fact(id="run.dtype", value="bfloat16", provenance=Provenance.COUNTED),
    Fact(id="run.flag", value=True, provenance=Provenance.COUNTED),
    Fact(id="run.infinite", value=float("inf"), provenance=Provenance.EMULATED),
)


def problems(citation: Citation) -> list[str]:
    judgment = Judgment(
        judge="test",
        scores=(),
        feedback=(FeedbackItem(part="works", text="It does.", citations=(citation,)),),
        overall=OverallGrade(value=None, passed=None, reason="none", scored_weight=0),
    )
    return check_citations(judgment, CODE, FACTS)


def lines(first: int | None, last: int | None, quote: str) -> Citation:
    return Citation(kind="lines", first_line=first, last_line=last, quote=quote)


def fact(id: str | None, value: str) -> Citation:
    return Citation(kind="fact", fact=id, value=value)


@pytest.mark.parametrize(
    "citation",
    [
        lines(1, 1, "first = 1"),
        lines(2, 2, "second = {'a': 2}"),
        lines(2, 2, "\tsecond = {'a': 2}  # why"),
        lines(1, 2, "first = 1\n\tsecond"),
        lines(1, 2, "first = 1\nsecond = {'a': 2}"),
        lines(1, 2, "    first = 1\n        second = {'a': 2}"),
        lines(4, 4, "fourth\f = '\u2028'"),
        fact("run.error", "1.2345"),
        fact("run.error", "1.234"),
        fact("run.error", "1.23"),
        fact("run.error", "1"),
        fact("run.error", "1.23 ratio"),
        fact("run.bytes", "1048576"),
        fact("run.bytes", "1,048,576 bytes"),
        fact("run.bytes", "1 MiB"),
        fact("run.bytes", "1,024 KiB"),
        fact("run.error", "123 %"),
        fact("run.dtype", "bfloat16"),
        fact("run.flag", "yes"),
        fact("run.infinite", "inf"),
    ],
    ids=str,
)
def test_an_exact_citation_holds(citation: Citation) -> None:
    assert problems(citation) == []


@pytest.mark.parametrize(
    ("citation", "said"),
    [
        (lines(None, None, "first"), "names no lines"),
        (lines(0, 1, "first"), "do not exist"),
        (lines(9, 9, "first"), "do not exist"),
        (lines(2, 1, "first"), "do not exist"),
        (lines(1, 1, ""), "without a quote"),
        (lines(1, 1, "  "), "without a quote"),
        (lines(1, 1, "First = 1"), "do not hold the quote"),
        (lines(1, 1, "first  = 1"), "do not hold the quote"),
        (lines(1, 1, "second"), "do not hold the quote"),
        (lines(1, 2, "first = 1second"), "do not hold the quote"),
        (lines(1, 2, "first\n= 1"), "do not hold the quote"),
        (fact(None, "1"), "names no fact"),
        (fact("run.nothing", "1"), "no fact 'run.nothing'"),
        (fact("run.error", "1.24"), "is 1.234, not '1.24'"),
        (fact("run.error", "1.3"), "not '1.3'"),
        (fact("run.error", "2"), "not '2'"),
        (fact("run.error", ""), "not ''"),
        (fact("run.error", "nan"), "not 'nan'"),
        (fact("run.error", "about 1.2"), "not 'about 1.2'"),
        (fact("run.bytes", "1048577"), "not '1048577'"),
        (fact("run.bytes", "1.00 MB"), "not '1.00 MB'"),
        (fact("run.bytes", "1 KiB"), "not '1 KiB'"),
        (fact("run.error", "1.23 %"), "not '1.23 %'"),
        (fact("run.error", "0"), "not '0'"),
        (fact("run.bytes", "1048576 elements"), "not '1048576 elements'"),
        (fact("run.dtype", "float16"), "not 'float16'"),
        (fact("run.flag", "1"), "not '1'"),
        (fact("run.infinite", "1e999"), "not '1e999'"),
        (fact("run.infinite", "-inf"), "not '-inf'"),
    ],
    ids=str,
)
def test_a_citation_of_what_is_not_there_is_named(citation: Citation, said: str) -> None:
    (problem,) = problems(citation)
    assert problem.startswith("feedback item 1: ")
    assert said in problem


def test_lines_end_where_python_ends_them() -> None:
    assert split_lines("a\r\nb\rc\nd\fe\u2028f") == ["a", "b", "c", "d\fe\u2028f"]


@pytest.mark.parametrize("line", [1, 2, 4])
def test_a_made_citation_of_a_line_holds(line: int) -> None:
    citation = cite_line(CODE, line)
    assert citation is not None
    assert problems(citation) == []


@pytest.mark.parametrize("line", [0, -1, 3, 5, 99])
def test_a_blank_or_missing_line_is_not_cited(line: int) -> None:
    assert cite_line(CODE, line) is None


def test_a_very_long_line_is_quoted_by_its_beginning() -> None:
    citation = cite_line("x" * 100_000, 1)
    assert citation is not None
    assert len(citation.quote) == 200


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.id)
def test_a_made_citation_of_a_fact_holds(fact: Fact) -> None:
    assert problems(cite_fact(fact)) == []


@pytest.mark.parametrize("quote", ["=", "= 1", " f ", "'"])
def test_a_quote_that_stands_everywhere_cites_nothing(quote: str) -> None:
    (problem,) = problems(lines(1, 2, quote))
    assert "too short" in problem


def test_a_short_line_may_be_quoted_whole() -> None:
    judgment = Judgment(
        judge="test",
        scores=(),
        feedback=(FeedbackItem(part="works", text="It does.", citations=(lines(2, 2, "x()"),)),),
        overall=OverallGrade(value=None, passed=None, reason="none", scored_weight=0),
    )
    assert check_citations(judgment, "def f():\n    x()\n", FACTS) == []
