"""The standard that feedback to an author is held to, whoever wrote it: readable, grounded and complete.

A machine measures here what docs/feedback.md asks for. It finds what is missing or empty; that a remark is
right is for the citation check, the facts and people.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from pipeline.types import (
    CheckReport,
    Citation,
    Criterion,
    FeedbackItem,
    Finding,
    OverallGrade,
    Rubric,
    Score,
)

__all__ = ["MEAN_WORDS", "MOST_WORDS", "check_feedback", "split_sentences"]

#: Mean words of a sentence above which text counts as difficult: the limit of GOV.UK's style guide
#: (https://insidegovuk.blog.gov.uk/2014/08/04/sentence-length-why-25-words-is-our-limit/).
MEAN_WORDS: Final = 25
#: Words of one sentence. The same source reports that at 43 hardly anything is understood.
MOST_WORDS: Final = 40
#: Share of common words from which on two remarks count as one said twice.
_ALIKE: Final = 0.8
#: Levels below the best from which on a criterion must be spoken of.
_FAR: Final = 2

_ORDER: Final = ("works", "change", "next")

#: R. Flesch, How to Write Plain English (1979), chapter 2: a full unit of speech ends with a full stop,
#: colon, semicolon, question or exclamation mark. White space has to follow, or 0.5 would be two.
_SENTENCE_END: Final = re.compile(r"[.!?;:][\"')\]”’]*\s+")
#: An aside, which a reader can skip; brackets that follow a name are a call and no aside.
_ASIDE: Final = re.compile(r"(?<!\S)\(([^()]*)\)")
_WORD: Final = re.compile(r"\w")
_CODE: Final = re.compile(r"`[^`\n]*`")
_LEVEL: Final = re.compile(r"\blevels? (?:of )?\d", re.IGNORECASE)
#: What only names a thing of this submission: code, a dotted or underscored name, a number.
_PARTICULAR: Final = re.compile(r"`[^`\n]+`|\d|\w[._]\w")
_BOILERPLATE: Final = re.compile(
    r"\b(?:great|good|nice|excellent|amazing|awesome|fantastic|impressive|solid) "
    r"(?:job|work|effort|start|attempt|submission|stuff)\b"
    r"|\bwell done\b|\bkeep it up\b|\bkeep up the\b|\b(?:hope|hopefully) this helps\b"
    r"|\bfeel free to\b|\bas an ai\b|\bin conclusion\b|\bin summary\b|\blooks (?:good|great|fine)\b"
    r"|\broom for improvement\b|\bbest practices?\b|\bkudos\b|\bcongratulations\b"
    r"|(?:^|[.!?;:] +)overall\b",
    re.IGNORECASE,
)


def check_feedback(
    items: Sequence[FeedbackItem],
    scores: Iterable[Score],
    overall: OverallGrade,
    rubric: Rubric,
    *,
    reports: Sequence[CheckReport] = (),
    names: Collection[str] = (),
) -> list[str]:
    """Return where feedback falls short of the standard, one line each; nothing when it meets it.

    Args:
        items: The feedback, in the order in which the author reads it.
        scores: The levels it goes with.
        overall: The overall grade it goes with.
        rubric: The rubric of `scores`.
        reports: What checks said. A check's own words need no citation where the check had none to give, and
            the evidence of a check counts as that of its criterion.
        names: What else is particular to this submission, such as its task's entry function and tensors.
    """
    given = tuple(scores)
    return [
        *_check_order(items),
        *_check_repetition(items),
        *(f"{_name(place, item)}: {problem}" for place, item, problem in _check_items(items, reports)),
        *_check_particulars(items, rubric, names),
        *_check_length(items),
        *_check_gates(items, overall, reports),
        *_check_coverage(items, given, overall, rubric, reports),
    ]


def split_sentences(text: str) -> list[int]:
    """Return the words of each sentence of `text`, an aside in brackets counting as a sentence of its own.

    A piece of code in backticks is one word.
    """
    plain = _CODE.sub("code", text)
    pieces = (*_SENTENCE_END.split(_ASIDE.sub("", plain)), *_ASIDE.findall(plain))
    counts = (sum(map(bool, map(_WORD.search, piece.split()))) for piece in pieces)
    return [count for count in counts if count]


def _name(place: int, item: FeedbackItem) -> str:
    return f"item {place} ({item.part})"


def _check_order(items: Sequence[FeedbackItem]) -> Iterator[str]:
    places = [_ORDER.index(item.part) for item in items]
    for place, (before, after) in enumerate(pairwise(places), start=2):
        if after < before:
            yield f"{_name(place, items[place - 1])}: it stands behind the part {_ORDER[before]!r}"
    if "next" not in {item.part for item in items}:
        yield "no item names a next step"


def _check_repetition(items: Sequence[FeedbackItem]) -> Iterator[str]:
    words = [frozenset(re.findall(r"\w+", item.text.lower())) for item in items]
    for later, item in enumerate(items):
        for earlier in range(later):
            same_part = items[earlier].part == item.part
            union = words[earlier] | words[later]
            if same_part and union and len(words[earlier] & words[later]) >= _ALIKE * len(union):
                yield f"{_name(later + 1, item)}: it says what item {earlier + 1} says"
                break


def _check_items(
    items: Sequence[FeedbackItem], reports: Sequence[CheckReport]
) -> Iterator[tuple[int, FeedbackItem, str]]:
    """Yield what is wrong with single items."""
    for place, item in enumerate(items, start=1):
        if not item.text.strip():
            yield place, item, "it says nothing"
        if not item.citations and item.part == "works":
            yield place, item, "it praises without evidence"
        if not item.citations and item.part == "change" and not _repeats_check(item, reports):
            yield place, item, "it cites nothing"
        boilerplate = _BOILERPLATE.search(_CODE.sub("", item.text))
        if boilerplate is not None:
            yield place, item, f"{boilerplate[0].strip(' .;:!?')!r} is boilerplate"
        if _LEVEL.search(item.text) and not item.citations:
            yield place, item, "it speaks of a level without evidence for it"
        for words in split_sentences(item.text):
            if words > MOST_WORDS:
                yield place, item, f"a sentence has {words} words; {MOST_WORDS} is the most"


def _repeats_check(item: FeedbackItem, reports: Sequence[CheckReport]) -> bool:
    """Return whether the item is a check's finding for which the check itself has no line and no fact."""
    return _repeats(item, [f for report in reports for f in report.findings if not f.facts])


