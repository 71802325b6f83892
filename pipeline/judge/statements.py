"""What a statement may say: every number, name and word about provenance in it, held to what it cites.

This proves that a citation exists and that figures and names are copied rightly. It does not prove that the
citation supports the claim, nor that the claim is true: "5 of 9 pass" and "9 of 5 pass" rest on the same two
facts. What is said in words alone ("twice", "slow") is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pipeline.judge.citations import find_citation_problem, split_lines
from pipeline.judge.hardware import is_of_hardware, list_constants
from pipeline.judge.passages import (
    IDENTIFIER,
    Number,
    Passages,
    Span,
    collect_numbers,
    join_tokens,
    merge_spans,
)
from pipeline.judge.protocol import JudgeRequest
from pipeline.judge.quantities import NEEDED_UNITS, Quantity, find_quantities, normalise, stands_for
from pipeline.judge.surface import is_name_of_nki, is_parameter_of_nki
from pipeline.types import Citation, Fact, Provenance

__all__ = ["Evidence", "Part", "check_statement", "collect_evidence", "find_false_measurements"]

Part = Literal["score", "works", "change", "next"]

_SPAN: Final = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LITERAL: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_LINES: Final = re.compile(
    r"\b(?:lines\s+(?P<many>\d+(?:\s*(?:-|,\s*and|,|to|and|or|through)\s*\d+(?!\w|\.\d))*)"
    r"|line\s+(?P<one>\d+)(?!\w|\.\d))",
    re.IGNORECASE,
)
_LEVELS: Final = re.compile(r"\blevels?\s+\d(?:\s*(?:-|to|and|or|,)\s*\d)*\b(?!\.\d)", re.IGNORECASE)
_STEPS: Final = re.compile(r"\bstep\s+\d\b(?!\.\d)", re.IGNORECASE)
#: "1.", "2)" or "(3)" before something; a numbering only if they count up from 1.
_ITEM: Final = re.compile(r"(?<![\w.,])(?:\((\d)\)|(\d)[.)])(?=\s)")
_VERSION: Final = re.compile(r"\bNKI \d+\.\d+(?:\.\d+)?\b")
_REFERENCES: Final = (_LINES, _LEVELS, _STEPS, _VERSION)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(\"'])|\n+")

_MODELLED: Final = re.compile(
    r"\b(?:modell?ed|estimate[sd]?|emulat(?:ed|or|ion)|model (?:puts|says|gives|predicts|expects))\b", re.I
)
_MEASURED: Final = re.compile(
    r"(?<!\w)(?:measured|benchmarked|timed"
    r"|observed on (?:the )?(?:device|hardware)|on (?:real|actual) hardware)\b",
    re.I,
)
_NOT_BEFORE: Final = re.compile(
    r"\b(?:not|never|nothing|nobody|no|rather than|instead of|until|unless|to be|be|once|without|if|when"
    r"|before|whether)"
    r"(?:\s+(?:yet|been|a|an|any|were|was|is|it|they|ever|being|having))*\W*$",
    re.I,
)
_BY_A_DEVICE: Final = (Provenance.MEASURED, Provenance.MEASURED_IMPORTED)
#: Words with which a reason speaks of what the code does not do, and so may name what is not in it.
_ABSENT: Final = re.compile(
    r"\b(?:would|could|should|instead|rather|miss(?:es|ed|ing)?|without|lacks?|lacking|no|not|never|nothing|neither"
    r"|where|unlike)\b",
    re.I,
)
#: Makes of what is told the author's word.
_ATTRIBUTED: Final = re.compile(
    r"\b(?:comments?|docstrings?|author|claim(?:s|ed)?|says?|states?|promises?|announces?|according)\b", re.I
)
#: What a check says may be repeated clause by clause.
_CLAUSE_END: Final = re.compile(r"(?<=[:;.])\s+")
_CLAUSE_WORDS: Final = 3
_LETTER: Final = re.compile(r"\w")
#: Characters before a word within which it may be taken back.
_BEFORE: Final = 300
#: Bounds of what one statement may be made of; a person could not read more either, and each costs time.
_LINES_CITED: Final = 400
_NAMES: Final = 100
_LINE_DIGITS: Final = 18
_DECIMALS: Final = re.compile(r"[.,]\d")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What statements on one submission are held to.

    Attributes:
        lines: The code.
        shown: The same lines as a judge saw them; None where none did.
        facts: By id.
        vouched: Clauses of what deterministic checks said, normalised: true by construction.
        aims: The rubric's anchors, normalised; a next step may repeat them.
        targets: Chips of the task.
    """

    lines: Passages
    shown: Passages | None
    facts: Mapping[str, Fact]
    vouched: tuple[str, ...]
    aims: tuple[str, ...]
    targets: tuple[str, ...]


