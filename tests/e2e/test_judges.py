"""Language judges through the command line, against a server on this machine that speaks the wire formats.

Every way in which a judge can fail ends in a fault with an owner, costs the author nothing, and is no reason
to buy an answer twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import run
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS
from tests.judge.loopback import Loopback, Recorded
from tests.judge.loopback.steps import Step, parse_step

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

GOOD = (TINY_SOLUTIONS / "good_add.py").read_text()
KEY = "sk-ant-api03-Zq81xkLmVb77TrueSecret"
JUDGED = {"overlap", "judgement"}


class Marked(Loopback):
    """Answers every call about a submission in the way that the submission's mark stands for."""

    marks: dict[str, str]

    def _record(self, method: str, path: str, headers: dict[str, str], data: bytes) -> tuple[Recorded, Step]:
        recorded, step = super()._record(method, path, headers, data)
        for mark, written in self.marks.items():
            if f"mark_{mark}_" in data.decode("utf-8", "replace"):
                step = parse_step(written)
        recorded.step = step.kind
        return recorded, step


def write_marked(folder: Path, marks: dict[str, str]) -> Path:
    """Write one good kernel per mark, told apart by a name."""
    folder.mkdir(parents=True)
    for mark in marks:
        (folder / f"{mark}.py").write_text(f"{GOOD}\n\nmark_{mark}_ = 1\n")
    return folder


def write_setup(folder: Path, server: Loopback, wire: str) -> Path:
    file = folder / "judge.toml"
    file.write_text(
        f'[judge]\nprovider = "{wire}"\nmodel = "model-1"\nbase_url = "{server.url(wire)}"\n'
        "[policy]\ndeadline_seconds = 3\nretry_after_seconds = 1\n"
    )
    return file


@dataclass(frozen=True)
class Outcome:
    """What a run over marked submissions came to."""

    printed: dict[str, Any]
    shown: dict[str, dict[str, Any]]
    server: Loopback
    database: Path
    arguments: tuple[str | Path, ...]

    def calls_about(self, mark: str) -> int:
        return sum(f"mark_{mark}_" in json.dumps(call.body) for call in self.server.calls)


def grade_marked(folder: Path, server: Marked, wire: str, marks: dict[str, str]) -> Outcome:
    server.marks = marks
    database = folder / "g.duckdb"
    arguments = (
        "grade", write_marked(folder / "in" / "tiny_add", marks), "--tasks", TINY_TASKS, "--db", database,
        "--judge", write_setup(folder, server, wire),
    )  # fmt: skip
    ended = run(*arguments, "--json")
    assert ended.code == 0, ended.err
    shown = {}
    for row in ended.data["gradings"]:
        shown[Path(row["origin"]).stem] = run("show", row["grading_id"], "--db", database, "--json").data
    return Outcome(ended.data, shown, server, database, arguments)


#: Code and owner of the fault that each mark ends in; None where the answer is good all the same. The code
#: of a mark is the same in every wire format.
ANTHROPIC = {
    "ok": ("ok", None),
    "fenced": ("fence", None),
    "no_json": ("text:not json", ("not_json", "judge")),
    "prose": ("prose", ("not_json", "judge")),
    "schema": ('text:{"scores": 3, "feedback": []}', ("wrong_type", "judge")),
    "empty": ("blank", ("empty_answer", "judge")),
    "missing": ("missing", ("missing_criterion", "judge")),
    "extra": ("extra", ("extra_criterion", "judge")),
    "refused_silently": ("refusal-empty", ("refused", "judge")),
    "context": ("context", ("too_long_for_model", "judge")),
}
COMPATIBLE = {
    "duplicate": ("duplicate", ("duplicate_key", "judge")),
    "range": ("range", ("level_not_offered", "judge")),
    "truncated": ("truncated", ("truncated", "judge")),
    "refused": ("refusal", ("refused", "judge")),
    "too_long": ("too-long", ("too_long_for_model", "judge")),
    "wait_300": ("status:429;retry-after=300", ("retry_after_too_long", "environment")),
    "page": ("html", ("unreadable_answer", "environment")),
    "large": ("status:413", ("request_too_large", "environment")),
}
OPENAI = {
    "declined": ("declined", ("refused", "judge")),
    "limited": ("status:429", ("rate_limited", "environment")),
    "overloaded": ("status:529", ("overloaded", "environment")),
    "failed": ("status:500", ("provider_failed", "environment")),
    "silent": ("hang", ("timeout", "environment")),
    "reset": ("reset-body", ("connection_lost", "environment")),
    "malformed": ("malformed", ("unreadable_answer", "environment")),
}
RUNS: dict[str, dict[str, Any]] = {"anthropic": ANTHROPIC, "openai-compatible": COMPATIBLE, "openai": OPENAI}
#: Marks whose answer is sent back once before it is given up.
REPAIRED = {"no_json", "prose", "schema", "empty", "missing", "extra", "duplicate", "range"}
#: Marks whose call may help when it is repeated; the others are one call.
REPEATED = {"page", "limited", "overloaded", "failed", "silent", "reset", "malformed"}


