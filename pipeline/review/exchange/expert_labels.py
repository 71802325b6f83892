"""Expert labels from a file: one row is what one person said blind about one criterion of one submission.

Columns: ``submission`` (id, unique beginning of one, path as graded, or SHA-256 of the code) or ``review`` or
``grading``; ``rater``; ``criterion``; ``level``, or ``cannot_judge`` with a ``reason``; ``rubric`` (id and
version, or content hash); and where they are known ``at``, ``probability`` (with which chance drew the
submission) and ``note``. The columns that labels are exported with mean the same.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pipeline.review.exchange.answers import BadRow, Refused, read_instant, read_level
from pipeline.review.exchange.items import CANNOT_JUDGE
from pipeline.review.exchange.subjects import Subjects
from pipeline.review.exchange.tables import TableRow, read_table, refuse_table
from pipeline.review.labels import FileLabel, Labels, keep_file_labels
from pipeline.store import Store
from pipeline.types import Answer, Frozen
from pipeline.types.visible import show_controls

__all__ = ["ExpertImport", "LabelFile", "import_expert_labels"]

_REQUIRED: Final = ("rater", "criterion", "level", "rubric")
_SUBJECTS: Final = ("submission", "review", "grading")
#: How people ended up with these levels is no blind view of a submission of the stream.
_NOT_BLIND: Final = {
    "adjudication": "an adjudicator knew what others said",
    "gold": "a gold item is planted and no sample of anything",
    "norming": "a norming session is talked about",
}
_LONGEST_CELL: Final = 20_000
_LONGEST_NAME: Final = 200
_LONGEST_REASON: Final = 2000
_PSEUDONYM: Final = "rater-"
#: Rater, grading, rubric and criterion: what has one answer.
_Key = tuple[str, str, str, str]


class LabelFile(Frozen):
    """A file that labels were taken from: what it was and who brought it; the newest import counts."""

    sha256: str
    name: str
    size: int
    labels: int
    """Kept by this import."""
    refused: int
    imported_by: str
    imported_at: datetime


@dataclass(frozen=True, slots=True)
class ExpertImport:
    """What became of a file.

    Attributes:
        file: Its SHA-256.
        labels: How many labels are new.
        unchanged: How many were known, from this file or elsewhere.
        bad: Rows that were not taken, with the reason.
        notes: What whoever imports it should know of what was kept.
    """

    file: str
    labels: int
    unchanged: int
    bad: tuple[BadRow, ...]
    notes: tuple[str, ...]


def import_expert_labels(
    store: Store, path: Path, data: bytes, *, imported_by: str, now: datetime | None = None
) -> ExpertImport:
    """Keep what can be kept of a file of expert labels; on return it is committed.

    Of two rows that contradict each other neither is taken, and what a person said before stays.

    Args:
        store: Where to keep it.
        path: The file.
        data: What it holds.
        imported_by: Who imports it.
        now: When; for tests.

    Raises:
        GraderError: If the file as a whole cannot be read.
    """
    moment = now or datetime.now(UTC)
    sha256 = hashlib.sha256(data).hexdigest()
    bad: list[BadRow] = []
    notes: Counter[str] = Counter()
    said: dict[_Key, list[tuple[str, FileLabel]]] = defaultdict(list)
    subjects = Subjects(store)
    for row in read_table(path, data, _REQUIRED):
        try:
            label = _read_row(row, subjects, sha256, imported_by, moment, notes)
        except Refused as refusal:
            bad.append(BadRow(row.where, show_controls(str(refusal))))
            continue
        said[_key_of(label)].append((row.where, label))
    if not said and not bad:
        raise refuse_table("it holds no labels", "give a file with a header and a row per label")
    known = _list_known(store, pseudonyms=any(key[0].startswith(_PSEUDONYM) for key in said))
    new, unchanged = [], 0
    for key, rows in said.items():
        answers = {label.answer.level for _, label in rows}
        if len(answers) > 1:
            bad += _contradict(rows)
        elif key not in known:
            new.append(rows[0][1])
            unchanged += len(rows) - 1
        elif answers <= known[key]:
            unchanged += len(rows)
        else:
            earlier = ", ".join(sorted(map(_say, known[key])))
            reason = f"{key[0]} said {earlier} of {key[3]!r} before, and what was said blind stays"
            bad += [BadRow(where, reason) for where, _ in rows]
    keep_file_labels(store, new)
    if new:
        record = LabelFile(
            sha256=sha256,
            name=show_controls(path.name),
            size=len(data),
            labels=len(new),
            refused=len(bad),
            imported_by=imported_by,
            imported_at=moment,
        )
        store.desk.save_record("label_file", sha256, record)
    return ExpertImport(
        file=sha256,
        labels=len(new),
        unchanged=unchanged,
        bad=tuple(bad),
        notes=tuple(f"{count} {what}" for what, count in sorted(notes.items())),
    )


def _read_row(
    row: TableRow,
    subjects: Subjects,
    sha256: str,
    imported_by: str,
    now: datetime,
    notes: Counter[str],
) -> FileLabel:
    if row.cells is None:
        raise Refused(row.problem)
    cells = {name: _read_text(name, value) for name, value in row.cells.items()}
    if cells.get("source") == "constructed":
        raise Refused("a task's author constructed it; it is no expert's")
    purpose = cells.get("purpose", "")
    if purpose in _NOT_BLIND:
        raise Refused(_NOT_BLIND[purpose])
    names = {name: cells.get(name) or cells.get(f"{name}_id", "") for name in _SUBJECTS}
    subject = subjects.find(**names, rubric=cells.get("rubric", ""))
    rater = show_controls(cells.get("rater", "")).strip()
    if not 0 < len(rater) <= _LONGEST_NAME:
        raise Refused(f"a rater's name has 1 to {_LONGEST_NAME} characters")
    criteria = {criterion.id: criterion for criterion in subject.rubric.criteria}
    name = cells.get("criterion", "")
    if name not in criteria:
        raise Refused(f"the rubric has no criterion {name[:80]!r}; choose from {', '.join(criteria)}")
    if subjects.is_settled(subject, name):
        raise Refused(f"criterion {name!r} is settled by a check and asked of nobody")
    word = CANNOT_JUDGE if cells.get("state") == CANNOT_JUDGE else cells.get("level", "")
    if not word:
        raise Refused(f"it has no level; write {CANNOT_JUDGE} and a reason where there is none")
    level = read_level(_as_whole(word), criteria[name])
    reason, note = (show_controls(cells.get(text, "")).strip() for text in ("reason", "note"))
    if len(reason) > _LONGEST_REASON:
        raise Refused(f"its reason has {len(reason):,} characters; at most {_LONGEST_REASON:,} are kept")
    # A second place was drawn among reviews: that says nothing of how the submission was.
    drawn = _read_probability(cells.get("probability", "")) if purpose != "second" else None
    if not subject.is_current:
        title = f"{subject.rubric.id} {subject.rubric.version}"
        notes[f"labels were given under {title}, by which their submissions are not judged now"] += 1
    return FileLabel(
        grading_id=subject.grading_id,
        submission_id=subject.submission_id,
        task_id=subject.task_id,
        review_id=subject.review_id,
        rubric=subject.rubric_hash,
        criterion=name,
        answer=Answer(
            level=level, reason=reason or ("" if level is not None else note[:2000] or "none given")
        ),
        rater=rater,
        sampling="audit" if cells.get("sampling") == "audit" else "route",
        probability=drawn,
        note=note,
        at=read_instant(cells.get("at", "")) or now,
        file=sha256,
        imported_by=imported_by,
        imported_at=now,
    )


def _read_text(name: str, value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Refused(f"{name[:80]!r} is neither text nor a number")
    if isinstance(value, int) and abs(value) >= 10**18:
        raise Refused(f"the number in {name[:80]!r} is absurd")
    text = str(value)
    if len(text) > _LONGEST_CELL:
        raise Refused(f"{name[:80]!r} has {len(text):,} characters; at most {_LONGEST_CELL:,} are read")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Refused(f"{name[:80]!r} holds half a surrogate pair, which is no text")
    return text.strip()


def _as_whole(word: str) -> str:
    """Return ``3`` for ``3.0``: so a table writes whole numbers once a cell of the column is empty."""
    whole, _, fraction = word.partition(".")
    return whole if whole.isdigit() and fraction and not fraction.strip("0") else word


def _read_probability(text: str) -> float | None:
    if not text:
        return None
    try:
        probability = float(text)
    except ValueError:
        probability = math.nan
    if not 0 < probability <= 1:
        raise Refused(f"{text[:80]!r} is no probability: a number above 0, at most 1")
    return probability


def _key_of(label: FileLabel) -> _Key:
    return label.rater, label.grading_id, label.rubric, label.criterion


def _list_known(store: Store, *, pseudonyms: bool) -> dict[_Key, set[int | None]]:
    """Return what everybody said already; with `pseudonyms`, under these too: an export bears them."""
    reader = Labels(store)
    known: dict[_Key, set[int | None]] = defaultdict(set)
    for label in reader.read():
        for rater in {label.rater, reader.hide_rater(label).rater if pseudonyms else label.rater}:
            known[rater, label.grading_id, label.rubric, label.criterion].add(label.level)
    return dict(known)


def _contradict(rows: list[tuple[str, FileLabel]]) -> Iterable[BadRow]:
    for where, label in rows:
        others = ", ".join(
            f"{_say(other.answer.level)} in {place}"
            for place, other in rows
            if other.answer.level != label.answer.level
        )
        yield BadRow(
            where, f"{label.rater} says {_say(label.answer.level)} here and {others}: neither is taken"
        )


def _say(level: int | None) -> str:
    return CANNOT_JUDGE if level is None else str(level)