def collect_evidence(request: JudgeRequest, shown: Sequence[str] = ()) -> Evidence:
    """Return what statements on the submission of `request` are held to.

    Args:
        request: What the judge was told.
        shown: The code's lines as it was shown them.
    """
    said = {report.reason for report in request.reports}
    said |= {finding.message for report in request.reports for finding in report.findings}
    clauses: set[str] = set()
    for message in map(_fold, said):
        clauses |= {clause.rstrip(".:;") for clause in (message, *_CLAUSE_END.split(message))}
    vouched = [clause for clause in clauses if len(clause.split()) >= _CLAUSE_WORDS]
    anchors = [level.anchor for criterion in request.rubric.criteria for level in criterion.levels]
    return Evidence(
        lines=Passages(split_lines(request.submission.code)),
        shown=Passages(shown) if shown else None,
        facts={fact.id: fact for fact in request.facts},
        vouched=tuple(sorted(vouched, key=len, reverse=True)),
        aims=tuple(sorted((_fold(anchor).rstrip(".") for anchor in anchors), key=len, reverse=True)),
        targets=request.task.targets,
    )


def check_statement(part: Part, text: str, citations: Sequence[Citation], evidence: Evidence) -> list[str]:
    """Return what does not hold in a statement, one line each; nothing when all does.

    Citations first: with one that does not hold, the rest of the statement is not looked at, since nobody can
    tell which of its words that citation was to carry.
    """
    problems = [
        problem
        for citation in citations
        if (problem := find_citation_problem(citation, evidence.lines, evidence.facts, evidence.shown))
    ]
    if problems:
        return problems
    if not citations and part != "next":
        return ["it cites nothing"]
    cited = sum(last - first + 1 for first, last in merge_spans(_list_spans(citations)))
    if cited > _LINES_CITED:
        return [f"it cites {cited} lines; {_LINES_CITED} is the most"]
    folded = _fold(text)
    names = len(_SPAN.findall(folded))
    if names > _NAMES:
        return [f"it has {names} names in backticks; {_NAMES} is the most"]
    facts = [evidence.facts[citation.fact] for citation in citations if citation.fact is not None]
    prose = _blank_vouched(
        _blank_numbering(folded), evidence.vouched + (evidence.aims if part == "next" else ())
    )
    statement = _Statement(part, prose, tuple(citations), facts, evidence)
    return [
        *statement.check_names(),
        *statement.check_line_numbers(),
        *statement.check_numbers(),
        *statement.check_provenance(folded),
    ]


def find_false_measurements(text: str, facts: Sequence[Fact]) -> Iterator[str]:
    """Yield every place of `text` that calls measured what no device measured.

    A sentence answers for the facts whose numbers it says; one without a number, for all of `facts`.
    """
    for sentence in _split_sentences(" ".join(normalise(text).split())):
        numbers = _list_quantities(sentence)
        named = [fact for fact in facts if any(stands_for(number, fact) for number in numbers)]
        measured = any(fact.provenance in _BY_A_DEVICE for fact in named or facts)
        for said in _MEASURED.finditer(sentence):
            if not measured and not _denies(sentence, said):
                yield f"it says {said[0].lower()!r}, and no fact that it speaks of was measured"