@pytest.fixture(scope="module")
def keys() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")
        patch.setenv("ANTHROPIC_API_KEY", KEY)
        patch.setenv("OPENAI_API_KEY", KEY)
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "NKI_GRADER_MODELS"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module", params=RUNS)
def outcome(
    request: pytest.FixtureRequest, keys: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Outcome, dict[str, Any]]]:
    cases = RUNS[request.param]
    server = Marked()
    with server:
        marks = {mark: step for mark, (step, _) in cases.items()}
        yield grade_marked(tmp_path_factory.mktemp("faults"), server, request.param, marks), cases


def test_every_failure_is_named_with_its_owner_and_waits_for_a_person(
    outcome: tuple[Outcome, dict[str, Any]],
) -> None:
    result, cases = outcome
    found = {}
    for mark, shown in result.shown.items():
        assert (shown["state"], shown["destination"]) == ("waiting", "review"), mark
        fault = shown["judgment"]["fault"]
        found[mark] = (fault["code"], fault["owner"]) if fault else None
        if fault:
            assert fault["message"]
            assert fault["remedy"]
            assert "\n" not in fault["message"]
    assert found == {mark: expected for mark, (_, expected) in cases.items()}


def test_no_failure_lowers_a_level(outcome: tuple[Outcome, dict[str, Any]]) -> None:
    result, cases = outcome
    # All marks are the same kernel but for a name: what checks score of it is what they score of each.
    settled = {"hbm_traffic": 4, "dma_quality": 1, "instruction_size": 1, "on_chip_memory": 4}
    for mark, shown in result.shown.items():
        levels = {score["criterion"]: score["level"] for score in shown["judgment"]["scores"]}
        judged = 2 if cases[mark][1] is None else None
        assert {name: levels[name] for name in settled} == settled, mark
        assert {name: levels[name] for name in JUDGED} == dict.fromkeys(JUDGED, judged), mark


def test_a_failed_judge_still_leaves_the_author_what_facts_say(
    outcome: tuple[Outcome, dict[str, Any]],
) -> None:
    for shown in outcome[0].shown.values():
        assert any("dma_copy" in item["text"] for item in shown["judgment"]["feedback"])


def test_an_answer_is_sent_back_once_and_a_call_repeated_only_where_that_helps(
    outcome: tuple[Outcome, dict[str, Any]],
) -> None:
    result, cases = outcome
    for mark in cases:
        if mark not in REPEATED:
            assert result.calls_about(mark) == (2 if mark in REPAIRED else 1), mark


def test_the_same_command_again_asks_nothing(outcome: tuple[Outcome, dict[str, Any]]) -> None:
    result, _ = outcome
    before = len(result.server.requests)
    again = run(*result.arguments, "--json")
    assert again.code == 0
    assert again.data["computed"] == 0
    assert len(result.server.requests) == before


def test_the_ledger_counts_every_call_that_the_server_saw(outcome: tuple[Outcome, dict[str, Any]]) -> None:
    result, _ = outcome
    costs = run("costs", "--db", result.database, "--json").data
    assert sum(line["calls"] for line in costs["lines"]) == len(result.server.calls)
    assert sum(line["open"] for line in costs["lines"]) == 0


def test_a_failure_is_said_where_a_person_looks(outcome: tuple[Outcome, dict[str, Any]]) -> None:
    result, cases = outcome
    for mark, (_, expected) in cases.items():
        printed = run("show", result.shown[mark]["grading_id"], "--db", result.database).out
        assert (f"fault of the {expected[1]}: " in printed) if expected else ("fault of" not in printed)


def test_no_key_is_written_anywhere(outcome: tuple[Outcome, dict[str, Any]]) -> None:
    result, _ = outcome
    folder = result.database.parent
    files = [path for path in folder.rglob("*") if path.is_file() and "judge.toml" not in path.name]
    assert {path.name for path in files} >= {"g.duckdb", "g.report.html", "g.duckdb.journal.jsonl"}
    for path in files:
        assert KEY[8:].encode() not in path.read_bytes(), path.name
    assert KEY[8:] not in json.dumps(result.printed) + json.dumps(result.shown)
