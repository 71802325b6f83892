"""Label Studio: tasks and a labelling configuration go out, annotated tasks come back.

The export is what its import takes: a JSON array of tasks with their data, and one configuration (XML) per
project. The import reads its JSON export: tasks with annotations, each with one result per question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from pipeline.review.exchange.answers import BadRow, Parsed, Refused, Row, read_instant, read_records
from pipeline.review.exchange.items import CANNOT_JUDGE, REASON, TEXTS, ExchangeItem, say_level
from pipeline.types import Criterion

__all__ = ["export_configuration", "export_tasks", "read_annotations"]


def export_tasks(items: Iterable[ExchangeItem]) -> str:
    """Return tasks as Label Studio imports them (JSON)."""
    tasks = [
        {
            "data": {
                "review_id": item.review_id,
                "rubric": item.rubric_hash,
                "task": item.task_id,
                "statement": item.statement,
                "evidence": item.evidence,
                "code": item.code,
            }
        }
        for item in items
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def export_configuration(criteria: Sequence[Criterion]) -> str:
    """Return the labelling configuration of a project that asks for `criteria` (XML).

    What is stored of a choice is its alias: the bare level.
    """
    view = ElementTree.Element("View")
    for name, title in TEXTS:
        ElementTree.SubElement(view, "Header", value=title)
        ElementTree.SubElement(view, "Text", name=name, value=f"${name}")
    for criterion in criteria:
        ElementTree.SubElement(view, "Header", value=f"{criterion.title}: {criterion.question}")
        choices = ElementTree.SubElement(
            view, "Choices", name=criterion.id, toName="code", choice="single-radio", required="true"
        )
        for step in criterion.levels:
            ElementTree.SubElement(
                choices, "Choice", value=say_level(criterion, step.level), alias=str(step.level)
            )
        ElementTree.SubElement(
            choices, "Choice", value="Cannot judge from the evidence (say why)", alias=CANNOT_JUDGE
        )
        ElementTree.SubElement(
            view,
            "TextArea",
            name=criterion.id + REASON,
            toName="code",
            placeholder="Why",
            maxSubmissions="1",
        )
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_annotations(data: bytes, raters: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield what annotated tasks hold, one row per annotation; None for those that were skipped.

    Args:
        data: Label Studio's JSON export.
        raters: Names by what ``completed_by`` says: an e-mail address or a number.

    Raises:
        GraderError: If the file as a whole cannot be read.
    """
    for number, task in enumerate(read_records(data), 1):
        where = f"task {number}"
        if not isinstance(task, dict):
            yield BadRow(where, task if isinstance(task, str) else "it is no JSON object")
            continue
        annotations = task.get("annotations", [])
        if not isinstance(annotations, list):
            yield BadRow(where, "its annotations are no list; export with the format JSON, not JSON-MIN")
            continue
        for place, annotation in enumerate(annotations, 1):
            where = f"task {number}, annotation {place}"
            try:
                yield _read_annotation(where, task.get("data"), annotation, raters or {})
            except Refused as refusal:
                yield BadRow(where, str(refusal))


def _read_annotation(where: str, data: Any, annotation: Any, raters: Mapping[str, str]) -> Parsed | None:
    if not isinstance(data, dict) or not isinstance(annotation, dict):
        raise Refused("the task has no data, or the annotation is no JSON object")
    if annotation.get("was_cancelled"):
        return None
    result = annotation.get("result")
    if not isinstance(result, list):
        raise Refused("it has no list of results")
    answers: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for entry in result:
        name, kind, value = _read_entry(entry)
        if kind == "textarea":
            texts = value.get("text")
            words = texts if isinstance(texts, list) else [texts]
            reasons[name.removesuffix(REASON)] = "\n".join(word for word in words if isinstance(word, str))
        elif name in answers:
            raise Refused(f"criterion {name!r} is answered twice")
        else:
            answers[name] = _read_choice(name, kind, value)
    seconds = annotation.get("lead_time")
    return Parsed(
        where=where,
        review_id=_read_text(data, "review_id"),
        rater=_name_rater(annotation.get("completed_by"), raters),
        rubric=_read_text(data, "rubric"),
        answers=answers,
        reasons=reasons,
        seconds=float(seconds) if isinstance(seconds, int | float) and _is_moderate(seconds) else None,
        at=read_instant(annotation.get("updated_at") or annotation.get("created_at")),
    )


def _read_entry(entry: Any) -> tuple[str, str, dict[str, Any]]:
    if isinstance(entry, dict):
        name, kind, value = entry.get("from_name"), entry.get("type"), entry.get("value")
        if isinstance(name, str) and isinstance(kind, str) and isinstance(value, dict):
            return name, kind.lower(), value
    raise Refused("a result has no from_name, type and value")


def _read_choice(name: str, kind: str, value: Mapping[str, Any]) -> Any:
    if kind == "rating":
        return value.get("rating")
    chosen = value.get("choices") if kind == "choices" else None
    if not isinstance(chosen, list) or len(chosen) != 1:
        raise Refused(f"the answer to {name[:80]!r} is not one choice")
    return chosen[0]


def _read_text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise Refused(f"the task's data has no {key}: it was not exported from here")
    return value


def _name_rater(completed_by: Any, raters: Mapping[str, str]) -> str:
    """Return who annotated: an export names the user by a number, or by an object with an e-mail address."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("username") or completed_by.get("id")
    if isinstance(completed_by, bool) or not isinstance(completed_by, str | int):
        raise Refused("nobody is named in completed_by")
    if isinstance(completed_by, int) and abs(completed_by) >= 10**18:
        raise Refused("the number in completed_by is none of a user")
    name = str(completed_by)
    return raters.get(name, name if isinstance(completed_by, str) else f"user {name}")


def _is_moderate(value: int | float) -> bool:
    return not isinstance(value, bool) and 0 <= value < 1e9