def _repeats(item: FeedbackItem, findings: Iterable[Finding]) -> bool:
    said = item.text.lower()
    return any(finding.message.lower().rstrip(".") in said for finding in findings)


def _check_particulars(
    items: Sequence[FeedbackItem], rubric: Rubric, names: Collection[str]
) -> Iterator[str]:
    titles = (criterion.title for criterion in rubric.criteria)
    known = [re.escape(name.lower()) for name in (*titles, *names) if name]
    named = re.compile(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)" if known else r"(?!)")
    for place, item in enumerate(items, start=1):
        text = item.text.lower()
        if text.strip() and not (item.citations or _PARTICULAR.search(text) or named.search(text)):
            yield f"{_name(place, item)}: it would be as true of another submission"


def _check_length(items: Sequence[FeedbackItem]) -> Iterator[str]:
    counts = [words for item in items for words in split_sentences(item.text)]
    if counts and sum(counts) > MEAN_WORDS * len(counts):
        mean = sum(counts) / len(counts)
        yield f"sentences have {mean:.1f} words on average; {MEAN_WORDS} is the most"


def _check_gates(
    items: Sequence[FeedbackItem], overall: OverallGrade, reports: Sequence[CheckReport]
) -> Iterator[str]:
    """Yield when the gate that decided the grade is not spoken of."""
    if not overall.closed_gates:
        return
    gate = overall.closed_gates[0]
    asked = [item for item in items if item.part != "works"]
    findings = [finding for report in reports if report.check == gate for finding in report.findings]
    lines = [Citation(kind="lines", first_line=at, last_line=at) for f in findings for at in f.lines]
    facts = {fact for finding in findings for fact in finding.facts}
    # Where the check itself says nothing more than that it failed, any step is an answer.
    spoken_of = not findings and bool(asked)
    if not spoken_of and not any(_repeats(item, findings) or _cites(item, lines, facts) for item in asked):
        yield f"gate {gate} is closed, and no item under change or next says so or cites what closed it"


def _check_coverage(
    items: Sequence[FeedbackItem],
    scores: Sequence[Score],
    overall: OverallGrade,
    rubric: Rubric,
    reports: Sequence[CheckReport],
) -> Iterator[str]:
    """Yield the criteria far below their best that no item speaks of; a closed gate is spoken of instead."""
    if overall.closed_gates:
        return
    levels = {score.criterion: score for score in scores}
    asked = [item for item in items if item.part != "works"]
    for criterion in rubric.criteria:
        score = levels.get(criterion.id)
        best = max((step.level for step in criterion.levels), default=0)
        if score is None or score.level is None or best - score.level < _FAR:
            continue
        lines, facts = _collect_evidence(criterion, score, reports)
        title = criterion.title.lower()
        if not any(title in item.text.lower() or _cites(item, lines, facts) for item in asked):
            yield (
                f"{criterion.title} stands at level {score.level} of {best}, and no item under change or next"
                " cites its evidence or names it"
            )


def _collect_evidence(
    criterion: Criterion, score: Score, reports: Sequence[CheckReport]
) -> tuple[list[Citation], set[str]]:
    """Return the lines and the facts that a criterion's level rests on."""
    lines = [citation for citation in score.citations if citation.kind == "lines"]
    facts = {citation.fact for citation in score.citations if citation.fact is not None}
    if criterion.scale is not None:
        facts.add(criterion.scale.fact)
    for report in reports:
        if report.check == criterion.check:
            for finding in report.findings:
                facts.update(finding.facts)
                lines += [Citation(kind="lines", first_line=at, last_line=at) for at in finding.lines]
    return lines, facts


def _cites(item: FeedbackItem, lines: Sequence[Citation], facts: set[str]) -> bool:
    return any(
        citation.fact in facts if citation.kind == "fact" else any(_overlap(citation, line) for line in lines)
        for citation in item.citations
    )


def _overlap(one: Citation, other: Citation) -> bool:
    (first, last), (begin, end) = _span(one), _span(other)
    return first <= end and begin <= last


def _span(citation: Citation) -> tuple[int, int]:
    first = citation.first_line or 0
    return first, citation.last_line or first
