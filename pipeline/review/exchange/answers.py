"""What comes back: answers are held to their review's rubric, kept as labels, and told apart row by row."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipeline.errors import GraderError
from pipeline.review.errors import DeskError
from pipeline.review.exchange.items import CANNOT_JUDGE
from pipeline.review.labels import ImportedAssessment, Source, keep_imported
from pipeline.review.material import Material
from pipeline.store import DeskItem, Store
from pipeline.types import Answer, Criterion, Fault, Owner
from pipeline.types.visible import show_controls

__all__ = [
    "BadRow",
    "ImportResult",
    "Parsed",
    "Refused",
    "Row",
    "import_answers",
    "read_instant",
    "read_level",
    "read_records",
]

#: The longest name of a rater, and the longest reason that is kept.
_LONGEST_NAME = 200
_LONGEST_REASON = 2000


class Refused(Exception):
    """One row that cannot be taken, with the reason; the rows beside it are."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was not taken.

    Attributes:
        where: Which, counted from 1, such as ``task 3, annotation 1``.
        reason: Why.
    """

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """One person's answers to one item, as another program wrote them.

    Attributes:
        where: Which row they stand in, for messages.
        review_id: The review.
        rater: Who answered.
        rubric: Content hash of the rubric they were asked by.
        answers: Per criterion: a level, a word with a level, or `CANNOT_JUDGE`.
        reasons: Per criterion, where one was given.
        seconds: Time it took; None where nobody knows.
        at: When they were given.
    """

    where: str
    review_id: str
    rater: str
    rubric: str
    answers: dict[str, Any]
    reasons: dict[str, str]
    seconds: float | None
    at: datetime | None


#: Answers, a row that could not be read, or None for one that holds no answer of a person.
Row = Parsed | BadRow | None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of a file.

    Attributes:
        assessments: How many persons' assessments were kept; the same again is kept once.
        labels: How many answers are in them.
        skipped: Rows without an answer of a person: drafts and skipped items.
        bad: Rows that were not taken, with the reason.
    """

    assessments: int
    labels: int
    skipped: int
    bad: tuple[BadRow, ...]


def import_answers(
    store: Store,
    source: Source,
    rows: Iterable[Row],
    *,
    imported_by: str,
    now: datetime | None = None,
) -> ImportResult:
    """Keep what can be kept of `rows`, as labels with their origin; on return it is committed.

    Args:
        store: Where to keep it.
        source: Which program it comes from.
        rows: What the other program's reader yields.
        imported_by: Who imports it.
        now: When; for tests.
    """
    material = Material(store)
    items = {item.review.id: item for _, item in store.desk.list_items()}
    kept: dict[tuple[str, str], ImportedAssessment] = {}
    places: dict[tuple[str, str], str] = {}
    bad: list[BadRow] = []
    skipped = 0
    moment = now or datetime.now(UTC)
    for row in rows:
        if row is None:
            skipped += 1
            continue
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        try:
            assessment = _check(row, items, material, source, imported_by, moment)
        except Refused as refusal:
            bad.append(BadRow(row.where, show_controls(str(refusal))))
            continue
        key = (assessment.review_id, assessment.rater)
        if key in kept:
            older = row.where if kept[key].at > assessment.at else places[key]
            newer = places[key] if older == row.where else row.where
            bad.append(BadRow(older, f"{key[1]} answered this review again in {newer}, which counts"))
            if older == row.where:
                continue
        kept[key], places[key] = assessment, row.where
    keep_imported(store, list(kept.values()))
    return ImportResult(len(kept), sum(len(a.answers) for a in kept.values()), skipped, tuple(bad))


