"""docs/judging.md names every key of a judge's setup and every fault that a judge can end in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.judge import JUDGES
from pipeline.types import JudgeRole, JudgeSetup
from tests.docs.test_docs import DOCS, ROOT, names_under, rows_under

JUDGE = ROOT / "pipeline" / "judge"
ROLES = {"judge", "second", "arbiter"}

#: Where each of these calls has the code of a fault: place among the arguments, or name of the keyword.
MAKERS: dict[str, int | str] = {
    "Fault": "code",
    "refuse_batch": "code",
    "_Meaning": 0,
    "_note": 0,
    "AnswerError": 0,
    "JsonError": 0,
    "_refuse": 0,
    "_misused": 1,
    "_fault": 0,
    "_read_statement": 3,
}
#: Modules whose function of that name takes something else first.
SHIFTED = {"keys.py": {"_fault": 1}, "prompt.py": {"_refuse": 1}}
CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def codes_in(path: Path) -> Iterator[str]:
    makers = MAKERS | SHIFTED.get(path.name, {})
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from (
                str(default.value)
                for argument, default in defaults
                if argument.arg == "code" and isinstance(default, ast.Constant)
            )
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        place = makers.get(name)
        if isinstance(place, int) and place < len(node.args):
            found: ast.expr | None = node.args[place]
        else:
            found = next((word.value for word in node.keywords if word.arg == place), None)
        parts = [found.body, found.orelse] if isinstance(found, ast.IfExp) else [found]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
                yield part.value


def raised() -> set[str]:
    return {code for path in JUDGE.rglob("*.py") for code in codes_in(path)}


def test_the_codes_that_are_collected_are_those_that_exist() -> None:
    # One of each way in which a code is written, so that this file cannot go blind unnoticed.
    assert {
        "wrong_key", "no_key", "bad_key_file", "no_temperature", "invalid_setup", "timeout",
        "connection_lost", "submission_in_system",
        "missing_criterion", "not_json", "answer_too_long", "empty_reason", "refused", "truncated",
        "spending_cap", "provider_not_allowed", "batch_refused", "batch_expired", "batch_canceled",
    } <= raised()  # fmt: skip


def test_every_fault_of_a_judge_is_documented() -> None:
    documented = names_under("judging.md", "## When it fails")
    assert raised() - documented == set()


def test_every_documented_fault_exists() -> None:
    documented = names_under("judging.md", "## When it fails")
    text = "".join(path.read_text() for path in (ROOT / "pipeline").rglob("*.py"))
    assert {code for code in documented if f'"{code}"' not in text} == set()


def test_every_key_of_a_role_is_documented_once() -> None:
    rows = [row[0].strip("`") for row in rows_under("judging.md", "### Keys of a role")][1:]
    assert rows == list(JudgeRole.model_fields)


def test_every_key_of_the_policy_is_documented_once() -> None:
    rows = [row[0].strip("`") for row in rows_under("judging.md", "### Keys of the policy")][1:]
    assert rows == [name for name in JudgeSetup.model_fields if name not in ROLES]


@pytest.mark.parametrize("model", [JudgeRole, JudgeSetup])
def test_a_default_is_documented_as_it_is(model: type[JudgeRole] | type[JudgeSetup]) -> None:
    heading = "### Keys of a role" if model is JudgeRole else "### Keys of the policy"
    meanings = {row[0].strip("`"): row[1] for row in rows_under("judging.md", heading)}
    for name, field in model.model_fields.items():
        if isinstance(field.default, int | float) and name in meanings:
            assert f"{field.default:g}" in re.findall(r"\d+(?:\.\d+)?", meanings[name]), name


def test_every_judge_is_documented() -> None:
    rows = [row[0].strip("`") for row in rows_under("judging.md", "## Who judges")][1:]
    assert rows == list(JUDGES)
    assert (DOCS / "cli.md").read_text().count("`openai-compatible`") >= 1