@dataclass(slots=True)
class _Statement:
    """One statement whose citations hold."""

    part: Part
    text: str
    citations: tuple[Citation, ...]
    facts: list[Fact]
    evidence: Evidence

    def check_names(self) -> Iterator[str]:
        """Yield every name in backticks that neither the cited lines nor NKI know."""
        spans = _list_spans(self.citations)
        code = self._tokens()
        known = {name for text in self._texts() for name in text.list_names(spans)}
        known |= {fact.id for fact in self.facts}
        known |= {word for fact in self.facts for word in re.findall(r"\w+", str(fact.value))}
        for sentence in _split_sentences(self.text):
            for span in _SPAN.finditer(sentence):
                inside = span[2].strip()
                if _is_whole(inside, code):
                    continue
                recommended = self.part in ("change", "next") or (
                    self.part == "score" and _ABSENT.search(_SPAN.sub("", sentence)) is not None
                )
                for name in IDENTIFIER.findall(_LITERAL.sub("", inside)):
                    if name not in known and not (recommended and _is_recommendable(name, inside)):
                        yield f"`{name[:60]}` does not occur in what is cited"
                if _LITERAL.search(inside):
                    yield f"`{inside[:60]}` does not occur in what is cited"

    def check_line_numbers(self) -> Iterator[str]:
        """Yield every line that the text names and does not cite."""
        spans = [(c.first_line or 0, c.last_line or 0) for c in self.citations if c.kind == "lines"]
        for mention in _LINES.finditer(_blank(self.text, _SPAN)):
            for figures in re.findall(r"\d+", mention[0]):
                # No line has so many digits, and Python refuses to make a number of thousands of them.
                line = int(figures) if len(figures) <= _LINE_DIGITS else 0
                if not any(first <= line <= last for first, last in spans):
                    yield f"line {figures[:_LINE_DIGITS]} is spoken of and not cited"

    def check_numbers(self) -> Iterator[str]:
        """Yield every number that nothing cited holds."""
        constants = list_constants(self.evidence.targets)
        quoted = self._quoted_numbers()
        written = self._coded_numbers() if quoted and self.evidence.shown else quoted
        code = self._tokens()
        # A span that is code of the cited lines is right as it stands; figures in any other are claims.
        text = _SPAN.sub(
            lambda span: " " * len(span[0]) if _is_whole(span[2].strip(), code) else span[0], self.text
        )
        for sentence in _split_sentences(text):
            for quantity in _list_quantities(sentence):
                if any(stands_for(quantity, fact) for fact in self.facts):
                    continue
                if is_of_hardware(quantity, sentence, constants):
                    continue
                repeated = _repeats(quantity, quoted)
                if repeated and not _repeats(quantity, written):
                    # What an author says in a comment is repeated as the author's word or not at all.
                    if not _ATTRIBUTED.search(sentence):
                        yield f"{quantity.text!r} stands in a comment, and is told as if it were known"
                elif not repeated:
                    yield self._explain(quantity)

    def check_provenance(self, text: str) -> Iterator[str]:
        """Yield every number, or speech of measuring, with another provenance than its fact's."""
        for sentence in _split_sentences(text):
            numbers = _list_quantities(sentence)
            named = [fact for fact in self.facts if any(stands_for(number, fact) for number in numbers)]
            times = [fact for fact in named if _is_about_time(fact)]
            if times and not _says_modelled(sentence):
                yield f"{times[0].id} is {times[0].provenance.value}, and the sentence does not say so"
        yield from find_false_measurements(text, self.facts)
        unsaid = [fact for fact in self.facts if _is_about_time(fact)]
        if unsaid and not _says_modelled(text):
            yield f"it rests on {unsaid[0].id}, which is {unsaid[0].provenance.value}, and does not say so"

    def _quoted_numbers(self) -> set[Number]:
        quotes = [citation.quote for citation in self.citations if citation.kind == "lines"]
        return {number for quote in quotes for number in collect_numbers(quote)}

    def _coded_numbers(self) -> set[Number]:
        """Return the numbers of the cited lines without what is comment in them."""
        shown = self.evidence.shown
        return set() if shown is None else shown.list_numbers(_list_spans(self.citations))

    def _texts(self) -> list[Passages]:
        """Return the code as it is and, where a judge saw it, as it was shown."""
        return [text for text in (self.evidence.lines, self.evidence.shown) if text is not None]

    def _tokens(self) -> str:
        """Return the words and signs of the cited lines."""
        return "\n".join(text.join_tokens(_list_spans(self.citations)) for text in self._texts())

    def _explain(self, quantity: Quantity) -> str:
        for fact in self.facts:
            if stands_for(quantity, fact, bare=True):
                return f"{quantity.text!r} lacks its unit: {fact.id} is {fact.text}"
        return f"{quantity.text!r} is no number that it cites"