def read_records(data: bytes, *, wrapped_in: str = "") -> list[Any]:
    """Return the records of a file: a JSON array, or JSON Lines.

    Args:
        data: The file.
        wrapped_in: Key of an object that the array may stand in, as an HTTP API gives it.

    Raises:
        GraderError: If it is neither.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start + 1} is no UTF-8 text") from error
    try:
        whole = json.loads(text)
    except RecursionError as error:
        raise _unreadable("it is nested too deeply") from error
    except ValueError as error:
        return _read_lines(text, str(error))
    if isinstance(whole, dict) and wrapped_in and isinstance(whole.get(wrapped_in), list):
        whole = whole[wrapped_in]
    if isinstance(whole, dict):
        return [whole]
    if not isinstance(whole, list):
        raise _unreadable("it holds no list of records")
    return whole


def read_level(value: Any, criterion: Criterion) -> int | None:
    """Return the level that an answer names, by number or in the words of a choice; None for no judgement.

    Raises:
        Refused: If it names none, or one that is not offered.
    """
    offered = [step.level for step in criterion.levels]
    word = value.strip() if isinstance(value, str) else value
    if isinstance(word, str):
        if word == CANNOT_JUDGE or word.lower().startswith("cannot judge"):
            return None
        number = word.partition(":")[0].strip()
        word = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else None
    if isinstance(word, bool) or not isinstance(word, int) or word not in offered:
        raise Refused(
            f"criterion {criterion.id!r} has no level {_shorten(value)};"
            f" choose from {', '.join(map(str, offered))} or {CANNOT_JUDGE}"
        )
    return word


def read_instant(value: Any) -> datetime | None:
    """Return a time as ISO 8601 writes it, UTC where it names no zone; None where there is none.

    Raises:
        Refused: If it is something else.
    """
    if value is None or value == "":
        return None
    try:
        instant = datetime.fromisoformat(value)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(f"{_shorten(value)} is no time; write it as 2026-11-30T12:00:00Z") from error


def _check(
    row: Parsed,
    items: dict[str, DeskItem],
    material: Material,
    source: Source,
    imported_by: str,
    now: datetime,
) -> ImportedAssessment:
    item = items.get(row.review_id)
    if item is None:
        raise Refused(f"no review is called {_shorten(row.review_id)}; is it from another database?")
    if not material.means_the_same(row.rubric, item.rubric):
        raise Refused("it was answered under another version of the rubric; export the item again")
    rater = show_controls(row.rater).strip()
    if not 0 < len(rater) <= _LONGEST_NAME:
        raise Refused(f"a rater's name has 1 to {_LONGEST_NAME} characters")
    if row.seconds is not None and not (math.isfinite(row.seconds) and row.seconds >= 0):
        raise Refused("the time it took is no number of seconds")
    try:
        settled = material.settled(item)
    except DeskError as error:
        raise Refused(error.fault.message) from error
    criteria = {criterion.id: criterion for criterion in settled.rubric.criteria}
    answers = {}
    for name, value in row.answers.items():
        if name not in criteria:
            raise Refused(
                f"the rubric has no criterion {_shorten(name)}; choose from {', '.join(settled.asked)}"
            )
        if name not in settled.asked:
            raise Refused(f"criterion {name!r} is settled by a check and asked of nobody")
        level = read_level(value, criteria[name])
        reason = _clean(row.reasons.get(name, ""))
        answers[name] = Answer(level=level, reason=reason or ("" if level is not None else "none given"))
    if not answers:
        raise Refused("it answers no criterion")
    return ImportedAssessment(
        review_id=item.review.id,
        rater=rater,
        source=source,
        answers=answers,
        rubric=row.rubric,
        seconds=row.seconds,
        at=row.at or now,
        imported_by=imported_by,
        imported_at=now,
    )


def _read_lines(text: str, why: str) -> list[Any]:
    records = []
    lines: Sequence[str] = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                if not records:
                    raise _unreadable(f"it is neither JSON ({why}) nor JSON Lines") from error
                # One broken line is one bad record: whoever reads records says so by its number.
                records.append(f"line {number} is no JSON")
    if not records:
        raise _unreadable("it is empty")
    return records


def _unreadable(message: str) -> GraderError:
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="bad_import",
            message=f"the file cannot be read: {message}",
            remedy="give a file as the other program exports it: JSON or JSON Lines",
        )
    )


def _clean(text: str) -> str:
    return show_controls(text).strip()[:_LONGEST_REASON]


def _shorten(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**9 else "that large"
    return text if len(text) <= 80 else text[:77] + "..."
