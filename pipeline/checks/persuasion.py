"""Does any text of the submission speak to whoever grades it, or hide from whoever reads it?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pipeline.checks.check import Evidence
from pipeline.checks.language.phrases import BARE_OPENING, ENOUGH, OPENING, PHRASES, Phrase
from pipeline.checks.language.tongues import foreign_phrases
from pipeline.checks.language.utterances import Utterance, fold, listen, split_lines, unwrap
from pipeline.checks.outcome import fail, leave_open, succeed
from pipeline.types import CheckReport, Finding, Severity, Verdict

__all__ = ["Persuasion"]

#: Characters of printed output that are read; more of it is never shown to a judge.
_OUTPUT_LIMIT: Final = 64 << 10
#: Lines that one finding names.
_LINE_LIMIT: Final = 40

#: Texts that are searched together before each is read by itself.
_GROUP: Final = 64

#: Kinds of invisible text, each with what it does to a reader.
_HIDDEN: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("reorders text by bidirectional controls", re.compile("[\u202a-\u202e\u2066-\u2069]")),
    (
        "hides text in characters that are not drawn",
        re.compile("[\U000e0001-\U000e007f]|[\U000e0100-\U000e01ef]{2}"),
    ),
    (
        "breaks words with characters that are not drawn",
        re.compile(r"[a-zA-Z][\u200b-\u200d\u2060-\u2064\ufeff\u00ad]+[a-zA-Z]"),
    ),
    ("breaks lines where an editor does not", re.compile("[\u2028\u2029\u0085\x0b\x1b]")),
    ("mixes alphabets inside words", re.compile("[a-zA-Z][\u0400-\u04ff]|[\u0400-\u04ff][a-zA-Z]")),
)
_FOREIGN: Final = foreign_phrases()
_STRONG: Final = tuple(phrase for phrase in PHRASES if phrase.weight >= ENOUGH)


class Persuasion:
    """Passed when nothing in it addresses a grader, states a grade, imitates a prompt or is invisible.

    A flag for the reviewer and nothing more: it is no gate, no criterion, and no word to the author, since a
    kernel is as right as it is, whatever it says. What it finds is said by kind and line, never quoted: a
    quotation would carry the text to wherever findings go. It knows categories of language, so it misses
    what is new, and what merely declares itself right.
    """

    id = "persuasion"
    title = "Text that addresses the grader"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the source, from faults and findings that repeat its words, and from its output."""
        code = evidence.submission.code
        build = evidence.build
        if build is not None and build.verdict is Verdict.INFRASTRUCTURE:
            return leave_open(self.id, "the submission was not built, for no fault of its author")
        if not code and build is None:
            return leave_open(self.id, "there is no text to read")
        found: dict[str, set[int]] = {}
        for about, line in (*_find_hidden(code), *_find_addressed(code, evidence)):
            found.setdefault(about, set()).add(line)
        if not found:
            return succeed(self.id, "no text in it addresses a grader")
        findings = [self._describe(about, sorted(lines)) for about, lines in found.items()]
        kinds = f"{len(found)} kind{'' if len(found) == 1 else 's'}"
        return fail(
            self.id, f"text in it may be meant for whoever grades, {kinds}: {'; '.join(found)}", findings
        )

    def _describe(self, about: str, lines: list[int]) -> Finding:
        placed = tuple(line for line in lines if line > 0)
        where = "" if placed else " (in what it prints, or in an error that it raises)"
        message = (
            f"For the reviewer: text in the submission {about}{where}. It changes no level and closes no"
            " gate; see that it swayed nobody."
        )
        return Finding(check=self.id, severity=Severity.WARNING, message=message, lines=placed[:_LINE_LIMIT])


def _find_hidden(code: str) -> Iterator[tuple[str, int]]:
    """Yield every kind of invisible text with its line."""
    if code.isascii() and "\x0b" not in code and "\x1b" not in code:
        return
    for number, line in enumerate(split_lines(code), 1):
        for about, pattern in _HIDDEN:
            if pattern.search(line):
                yield about, number


def _find_addressed(code: str, evidence: Evidence) -> Iterator[tuple[str, int]]:
    """Yield every way in which a text speaks to whoever grades, with its line."""
    utterances = [*listen(code), *_repeat_output(evidence)]
    for utterance in utterances:
        if utterance.kind in ("comment", "docstring") and BARE_OPENING.fullmatch(utterance.text.strip()):
            yield OPENING, utterance.lines[0]
    if _is_worth_a_look(utterances):
        for first in range(0, len(utterances), _GROUP):
            group = utterances[first : first + _GROUP]
            if _is_worth_a_look(group):
                for utterance in group:
                    yield from _examine(utterance)


def _is_worth_a_look(utterances: Sequence[Utterance]) -> bool:
    """Return whether any of `utterances` may speak to a grader, by one search over all of them."""
    together = Utterance(
        text="\n".join(utterance.text for utterance in utterances),
        raw="\n".join(utterance.raw for utterance in utterances),
        lines=(0,),
        kind="code",
    )
    return next(_examine(together), None) is not None


def _examine(utterance: Utterance) -> Iterator[tuple[str, int]]:
    """Yield what one text does to whoever grades, with lines; nothing where its signs do not suffice."""
    signs = list(_weigh(utterance.text, PHRASES))
    for phrases, any_of_them in _FOREIGN:
        if any_of_them.search(utterance.text):
            signs += _weigh_apart(utterance.text, phrases)
    if sum(phrase.weight for phrase, _ in signs) >= ENOUGH:
        for phrase, offset in signs:
            yield phrase.about, utterance.line_at(offset)
    plain = {phrase for phrase, _ in signs}
    for hidden in unwrap(utterance):
        if any(phrase not in plain for phrase, _ in _weigh(hidden, _STRONG)):
            yield "hides a request by an encoding", utterance.lines[0]


def _weigh(text: str, phrases: Iterable[Phrase]) -> Iterator[tuple[Phrase, int]]:
    """Yield every phrase that occurs in `text`, with the offset of its first occurrence."""
    for phrase in phrases:
        if phrase.stems and not any(stem in text for stem in phrase.stems):
            continue
        found = phrase.pattern.search(text)
        if found is None:
            continue
        if phrase.times == 1 or sum(1 for _ in phrase.pattern.finditer(text)) >= phrase.times:
            yield phrase, found.start()


def _weigh_apart(text: str, phrases: Iterable[Phrase]) -> list[tuple[Phrase, int]]:
    """Return the signs of one language, or none where only one of them occurs."""
    signs = list(_weigh(text, phrases))
    return signs if len(signs) >= ENOUGH else []


def _repeat_output(evidence: Evidence) -> Iterator[Utterance]:
    """Yield what the submission says when it runs: errors, findings that hold its names, printed text."""
    stages = (evidence.build, evidence.run)
    said = [stage.fault.message for stage in stages if stage is not None and stage.fault is not None]
    if evidence.build is not None:
        said += [finding.message for finding in evidence.build.findings]
        said.append(evidence.build.log[:_OUTPUT_LIMIT])
    for text in said:
        lines = text.split("\n")
        yield Utterance(text="\n".join(map(fold, lines)), raw=text, lines=(0,) * len(lines), kind="output")
