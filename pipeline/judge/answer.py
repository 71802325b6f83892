"""The answer a language model owes: its schema, and the reading of what came back.

The form, one object and nothing else::

    {"scores": {"<criterion>": {"reason": "...", "citations": [...], "level": 3, "confidence": 0.8}},
     "feedback": [{"part": "change", "text": "...", "citations": [...]}]}

The reason stands before the level, because a model writes in order and should think before it commits. A
level is one that the rubric offers, or null for unscored. A citation is one of two flat objects with no field
in common, so that the first key a small model writes settles which one it is::

    {"first_line": 3, "last_line": 4, "quote": "..."}      {"fact": "profile.hbm_read_bytes", "value": "4096"}

Whatever the schema promised, the answer is read again from the first character: servers differ in how far
they enforce a schema, and a grade must never come from a parsing accident. Four things are forgiven, since
none leaves a doubt about what was meant: white space around the object, one Markdown fence around it, line
breaks within strings, and a null confidence in a level that is null.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pipeline.errors import GraderError
from pipeline.judge.strict_json import JsonError, parse_json
from pipeline.types import Citation, Criterion, Fault, FeedbackItem, Owner, Rubric, Score

__all__ = ["AnswerError", "Draft", "answer_schema", "list_judged", "read_answer", "write_repair"]

PARTS: Final = ("works", "change", "next")

#: Far above what a good answer holds; below what would trouble whoever reads or stores it.
_ANSWER_CHARACTERS: Final = 200_000
_STATEMENT_CHARACTERS: Final = 4_000
_QUOTE_CHARACTERS: Final = 2_000
_NAME_CHARACTERS: Final = 200
_CITATIONS: Final = 20
_FEEDBACK_ITEMS: Final = 40
_LINE_NUMBER: Final = 10_000_000
#: ":" and "Thought process:" pass for reasoning with many judges (arXiv 2507.08794); no sentence is so short.
_STATEMENT_WORDS: Final = 3
_PROBLEMS: Final = 20

_WORD: Final = re.compile(r"\w+")
_SCORE_KEYS: Final = ("reason", "citations", "level", "confidence")
_ITEM_KEYS: Final = ("part", "text", "citations")
_LINES_KEYS: Final = ("first_line", "last_line", "quote")
_FACT_KEYS: Final = ("fact", "value")


@dataclass(frozen=True, slots=True)
class Draft:
    """What one model said of one submission, in form but unchecked in substance.

    Attributes:
        scores: One per criterion that the rubric leaves to a judge, in the rubric's order.
        feedback: Remarks to the author, in the order in which they were written.
    """

    scores: tuple[Score, ...]
    feedback: tuple[FeedbackItem, ...]


class AnswerError(GraderError):
    """An answer that is not in the form asked for.

    Attributes:
        code: Stable identifier of the first problem, e.g. ``not_json`` or ``missing_criterion``.
        problems: Every problem, one line each; none quotes the answer, which may repeat hostile text.
    """

    def __init__(self, code: str, problems: Sequence[str]) -> None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            Fault(
                owner=Owner.JUDGE,
                code=code,
                message=f"the model's answer cannot be used: {problems[0]}{more}",
                remedy="grade again, or let a person score the judge's criteria",
            )
        )
        self.code = code
        self.problems = tuple(problems)


def list_judged(rubric: Rubric) -> tuple[Criterion, ...]:
    """Return the criteria that `rubric` leaves to a judge, in its order."""
    return tuple(criterion for criterion in rubric.criteria if criterion.check is None)


def answer_schema(rubric: Rubric) -> dict[str, Any]:
    """Return the JSON Schema of an answer under `rubric`; nothing of a submission is in it.

    It keeps to what OpenAI's strict mode, ``anthropic.transform_schema`` and llama.cpp's grammar converter
    all enforce: every property required, no further ones, ``enum`` and ``anyOf``. Ranges and lengths are left
    to `read_answer`, since providers drop them in silence.
    """
    citations = {
        "type": "array",
        "items": {
            "anyOf": [
                _object(
                    first_line={"type": "integer"}, last_line={"type": "integer"}, quote={"type": "string"}
                ),
                _object(fact={"type": "string"}, value={"type": "string"}),
            ]
        },
    }
    scores = {
        criterion.id: _object(
            reason={"type": "string"},
            citations=citations,
            level={
                "anyOf": [
                    {"type": "integer", "enum": sorted(level.level for level in criterion.levels)},
                    {"type": "null"},
                ]
            },
            confidence={"type": "number"},
        )
        for criterion in list_judged(rubric)
    }
    item = _object(part={"type": "string", "enum": list(PARTS)}, text={"type": "string"}, citations=citations)
    return _object(scores=_object(**scores), feedback={"type": "array", "items": item})


def read_answer(text: str, rubric: Rubric) -> Draft:
    """Return the draft that `text` spells.

    Raises:
        AnswerError: If `text` is anything but the object asked for, with each criterion that `rubric` leaves
            to a judge exactly once. All problems are listed, so that one repair can mend them.
    """
    reading = _Reading()
    answer = reading.read_object(_parse(text), "the answer", ("scores", "feedback"))
    judged = list_judged(rubric)
    entries = reading.read_scores(answer.get("scores"), judged)
    scores = [
        reading.read_score(entries[criterion.id], criterion)
        for criterion in judged
        if criterion.id in entries
    ]
    feedback = reading.read_feedback(answer.get("feedback")) if "feedback" in answer else []
    reading.finish()
    return Draft(scores=tuple(scores), feedback=tuple(feedback))


def write_repair(error: AnswerError) -> str:
    """Return the message that asks the model once to mend its answer; it repeats nothing of the answer."""
    shown = [f"- {problem}" for problem in error.problems[:_PROBLEMS]]
    if len(error.problems) > _PROBLEMS:
        shown.append(f"- and {len(error.problems) - _PROBLEMS} more of the same kinds")
    return "\n".join(
        (
            "Your answer could not be read, so nobody will see it:",
            "",
            *shown,
            "",
            "Answer again: the whole JSON object in the form described, with what was right unchanged, and",
            "no text before or after it. What you judge, and by which rules, has not changed.",
        )
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parse(text: str) -> Any:
    if len(text) > _ANSWER_CHARACTERS:
        raise AnswerError(
            "answer_too_long", [f"the answer has {len(text)} characters; the limit is {_ANSWER_CHARACTERS}"]
        )
    try:
        return parse_json(text)
    except JsonError as error:
        raise AnswerError(error.code, [f"the answer {error.problem}"]) from None


class _Reading:
    """One pass over one answer, which collects problems instead of stopping at the first."""

    def __init__(self) -> None:
        self._problems: list[tuple[str, str]] = []

    def finish(self) -> None:
        """Raise what was found, if anything was."""
        if self._problems:
            raise AnswerError(self._problems[0][0], [problem for _, problem in self._problems])

    def read_scores(self, value: Any, judged: Sequence[Criterion]) -> dict[str, Any]:
        """Return the entries under ``scores`` that were asked for."""
        if value is None:
            # An absent "scores" is reported already, and a null one names no criterion either.
            self._note("missing_criterion", "scores: there are none")
            return {}
        if not isinstance(value, dict):
            self._note("wrong_type", f"scores: {_name_type(value)} where an object is due")
            return {}
        asked = {criterion.id for criterion in judged}
        for criterion in judged:
            if criterion.id not in value:
                self._note("missing_criterion", f"scores: criterion {criterion.id} is missing")
        extra = len(value.keys() - asked)
        if extra:
            self._note(
                "extra_criterion", f"scores: {_count(extra, 'entry', 'entries')} that nobody asked for"
            )
        return {name: entry for name, entry in value.items() if name in asked}

    def read_score(self, value: Any, criterion: Criterion) -> Score:
        """Return one score; what is wrong with it is noted, and a stand-in returned."""
        place = f"scores.{criterion.id}"
        entry = self.read_object(value, place, _SCORE_KEYS)
        reason = self._read_statement(entry, "reason", place, "empty_reason")
        citations = self._read_citations(entry, place)
        level = self._read_level(entry, criterion, place)
        confidence = self._read_confidence(entry, place)
        if level is not None and not citations:
            self._note("level_without_citation", f"{place}: a level needs at least one citation")
        return Score(
            criterion=criterion.id,
            level=level,
            source="judge",
            reason=reason,
            citations=citations,
            confidence=None if level is None else confidence,
        )

    def read_feedback(self, value: Any) -> list[FeedbackItem]:
        """Return the feedback items."""
        if not isinstance(value, list):
            self._note("wrong_type", f"feedback: {_name_type(value)} where an array is due")
            return []
        if not value:
            self._note("no_feedback", "feedback: there is no item")
        if len(value) > _FEEDBACK_ITEMS:
            self._note("too_much_feedback", f"feedback: {len(value)} items; the limit is {_FEEDBACK_ITEMS}")
            return []
        return [self._read_item(item, f"feedback[{place}]") for place, item in enumerate(value)]

    def read_object(self, value: Any, place: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return `value`; if it is no object with exactly `keys`, note why and return what can be used."""
        if not isinstance(value, dict):
            self._note("wrong_type", f"{place}: {_name_type(value)} where an object is due")
            return {}
        for key in keys:
            if key not in value:
                self._note("missing_key", f"{place}: {key!r} is missing")
        extra = len(value.keys() - set(keys))
        if extra:
            known = ", ".join(keys)
            self._note("extra_key", f"{place}: {_count(extra, 'key', 'keys')} other than {known}")
        return value

    def _read_item(self, value: Any, place: str) -> FeedbackItem:
        entry = self.read_object(value, place, _ITEM_KEYS)
        part = entry.get("part")
        if "part" in entry and part not in PARTS:
            self._note("unknown_part", f"{place}.part: it must be one of {', '.join(PARTS)}")
        return FeedbackItem(
            part=cast(Literal["works", "change", "next"], part) if part in PARTS else "next",
            text=self._read_statement(entry, "text", place, "empty_text"),
            citations=self._read_citations(entry, place),
        )

    def _read_statement(self, entry: dict[str, Any], key: str, place: str, empty: str) -> str:
        text = self._read_text(entry, key, place, _STATEMENT_CHARACTERS).strip()
        if isinstance(entry.get(key), str) and len(_WORD.findall(text)) < _STATEMENT_WORDS:
            self._note(empty, f"{place}.{key}: it says nothing")
        return text

    def _read_citations(self, entry: dict[str, Any], place: str) -> tuple[Citation, ...]:
        value = entry.get("citations", [])
        if not isinstance(value, list):
            self._note("wrong_type", f"{place}.citations: {_name_type(value)} where an array is due")
            return ()
        if len(value) > _CITATIONS:
            self._note(
                "too_many_citations", f"{place}.citations: {len(value)} of them; the limit is {_CITATIONS}"
            )
            return ()
        return tuple(
            self._read_citation(one, f"{place}.citations[{number}]") for number, one in enumerate(value)
        )

    def _read_citation(self, value: Any, place: str) -> Citation:
        if isinstance(value, dict) and "fact" in value:
            entry = self.read_object(value, place, _FACT_KEYS)
            return Citation(
                kind="fact",
                fact=self._read_text(entry, "fact", place, _NAME_CHARACTERS),
                value=self._read_text(entry, "value", place, _NAME_CHARACTERS),
            )
        entry = self.read_object(value, place, _LINES_KEYS)
        return Citation(
            kind="lines",
            first_line=self._read_line(entry, "first_line", place),
            last_line=self._read_line(entry, "last_line", place),
            quote=self._read_text(entry, "quote", place, _QUOTE_CHARACTERS),
        )

    def _read_line(self, entry: dict[str, Any], key: str, place: str) -> int:
        value = entry.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool):
            self._note("wrong_type", f"{place}.{key}: {_name_type(value)} where a line number is due")
            return 0
        if not -_LINE_NUMBER <= value <= _LINE_NUMBER:
            self._note("not_a_line", f"{place}.{key}: it is no line number")
            return 0
        return value

    def _read_level(self, entry: dict[str, Any], criterion: Criterion, place: str) -> int | None:
        value = entry.get("level")
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self._note("wrong_type", f"{place}.level: {_name_type(value)} where a level or null is due")
            return None
        offered = sorted(level.level for level in criterion.levels)
        if value not in offered:
            names = ", ".join(map(str, offered))
            self._note("level_not_offered", f"{place}.level: the rubric offers {names}, or null")
            return None
        return value

    def _read_confidence(self, entry: dict[str, Any], place: str) -> float | None:
        if "confidence" not in entry:
            return None
        value = entry["confidence"]
        if value is None and entry.get("level") is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._note("wrong_type", f"{place}.confidence: {_name_type(value)} where a number is due")
            return None
        if not 0 <= value <= 1:
            self._note("confidence_out_of_range", f"{place}.confidence: it must be from 0 to 1")
            return None
        return float(value)

    def _read_text(self, entry: dict[str, Any], key: str, place: str, limit: int) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str):
            self._note("wrong_type", f"{place}.{key}: {_name_type(value)} where text is due")
            return ""
        if len(value) > limit:
            self._note("too_long", f"{place}.{key}: {len(value)} characters; the limit is {limit}")
            return ""
        return value

    def _note(self, code: str, problem: str) -> None:
        self._problems.append((code, problem))


def _name_type(value: Any) -> str:
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (type(None), "null"),
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "text"),
        (list, "an array"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "an object")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
