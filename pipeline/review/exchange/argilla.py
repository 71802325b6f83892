"""Argilla: records and the settings of a dataset go out, records with responses come back.

The export is what its SDK reads (`Dataset.records.from_json` and `Settings.from_json`). The import reads what
its SDK writes, where responses stand by question, and what its HTTP API gives, where they stand by user.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.review.exchange.answers import BadRow, Parsed, Refused, Row, read_instant, read_records
from pipeline.review.exchange.items import CANNOT_JUDGE, REASON, TEXTS, ExchangeItem, say_level
from pipeline.types import Criterion
from pipeline.types.visible import show_controls

__all__ = ["export_records", "export_settings", "read_responses"]


def export_records(items: Iterable[ExchangeItem]) -> str:
    """Return records as Argilla's SDK reads them (JSON)."""
    records = [
        {
            "id": item.review_id,
            "fields": {name: getattr(item, name) for name, _ in TEXTS},
            "metadata": {"review_id": item.review_id, "rubric": item.rubric_hash, "task": item.task_id},
            "suggestions": {},
            "responses": {},
            "vectors": {},
            "_server_id": None,
        }
        for item in items
    ]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def export_settings(criteria: Sequence[Criterion]) -> str:
    """Return the settings of a dataset that asks for `criteria` (JSON)."""
    settings = {
        "guidelines": "Answer from the code and from what checks established. Where the evidence does not "
        "suffice, say that you cannot judge, and why.",
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "fields": [
            {
                "name": name,
                "title": title,
                "required": name == "code",
                "settings": {"type": "text", "use_markdown": False},
            }
            for name, title in TEXTS
        ],
        "questions": [question for criterion in criteria for question in _make_questions(criterion)],
        "metadata": [],
        "vectors": [],
    }
    return json.dumps(settings, ensure_ascii=False, indent=1) + "\n"


def read_responses(data: bytes, raters: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield what records hold, one row per record and user; None for drafts and discarded responses.

    Args:
        data: Records as Argilla's SDK writes them, or as its HTTP API gives them.
        raters: Names by the id of the user.

    Raises:
        GraderError: If the file as a whole cannot be read.
    """
    for number, record in enumerate(read_records(data, wrapped_in="items"), 1):
        where = f"record {number}"
        if not isinstance(record, dict):
            yield BadRow(where, record if isinstance(record, str) else "it is no JSON object")
            continue
        responses = record.get("responses") or {}
        try:
            if isinstance(responses, dict):
                by_user = _by_user(responses)
            elif isinstance(responses, list):
                by_user = [_read_response(response) for response in responses]
            else:
                raise Refused("its responses are neither by question nor a list")
        except Refused as refusal:
            yield BadRow(where, str(refusal))
            continue
        for user, status, values, at in by_user:
            if status != "submitted":
                yield None
                continue
            place = f"{where}, user {show_controls(user[:40])}"
            try:
                yield _parse(place, record, raters or {}, user, values, at)
            except Refused as refusal:
                yield BadRow(place, str(refusal))


def _make_questions(criterion: Criterion) -> Iterator[dict[str, Any]]:
    options = [
        *({"value": str(step.level), "text": say_level(criterion, step.level)} for step in criterion.levels),
        {"value": CANNOT_JUDGE, "text": "Cannot judge from the evidence (say why)"},
    ]
    yield {
        "name": criterion.id,
        "title": criterion.title,
        "description": criterion.question,
        "required": True,
        "settings": {"type": "label_selection", "options": options, "visible_options": len(options)},
    }
    yield {
        "name": criterion.id + REASON,
        "title": f"{criterion.title}: why",
        "description": None,
        "required": False,
        "settings": {"type": "text", "use_markdown": False},
    }


def _by_user(responses: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any], Any]]:
    """Return responses that stand by question as (user, status, answers, time), one per user."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    statuses: dict[str, str] = {}
    for question, given in responses.items():
        if not isinstance(given, list):
            raise Refused(f"the responses to {question[:80]!r} are no list")
        for response in given:
            if not isinstance(response, dict) or not isinstance(response.get("user_id"), str):
                raise Refused(f"a response to {question[:80]!r} names no user")
            user = response["user_id"]
            if question in found[user]:
                raise Refused(f"question {question[:80]!r} is answered twice by one user")
            found[user][question] = response.get("value")
            # What the SDK writes has no status: it leaves out what was not submitted unless asked for it.
            statuses[user] = str(response.get("status") or "submitted")
    return [(user, statuses[user], values, None) for user, values in found.items()]


def _read_response(response: Any) -> tuple[str, str, dict[str, Any], Any]:
    """Return one response of the HTTP API, which is all that one user answered."""
    if isinstance(response, dict):
        user, values = response.get("user_id"), response.get("values")
        if isinstance(user, str) and isinstance(values, dict | None):
            answers = {
                name: value.get("value") if isinstance(value, dict) else value
                for name, value in (values or {}).items()
            }
            at = response.get("updated_at") or response.get("inserted_at")
            return user, str(response.get("status") or "submitted"), answers, at
    raise Refused("a response has no user_id and values")


def _parse(
    where: str,
    record: Mapping[str, Any],
    raters: Mapping[str, str],
    user: str,
    values: Mapping[str, Any],
    at: Any,
) -> Parsed:
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    review_id, rubric = metadata.get("review_id"), metadata.get("rubric")
    if not isinstance(review_id, str) or not isinstance(rubric, str):
        raise Refused("the record's metadata has no review_id and rubric: it was not exported from here")
    reasons = {
        name.removesuffix(REASON): value
        for name, value in values.items()
        if name.endswith(REASON) and isinstance(value, str)
    }
    return Parsed(
        where=where,
        review_id=review_id,
        rater=raters.get(user, user),
        rubric=rubric,
        answers={name: value for name, value in values.items() if not name.endswith(REASON)},
        reasons=reasons,
        seconds=None,
        at=read_instant(at),
    )
