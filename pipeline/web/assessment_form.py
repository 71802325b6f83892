"""The form of an assessment: from its fields to what a person says, and back from nothing but its fields.

Fields are named ``level.CRITERION`` and the like; what is there several times, such as comments, comes as
lists of equal length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Request
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import FormData

from pipeline.review.errors import DeskError
from pipeline.types import (
    Answer,
    Assessment,
    Cause,
    Citation,
    FeedbackItem,
    LineComment,
    Objection,
    Revision,
    Rubric,
)

__all__ = [
    "CANNOT_JUDGE",
    "Fields",
    "edit_assessment",
    "read_assessment",
    "read_causes",
    "read_number",
    "read_seconds",
    "read_text",
]

Kept = TypeVar("Kept")

#: What a form sends for a criterion that cannot be judged from the evidence.
CANNOT_JUDGE: Final = "none"

#: A person writes hundreds of line comments at most, with three fields each.
_MOST_FIELDS: Final = 5000
_DAY: Final = 24 * 3600.0
_CITATIONS: Final = TypeAdapter(tuple[Citation, ...])


async def _read_fields(request: Request) -> FormData:
    return await request.form(max_files=0, max_fields=_MOST_FIELDS)


#: What a route takes to get the form: ``fields: Fields``.
Fields = Annotated[FormData, Depends(_read_fields)]


def read_text(fields: FormData, name: str) -> str:
    """Return a text field with the line ends that everything else here has; of several the last."""
    value = fields.get(name, "")
    return _clean(value) if isinstance(value, str) else ""


def read_number(fields: FormData, name: str) -> int:
    """Return a whole number that is not negative; 0 for what is none."""
    text = read_text(fields, name).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def read_seconds(fields: Mapping[str, object]) -> float | None:
    """Return the active seconds that the page counted, or None where no script did; it may claim anything."""
    try:
        seconds = float(str(fields.get("seconds") or ""))
    except ValueError:
        return None
    return min(seconds, _DAY) if seconds >= 0 else 0.0


def read_assessment(fields: FormData, rubric: Rubric, asked: Sequence[str]) -> Assessment:
    """Return what the form says so far; whether that is enough the desk decides.

    Raises:
        DeskError: ``invalid`` if something cannot be kept as it is; what, and what fits.
    """
    titles = {criterion.id: criterion.title for criterion in rubric.criteria}
    answers = {}
    for criterion in asked:
        if (answer := _read_answer(fields, criterion, titles.get(criterion, criterion))) is not None:
            answers[criterion] = answer
    names = [
        name.removeprefix("objection.") for name in dict.fromkeys(fields) if name.startswith("objection.")
    ]
    objections = [
        _keep(f"The objection to {check}", Objection, check=check, reason=reason)
        for check in names
        if (reason := read_text(fields, f"objection.{check}").strip())
    ]
    return _keep(
        "The note",
        Assessment,
        answers=answers,
        comments=tuple(_read_comments(fields)),
        objections=tuple(objections),
        passed={"yes": True, "no": False}.get(read_text(fields, "passed")),
        note=read_text(fields, "note"),
        feedback=tuple(_read_feedback(fields)) if "feedback.shown" in fields else None,
    )


def edit_assessment(assessment: Assessment, edit: str, fields: FormData) -> Assessment:
    """Return the assessment after one of the form's small buttons was pressed, such as ``remove-comment:2``.

    Raises:
        DeskError: ``invalid``.
    """
    action, _, place_text = edit.partition(":")
    place = int(place_text) if place_text.isascii() and place_text.isdigit() and len(place_text) < 6 else 0
    if action == "add-comment":
        return assessment.model_copy(
            update={"comments": tuple(sorted((*assessment.comments, _new_comment(fields)), key=_place))}
        )
    if action == "remove-comment":
        return assessment.model_copy(update={"comments": _without(assessment.comments, place)})
    items = list(assessment.feedback or ())
    if action == "add-feedback":
        text = read_text(fields, "new.feedback").strip()
        if not text:
            raise DeskError("invalid", "a remark needs a text", "write it, then add it")
        items.append(
            _keep("The remark", FeedbackItem, part=read_text(fields, "new.part") or "change", text=text)
        )
    elif action == "remove-feedback":
        items = list(_without(items, place))
    elif action in ("up", "down") and place < len(items):
        other = max(place - 1, 0) if action == "up" else min(place + 1, len(items) - 1)
        items[place], items[other] = items[other], items[place]
    return assessment.model_copy(update={"feedback": tuple(items)})


def read_causes(fields: FormData, blind: Assessment, final: Assessment) -> tuple[Revision, ...]:
    """Return why each level differs from the blind one, as far as the form says."""
    revisions = []
    for criterion, answer in final.answers.items():
        before = blind.answers.get(criterion)
        cause = read_text(fields, f"cause.{criterion}")
        if before is None or before.level == answer.level or cause not in set(Cause):
            continue
        revisions.append(
            _keep(
                "The reason for a change",
                Revision,
                criterion=criterion,
                before=before.level,
                after=answer.level,
                cause=Cause(cause),
                remark=read_text(fields, f"remark.{criterion}").strip(),
            )
        )
    return tuple(revisions)


def _read_answer(fields: FormData, criterion: str, title: str) -> Answer | None:
    text, reason = read_text(fields, f"level.{criterion}"), read_text(fields, f"reason.{criterion}")
    if text == CANNOT_JUDGE:
        return _keep(f"The reason for {title}", Answer, level=None, reason=reason.strip())
    if text.isascii() and text.isdigit() and len(text) < 4:
        return _keep(f"The reason for {title}", Answer, level=int(text), reason=reason.strip())
    if text:
        raise DeskError("invalid", f"{title}: {text[:20]!r} is no level", "choose one of those offered")
    return None


def _read_comments(fields: FormData) -> list[LineComment]:
    columns = [_list(fields, f"comment.{part}") for part in ("first", "last", "text")]
    return [_make_comment(*row) for row in zip(*columns, strict=False) if row[2].strip()]


def _new_comment(fields: FormData) -> LineComment:
    first = read_text(fields, "new.first").strip()
    text = read_text(fields, "new.text")
    if not text.strip():
        raise DeskError("invalid", "a comment needs a text", "write it, then add it")
    return _make_comment(first, read_text(fields, "new.last").strip() or first, text)


def _make_comment(first: str, last: str, text: str) -> LineComment:
    numbers = [int(line) for line in (first, last) if line.isascii() and line.isdigit() and len(line) < 8]
    if len(numbers) < 2 or min(numbers) < 1:
        raise DeskError("invalid", "a comment needs the number of its first line", "type it, such as 12")
    return _keep("A comment", LineComment, first_line=min(numbers), last_line=max(numbers), text=text.strip())


def _place(comment: LineComment) -> tuple[int, int]:
    return comment.first_line, comment.last_line


def _read_feedback(fields: FormData) -> list[FeedbackItem]:
    columns = [_list(fields, f"feedback.{part}") for part in ("part", "text", "citations")]
    items = []
    for part, text, citations in zip(*columns, strict=False):
        try:
            cited = _CITATIONS.validate_json(citations or "[]")
        except ValidationError as error:
            raise DeskError("invalid", "what a remark cites cannot be read", "load the page again") from error
        if text.strip():
            items.append(_keep("A remark", FeedbackItem, part=part, text=text.strip(), citations=cited))
    return items


def _without(items: Sequence[Any], place: int) -> tuple[Any, ...]:
    return tuple(item for number, item in enumerate(items) if number != place)


def _list(fields: FormData, name: str) -> list[str]:
    return [_clean(value) for value in fields.getlist(name) if isinstance(value, str)]


def _clean(text: str) -> str:
    # Browsers send CR LF, and a lone surrogate or a NUL is nothing that a database takes.
    return text.replace("\r\n", "\n").replace("\0", "␀").encode("utf-8", "replace").decode()


def _keep(what: str, model: Callable[..., Kept], **values: Any) -> Kept:
    """Return a value of ours made of what somebody typed.

    Raises:
        DeskError: ``invalid``, with the limit that it met.
    """
    try:
        return model(**values)
    except ValidationError as error:
        problem = error.errors()[0]
        limit = (problem.get("ctx") or {}).get("max_length")
        said = (
            f"{what} may have at most {limit} characters"
            if limit
            else f"{what} cannot be kept: {problem['msg']}"
        )
        raise DeskError("invalid", said, "shorten or correct it; nothing was changed") from error