def _list_spans(citations: Iterable[Citation]) -> list[Span]:
    return [(c.first_line or 1, c.last_line or 0) for c in citations if c.kind == "lines"]


def _is_about_time(fact: Fact) -> bool:
    """Whether a fact says how fast something is, and no device says so."""
    timed = fact.provenance is Provenance.EMULATED and fact.unit in ("s", "flop/s", "bytes/s")
    return timed or fact.provenance is Provenance.MODELLED


def _says_modelled(text: str) -> bool:
    return any(not _denies(text, said) for said in _MODELLED.finditer(text))


def _denies(text: str, said: re.Match[str]) -> bool:
    """Whether what stands before `said` takes it back."""
    return _NOT_BEFORE.search(text[max(0, said.start() - _BEFORE) : said.start()]) is not None


def _is_recommendable(name: str, span: str) -> bool:
    """Whether `name` is NKI's, or a keyword argument of it that is given a value in `span`."""
    if is_name_of_nki(name):
        return True
    return is_parameter_of_nki(name) and re.search(rf"\b{re.escape(name)}\s*=(?!=)", span) is not None


def _is_whole(span: str, code: str) -> bool:
    """Whether `span` stands as words of its own in the tokens `code`, whatever the white space."""
    tokens = join_tokens(span)
    return len(tokens) > 1 and tokens in code


def _find_all(part: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where `part` begins and ends in `text`, places that overlap left out."""
    start = text.find(part) if part else -1
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether no letter or figure goes on before or behind a place in `text`."""
    return not any(
        _LETTER.match(outside) and _LETTER.match(inside)
        for outside, inside in (
            (text[start - 1 : start], text[start : start + 1]),
            (text[end : end + 1], text[end - 1 : end]),
        )
    )


def _repeats(quantity: Quantity, quoted: set[Number]) -> bool:
    """Whether a number of the text is one of the quoted code, with the unit that stands there, if any."""
    if (quantity.value, quantity.dimension) in quoted:
        return True
    return quantity.dimension in ("elements", "transfers", "instructions") and (quantity.value, "") in quoted


def _list_quantities(sentence: str) -> list[Quantity]:
    """Return the numbers of a sentence that say how much, without those that say which.

    Lines, levels, steps and versions are references. With a unit behind it a number is none of them.
    """
    spans = [
        mention.span()
        for pattern in (_LINES, _LEVELS, _STEPS, _VERSION)
        for mention in pattern.finditer(sentence)
    ]
    return [
        quantity
        for quantity in find_quantities(sentence)
        if (quantity.dimension in NEEDED_UNITS or quantity.text.endswith("%"))
        or not any(first <= quantity.start < last for first, last in spans)
    ]


def _split_sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence]


def _blank(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _blank_vouched(text: str, clauses: Iterable[str]) -> str:
    """Blank every clause that stands in `text` word for word; its first letter may be a capital."""
    for clause in clauses:
        if clause[1:] not in text:
            continue
        for start, end in list(_find_all(clause[1:], text)):
            first = text[start - 1 : start]
            goes_on = _DECIMALS.match(text, end) is not None
            if first.lower() == clause[0].lower() and _is_word(text, start - 1, end) and not goes_on:
                text = text[: start - 1] + " " * len(clause) + text[end:]
    return text


def _blank_numbering(text: str) -> str:
    """Blank the figures of a list within `text`."""
    items = [int(item[1] or item[2]) for item in _ITEM.finditer(text)]
    return _blank(text, _ITEM) if len(items) > 1 and items == [*range(1, len(items) + 1)] else text


def _fold(text: str) -> str:
    return " ".join(normalise(text).split())
