"""What a run with a real model left behind, and whether it shows that the whole path works.

Nothing here asks whether the model judged well: a model of 135 million parameters does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipeline.judge.providers.compatible import Dialect
from pipeline.store import open_store
from pipeline.types import Completion, Judgment, Owner

__all__ = ["Answer", "Evidence", "Graded", "collect_evidence", "find_failures", "find_violations"]


@dataclass(frozen=True, slots=True)
class Graded:
    """One submission and what its judge said."""

    name: str
    verdict: str | None
    judgment: Judgment | None


@dataclass(frozen=True, slots=True)
class Answer:
    """One call that brought an answer, and how many seconds it took."""

    submission_id: str
    seconds: float
    completion: Completion


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a run is judged by.

    Attributes:
        graded: One per submission.
        answers: In the order in which they came.
        began: Calls that the ledger saw begin.
        dialect: How the server was given the schema at the end.
    """

    graded: tuple[Graded, ...]
    answers: tuple[Answer, ...]
    began: int
    dialect: Dialect | None


def collect_evidence(database: Path, dialect: Dialect | None) -> Evidence:
    """Read what grading left in `database`, which nobody has open."""
    graded = []
    with open_store(database) as store:
        for row in store.list_gradings():
            key = store.list_stages(row.grading_id).get("judge")
            record = store.find_stage("judge", key) if key else None
            judgment = Judgment.model_validate_json(record.output) if record else None
            graded.append(Graded(Path(row.origin or row.submission_id).name, row.verdict, judgment))
    with duckdb.connect(str(database), read_only=True) as connection:
        began = connection.execute("SELECT count(*) FROM calls").fetchall()[0][0]
        rows = connection.execute(
            "SELECT c.submission_id, e.seconds, a.body FROM answers a JOIN calls c ON c.id = a.call_id"
            " JOIN call_ends e ON e.call_id = c.id WHERE e.outcome = 'answered' ORDER BY e.created_at"
        ).fetchall()
    answers = (Answer(name, seconds, Completion.model_validate_json(body)) for name, seconds, body in rows)
    return Evidence(tuple(graded), tuple(answers), began, dialect)


def find_failures(evidence: Evidence, schema: Mapping[str, Any], submissions: int) -> list[str]:
    """Return every reason why the run does not show that the whole path works, one line each."""
    failures = []
    if len(evidence.graded) != submissions:
        failures.append(f"{len(evidence.graded)} gradings where {submissions} are due")
    for graded in evidence.graded:
        failures += [f"{graded.name}: {problem}" for problem in _find_problems(graded)]
    if evidence.dialect is not Dialect.JSON_OBJECT:
        failures.append(f"the schema was last given as {evidence.dialect}, not as {Dialect.JSON_OBJECT}")
    told = sum(graded.judgment.usage.get("calls", 0) for graded in evidence.graded if graded.judgment)
    if not evidence.began == len(evidence.answers) == told:
        failures.append(
            f"the ledger saw {evidence.began} calls begin and has {len(evidence.answers)} answers;"
            f" the judgments speak of {told}"
        )
    ended = [answer for answer in evidence.answers if answer.completion.stop == "complete"]
    if not ended:
        failures.append("no answer ended before its limit: run it again, a model this small often rambles")
    for answer in ended:
        # llama-cpp-python's grammar lets line breaks into strings as they are, hence not `strict`.
        try:
            value = json.loads(answer.completion.text, strict=False)
        except ValueError as error:
            failures.append(f"{answer.submission_id}: a finished answer is no JSON: {error}")
        else:
            failures += [f"{answer.submission_id}: {problem}" for problem in find_violations(value, schema)]
    return failures


def find_violations(value: Any, schema: Mapping[str, Any], place: str = "answer") -> list[str]:
    """Return where `value` breaks `schema`, of the kinds that `answer_schema` uses."""
    if "anyOf" in schema:
        found = [find_violations(value, option, place) for option in schema["anyOf"]]
        return [] if any(not violations for violations in found) else [f"{place} fits none of its forms"]
    if not _has_type(value, schema["type"]):
        return [f"{place} is no {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place} is none of {schema['enum']}"]
    if isinstance(value, list):
        return [
            violation
            for index, item in enumerate(value)
            for violation in find_violations(item, schema["items"], f"{place}[{index}]")
        ]
    if isinstance(value, dict):
        properties = schema["properties"]
        violations = [f"{place} lacks {key}" for key in schema["required"] if key not in value]
        violations += [f"{place} has a key too many" for key in value if key not in properties]
        for key in value.keys() & properties.keys():
            violations += find_violations(value[key], properties[key], f"{place}.{key}")
        return violations
    return []


def _has_type(value: Any, name: str) -> bool:
    types: Mapping[str, type] = {
        "object": dict, "array": list, "string": str, "null": type(None), "integer": int,
    }  # fmt: skip
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, int | float) if name == "number" else isinstance(value, types[name])


def _find_problems(graded: Graded) -> list[str]:
    judgment = graded.judgment
    if graded.verdict != "correct":
        return [f"its verdict is {graded.verdict}, so no model was asked"]
    if judgment is None:
        return ["no judgment was kept"]
    problems = []
    if not judgment.usage.get("output_tokens"):
        problems.append("the model wrote nothing")
    if judgment.fault is not None and judgment.fault.owner is not Owner.JUDGE:
        problems.append(f"it failed for a reason other than the model: {judgment.fault}")
    return problems
